"""Mutants of an oracle: programs with one mistake each, which good checks tell from the oracle.

Knows the kinds of mistakes. Each is an operator: a small function from a `Scene` to the mutants of it. What the oracle
called is replaced value for value, so a mutant makes its mistake and nothing else. An operator is added by writing its
function and putting it into a mapping such as `OPERATORS`; `mutation` takes any. Does not know whether a mutant is
found out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

import msgspec

from ....events.event import Json
from ...environment import Step
from ...expressions import references
from ...facts import escaped, filled
from ...matching import Reading
from ...signs import FactError, Hole, Whole, read, unread
from ...values import written
from ..findings import pointer
from ..playing import Program
from ..validators.dataflow import nodes
from .scenes import Scene, acts, arguments, calling
from .traces import Taken


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """The oracle with one mistake, in one variant. The same mistake in another variant has the same name."""

    name: str
    """`operator:step`, or `operator:step.part`."""
    operator: str
    step: str
    part: str = ""
    """The argument that is wrong, where it is one."""
    at: str
    """The place in the environment's data."""
    program: Program
    old: Json = None
    new: Json = None


Operator: TypeAlias = Callable[[Scene, Scene], Iterator[Mutant]]
"""Takes a variant and the base (which are the same for the base), and gives the variant's mutants of one kind."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?")
_LONGEST_NAME = 60
"""Characters of a text that may name something."""


def mutants(scene: Scene, base: Scene, operators: Mapping[str, Operator] | None = None) -> Iterator[Mutant]:
    """All mutants of a variant."""
    for operator in (OPERATORS if operators is None else operators).values():
        yield from operator(scene, base)


def mutant(
    scene: Scene,
    operator: str,
    taken: Taken,
    steps: Sequence[Step],
    *,
    part: str = "",
    seen: Mapping[str, Json] | None = None,
    old: Json = None,
    new: Json = None,
) -> Mutant:
    """A mutant whose mistake is at a step, or in an argument of it."""
    name = f"{operator}:{taken.label}{'.' if part else ''}{part}"
    place = pointer("oracle", taken.place, *(("args", part) if part and part in taken.step.args else ()))
    program = scene.program(f"mutant:{name}", steps, seen)
    return Mutant(
        name=name, operator=operator, step=taken.label, part=part, at=place, program=program, old=old, new=new
    )


# --- whole steps -------------------------------------------------------------------------------------------


def drop(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A call, a message or a wait is left out."""
    for taken in scene.taken:
        if taken.done or taken.step.wait is not None:
            yield mutant(scene, "drop", taken, scene.replaced(taken.place))


