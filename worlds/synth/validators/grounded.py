"""Validator 10, grounded oracle: the oracle writes and says only what an agent could know.

Knows what an agent is told before it acts. Values by `@` come from what was seen, so they are grounded by construction;
here every literal and every `$fact` in the oracle's steps is looked for in the request, the names of people, and the
tools. Does not know whether what is seen suffices (`sufficiency`).

`details` of its findings: `value`, `step` (its label), `part` (`args.amount`, `text` …) and `fact`, where the value is
one. It proposes to `replace` it by what an earlier step of the oracle has seen (`@step.field`), and `re_solve`.

In `calc`, `if` and `each` only facts count: the numbers of a formula are the solver's, not the world's. And wherever a
fact is computed with, only a telling one counts: that Japan is Asia/Tokyo is something one knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ....events.event import Json
from ...compiling import with_twin
from ...environment import Step
from ...expressions import ExpressionError, Node, parse, references, write
from ...facts import resolve, unescaped
from ...matching import Reading, leaves, needle, same
from ...signs import FactError, Whole, read
from ...syntax import Literal, children
from ...values import written
from ...world import World
from ..findings import Edit, Finding, pointer
from ..playing import Case
from .dataflow import labels, slots
from .telling import is_telling, told_in, without_samples

NUMBER = 10

_FORMULAS = ("calc", "if", "each")
_SPOKEN = ("text", "ask", "say", "wait", "limit")


class Known(msgspec.Struct, frozen=True):
    """A value that the oracle has without having seen it."""

    place: int
    """Of the step, from 0."""
    part: tuple[str | int, ...]
    """The path within the step."""
    value: Json = None
    fact: str | None = None
    """The fact that it is: `order.id`. Its value is then another in each variant."""
    whole: bool = False
    """It is all that stands there."""
    computed: bool = False
    """It is a part of an expression."""


async def find(case: Case) -> list[Finding]:
    """Values that the oracle cannot know. See the module for `details` and candidates."""
    found: dict[tuple[int, str, str], Finding] = {}
    seen: list[tuple[Json, Json]] = []
    for variant, world in case.worlds.items():
        data = with_twin(case.data, variant or None)
        steps, facts = data.get("oracle", []), data.get("facts", {})
        if (steps, facts) in seen:
            continue
        seen.append((steps, facts))
        told = Reading(told_to_an_agent(world))
        for known in _ungrounded(steps, facts, told):
            key = (known.place, str(known.part[0]), known.fact or written(known.value))
            if key not in found:
                found[key] = _finding(known, variant, world)
    return list(found.values())


def told_to_an_agent(world: World) -> str:
    """All that an agent has read before it acts: the request, who there is, the tools, and the day."""
    lines = [opening.text for opening in world.openings]
    lines += [f"{name}: {person.role}" for name, person in world.people.items()]
    for tool in world.routes.tools:
        words = tool.name.replace(".", " ").replace("_", " ")
        lines += [words, tool.description, *_words_of_schema(tool.schema)]
    lines.append(f"{world.start.date().isoformat()} {world.start.tzinfo}")
    return without_samples("\n".join(lines))


def _words_of_schema(schema: Json) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "properties" and isinstance(value, Mapping):
                yield from value
            yield from _words_of_schema(value)
    else:
        yield from (leaf for leaf in leaves(schema) if isinstance(leaf, str))


# --- what the oracle knows ---------------------------------------------------------------------------------


def _ungrounded(steps: list[Json], facts: Mapping[str, Json], told: Reading) -> Iterator[Known]:
    known = [item for place, step in enumerate(steps) for item in _known(step, place)]
    names = list(dict.fromkeys(item.fact for item in known if item.fact is not None))
    values = unescaped(resolve({"facts": facts, "all": [f"${name}" for name in names]})["all"], ())
    resolved = dict(zip(names, values, strict=True))
    for item in known:
        value = resolved[item.fact] if item.fact is not None else item.value
        for leaf in leaves(value):
            if leaf is None or isinstance(leaf, bool) or leaf == "" or (item.computed and not is_telling(leaf)):
                continue
            if not needle(leaf)(told):
                yield msgspec.structs.replace(item, value=leaf)


def _known(step: Mapping[str, Json], place: int) -> Iterator[Known]:
    for key in _FORMULAS:
        if isinstance(step.get(key), str):
            try:
                yield from _in_node(parse(step[key]), Known(place, (key,)), False)
            except ExpressionError:
                continue  # reading says so
    for key in ("args", *_SPOKEN):
        if key in step:
            yield from _in_value(step[key], Known(place, (key,)))


def _in_value(value: Json, at: Known) -> Iterator[Known]:
    if isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _in_value(item, msgspec.structs.replace(at, part=(*at.part, key)))
    elif isinstance(value, str):
        yield from _in_text(value, at)
    elif value is not None and not isinstance(value, bool):
        yield msgspec.structs.replace(at, value=value, whole=True)


def _in_text(text: str, at: Known) -> Iterator[Known]:
    try:
        what = read(text)
    except FactError:
        return  # reading says so
    if isinstance(what, Whole):
        yield from _in_node(what.node, at, True, True)
    elif len(what) == 1 and isinstance(what[0], str) and is_telling(what[0]):
        yield msgspec.structs.replace(at, value=what[0], whole=True)
    else:
        for piece in what:
            if isinstance(piece, str):
                yield from (msgspec.structs.replace(at, value=value) for value in told_in(piece))
            else:
                yield from _in_node(piece.node, at, True)


def _in_node(node: Node, at: Known, literals: bool, whole: bool = False) -> Iterator[Known]:
    for reference in references(node):
        if reference.name.startswith("$"):
            name = ".".join(map(str, (reference.name[1:], *reference.path)))
            alone = write(node) == f"${name}" and at.part[0] not in _FORMULAS
            yield msgspec.structs.replace(at, fact=name, whole=whole and alone, computed=not alone)
    if literals:
        telling = (value for value in _literals(node) if is_telling(value))
        yield from (msgspec.structs.replace(at, value=value, computed=True) for value in telling)


def _literals(node: Node) -> Iterator[Json]:
    if isinstance(node, Literal):
        yield from leaves(node.value)
    for child in children(node):
        yield from _literals(child)


# --- findings ----------------------------------------------------------------------------------------------


def _finding(known: Known, variant: str, world: World) -> Finding:
    step = labels(world.oracle)[known.place]
    part = ".".join(map(str, known.part))
    details: dict[str, Json] = {"value": known.value, "step": step, "part": part}
    if known.fact is not None:
        details["fact"] = known.fact
    path = pointer("oracle", known.place, *known.part)
    edits = [Edit("replace", path, seen) for seen in _seen_before(known, world)] if known.whole else []
    return Finding(
        validator=NUMBER,
        at=path,
        twin=variant,
        observed=f"The step {step} has {written(known.value)!r} in its {part}, which nothing has told it.",
        expected="It is in the request or in the tools, or the oracle has seen it (@step.field).",
        details=details,
        candidates=(*edits, Edit("re_solve", cost=5)),
    )


def _seen_before(known: Known, world: World) -> list[str]:
    """References to earlier steps that may have the value: slots of an answer, fields of a record that was found.

    Those that the oracle uses elsewhere come first.
    """
    found: dict[str, bool] = {}
    used = slots(world.oracle)
    for place, step in enumerate(world.oracle[: known.place]):
        if step.name is not None:
            for field, value in (*_slots(step, world), *_fields(place, world)):
                if same(value, known.value):
                    found[f"@{step.name}.{field}"] = field not in used.get(step.name, ())
    return sorted(found, key=lambda reference: found[reference])


def _slots(step: Step, world: World) -> Iterator[tuple[str, Json]]:
    if step.ask is not None and step.ask in world.people:
        for reply in world.people[step.ask].replies:
            yield from reply.gives.items()
    if step.wait is not None:
        for entry in world.timeline:
            if entry.sender == step.wait:
                yield from entry.gives.items()


def _fields(place: int, world: World) -> Iterator[tuple[str, Json]]:
    """The fields of records that a step may read: the one that it gets, or the first that an earlier one found."""
    step = world.oracle[place]
    tool = step.call if step.call is not None and step.call.endswith(".get") else None
    if step.calc is not None and step.calc.startswith("first(@"):
        name = step.calc.removeprefix("first(@").rstrip(")")
        tool = next((earlier.call for earlier in world.oracle[:place] if earlier.name == name), None)
    if tool is None:
        return
    service, _, collection = tool.rpartition(".")[0].partition(".")
    for record in world.state[service][collection].values():
        yield from record.items()