def duplicate(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Something is written twice; of several things, the first."""
    for taken in scene.writes():
        first = next(act for act in taken.acts if act is not None)
        again = Step(call=first.subject, args=escaped(first.args))
        yield mutant(scene, "duplicate", taken, scene.replaced(taken.place, taken.step, again))


def skip_item(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of several things to write, the last is forgotten."""
    for taken in scene.writes():
        calls = arguments(taken)
        if sum(call is not None for call in calls) > 1:
            last = max(place for place, call in enumerate(calls) if call is not None)
            fewer = [None if place == last else call for place, call in enumerate(calls)]
            yield mutant(scene, "skip-item", taken, scene.replaced(taken.place, calling(taken, fewer)), old=calls[last])


def early(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Something is written before the answer that it depends on was there: what it was in the base is taken for it."""
    for known in base.writes():
        label = known.label
        if label not in scene.places or scene.steps[scene.places[label]].call != known.step.call:
            continue
        place = scene.places[label]
        moved = calling(known, arguments(known))
        for other in range(place):
            step = scene.steps[other]
            heard = step.ask is not None or step.wait is not None
            if heard and step.name is not None and step.name in scene.depends[label]:
                steps = list(scene.replaced(place))
                steps.insert(other, moved)
                yield mutant(scene, "early", known, steps, part=f"before-{step.name}")


def late(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Something is written only after it was reported."""
    for taken in scene.writes():
        reports = [other for other in scene.taken if other.step.say is not None and other.done]
        known = any(taken.label in _shown(scene, other.step) for other in reports)
        calls = sum(act.subject == taken.step.call for _, act in acts(scene.taken))
        if taken.step.name is None or not known or calls > 1:
            continue  # of two calls of one tool no check can say which must come first
        steps = (*scene.replaced(taken.place), calling(taken, arguments(taken)))
        yield mutant(scene, "late", taken, steps, seen={taken.step.name: taken.value})


def _shown(scene: Scene, step: Step) -> set[str]:
    """The steps whose values a step shows or goes by, themselves or as computed."""
    found: set[str] = set()
    waiting = [step]
    while waiting:
        for _, node in nodes(waiting.pop()):
            for name in {known.name[1:] for known in references(node)} & scene.places.keys() - found:
                found.add(name)
                below = scene.steps[scene.places[name]]
                if below.calc is not None:
                    waiting.append(below)
    return found


# --- what is written ---------------------------------------------------------------------------------------


def _changed(scene: Scene, operator: str, change: Callable[[Scene, Taken, str, Json], Json]) -> Iterator[Mutant]:
    """For each argument of the first call of each write the mutant with another value; None is no mutant."""
    for taken in scene.writes():
        calls = arguments(taken)
        first = next(place for place, call in enumerate(calls) if call is not None)
        for name, value in (calls[first] or {}).items():
            new = change(scene, taken, name, value)
            if new is not None:
                other = [{**(call or {}), name: new} if place == first else call for place, call in enumerate(calls)]
                steps = scene.replaced(taken.place, calling(taken, other))
                yield mutant(scene, operator, taken, steps, part=name, old=value, new=new)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def plus_one(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A number is one too large."""
    return _changed(scene, "plus-one", lambda _, __, ___, value: value + 1 if _is_number(value) else None)


def minus_one(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A number is one too small."""
    return _changed(scene, "minus-one", lambda _, __, ___, value: value - 1 if _is_number(value) else None)


def times_ten(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A number is ten times too large."""
    return _changed(scene, "times-ten", lambda _, __, ___, value: value * 10 if _is_number(value) and value else None)


def day_later(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A date, or a time, is a day too late."""
    return _changed(scene, "day-later", lambda _, __, ___, value: shifted(value, 1))


def day_earlier(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A date, or a time, is a day too early."""
    return _changed(scene, "day-earlier", lambda _, __, ___, value: shifted(value, -1))


def shifted(value: Json, days: int) -> str | None:
    """A date or a time so many days later; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        if _DATE.fullmatch(value):
            return (date.fromisoformat(value) + timedelta(days)).isoformat()
        if _MOMENT.fullmatch(value):
            length = "seconds" if value.count(":") == 2 else "minutes"
            moved = datetime.fromisoformat(value) + timedelta(days)
            return moved.isoformat(sep="T" if "T" in value else " ", timespec=length)
    except (ValueError, OverflowError):
        pass
    return None


def other_choice(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of the values that a field may have, another one."""

    def change(scene: Scene, taken: Taken, name: str, value: Json) -> Json:
        if isinstance(value, bool):
            return not value
        choices = scene.tools[str(taken.step.call)].schema.get("properties", {}).get(name, {}).get("enum", ())
        return next((choice for choice in choices if choice != value), None) if value in choices else None

    return _changed(scene, "other-choice", change)


def sibling(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Another row of the same collection is meant: its id, or whatever else names it."""
    return _changed(scene, "sibling", lambda scene, _, name, value: another(scene, name, value))


def another(scene: Scene, name: str, value: Json) -> str | None:
    """What stands in place of a text in the next record that has another one; None where no record has it.

    A field of the argument's name is preferred to others. Dates have operators of their own, and prose names nothing.
    """
    if not isinstance(value, str) or _DATE.match(value) or len(value) > _LONGEST_NAME:
        return None
    found: str | None = None
    for rows in scene.tables.values():
        for place, row in enumerate(rows):
            for field in (field for field, held in row.items() if held == value):
                others = [other.get(field) for other in (*rows[place + 1 :], *reversed(rows[:place]))]
                new = next((other for other in others if isinstance(other, str) and other != value), None)
                if new is not None and field == name:
                    return new
                found = found or new
    return found


def wrong_tool(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Another tool of the same service that writes, and that takes what was given."""
    for taken in scene.writes():
        tool = str(taken.step.call)
        calls = arguments(taken)
        given = {name for call in calls for name in call or ()}
        for other in _like(scene, tool, given)[:2]:
            known = scene.tools[other].schema.get("properties", {})
            fewer = [None if call is None else {n: v for n, v in call.items() if n in known} for call in calls]
            wrong = msgspec.structs.replace(calling(taken, fewer), call=other)
            yield mutant(
                scene, "wrong-tool", taken, scene.replaced(taken.place, wrong), part=other, old=tool, new=other
            )


def _like(scene: Scene, tool: str, given: set[str]) -> list[str]:
    service = tool.partition(".")[0]
    return [
        name
        for name, other in scene.tools.items()
        if name != tool
        and not other.reads
        and name.startswith(f"{service}.")
        and given.issuperset(other.schema.get("required", ()))
    ]


# --- what is said ------------------------------------------------------------------------------------------


def swap_recipient(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A message goes to somebody else."""
    for taken in scene.taken:
        act = next((act for act in taken.acts if act is not None), None)
        if act is None or taken.step.call is not None:
            continue
        others = _after(list(scene.world.people), act.subject)
        if others:
            wrong = msgspec.structs.replace(taken.step, **{"say" if taken.step.ask is None else "ask": others[0]})
            steps = scene.replaced(taken.place, wrong)
            yield mutant(scene, "swap-recipient", taken, steps, old=act.subject, new=others[0])


def _after(people: list[str], person: str) -> list[str]:
    place = people.index(person) if person in people else 0
    return [other for other in (*people[place + 1 :], *people[:place]) if other != person]


def strip_value(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A value is missing in a text that is written; or in a message, where the value was written or is asked for."""
    for taken in scene.taken:
        if not taken.done or scene.reads(taken.step):
            continue
        texts = {"text": taken.step.text} if taken.step.text else taken.step.args
        for part, value in texts.items():
            for number, text, hole in stripped(value):
                if taken.step.text and not _matters(scene, taken, hole):
                    continue
                args = {**taken.step.args, part: text}
                wrong = msgspec.structs.replace(taken.step, **({"text": text} if taken.step.text else {"args": args}))
                steps = scene.replaced(taken.place, wrong)
                yield mutant(scene, "strip-value", taken, steps, part=f"{part}-{number}", old=hole, new=text)


def stripped(value: Json, sign: str = "") -> Iterator[tuple[int, str, str]]:
    """For each value in a text, or each with this sign, its number, the text without it, and the value as a text of
    its own. There is none in a text that is nothing else."""
    if not isinstance(value, str):
        return
    try:
        pieces = read(value)
    except FactError:
        return
    if isinstance(pieces, Whole):
        return
    holes = [place for place, piece in enumerate(pieces) if isinstance(piece, Hole) and piece.sign.startswith(sign)]
    for number, place in enumerate(holes, 1):
        text = unread(_joined((*pieces[:place], *pieces[place + 1 :])))
        if text.strip():
            yield number, text, unread((pieces[place],))


def _matters(scene: Scene, taken: Taken, hole: str) -> bool:
    """Whether the value in a message was written somewhere, or a check or a person looks for it."""
    if taken.step.each is not None:
        return True
    try:
        said = filled(hole, scene.scope)
    except FactError:
        return True
    reading = Reading(said if isinstance(said, str) else written(said))
    return any(found(reading) for found in scene.needles)


def _joined(pieces: Sequence[str | Hole]) -> tuple[str | Hole, ...]:
    """Pieces in which no two texts follow each other."""
    joined: list[str | Hole] = []
    for piece in pieces:
        if joined and isinstance(piece, str) and isinstance(last := joined[-1], str):
            joined[-1] = last + piece
        else:
            joined.append(piece)
    return tuple(joined)


OPERATORS: Mapping[str, Operator] = {
    "drop": drop,
    "duplicate": duplicate,
    "skip-item": skip_item,
    "early": early,
    "late": late,
    "plus-one": plus_one,
    "minus-one": minus_one,
    "times-ten": times_ten,
    "day-later": day_later,
    "day-earlier": day_earlier,
    "other-choice": other_choice,
    "sibling": sibling,
    "wrong-tool": wrong_tool,
    "swap-recipient": swap_recipient,
    "strip-value": strip_value,
}
"""By name. These are the operators that repair learns from."""

ORDERED = frozenset({"early", "late"})
"""Operators whose mistake is nothing but an order."""
