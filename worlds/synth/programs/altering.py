"""How programs with mistakes are made of an oracle's steps: one expression changed, or what was written or said.

Knows the expressions in a step, and what the steps of a scene read and heard. Does not know which changes are mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from ....events.event import Json
from ...environment import Step
from ...expressions import ExpressionError, Node, parse, write
from ...facts import FactError, filled
from ...service import Record
from ...signs import Hole, Whole, read, unread
from ...syntax import Binary, Call, Field, Index, ListOf, Literal, ObjectOf, Unary, children
from .mutants import Mutant, mutant
from .scenes import Scene, arguments, calling, saying
from .traces import Taken

# --- expressions -------------------------------------------------------------------------------------------

Change = Callable[[Node], Iterable[Node]]
"""What a node may be replaced by."""


def by_expression(scene: Scene, operator: str, change: Change) -> Iterator[Mutant]:
    """A mutant for each way to change one expression of one step. What follows goes on from what comes of it."""
    for taken in scene.taken:
        for number, (key, step) in enumerate(altered(taken.step, change), 1):
            yield mutant(scene, operator, taken, scene.replaced(taken.place, step), part=f"{key}-{number}")


def altered(step: Step, change: Change) -> Iterator[tuple[str, Step]]:
    """A step with one of its expressions changed, and the key under which that stands."""
    for field, key in (("condition", "if"), ("each", "each"), ("calc", "calc")):
        text = getattr(step, field)
        if text is not None:
            for node in _changed(parse(text), change):
                yield key, msgspec.structs.replace(step, **{field: write(node)})
    for args in _in_data(step.args, change):
        yield "args", msgspec.structs.replace(step, args=args)
    if step.text:
        for written in _in_data(step.text, change):
            yield "text", msgspec.structs.replace(step, text=written)


def _in_data(value: Json, change: Change) -> Iterator[Json]:
    if isinstance(value, dict):
        for key, item in value.items():
            for new in _in_data(item, change):
                yield {**value, key: new}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            for new in _in_data(item, change):
                yield [*value[:place], new, *value[place + 1 :]]
    elif isinstance(value, str):
        what = read(value)
        if isinstance(what, Whole):
            for node in _changed(what.node, change):
                yield f"={write(node)}"
            return
        for place, piece in enumerate(what):
            if isinstance(piece, Hole):
                for node in _changed(piece.node, change):
                    yield unread((*what[:place], Hole(piece.sign, node), *what[place + 1 :]))


def _changed(node: Node, change: Change) -> Iterator[Node]:
    """An expression with one node in it replaced."""
    yield from change(node)
    inner = children(node)
    for place, child in enumerate(inner):
        for new in _changed(child, change):
            yield _around(node, (*inner[:place], new, *inner[place + 1 :]))


def _around(node: Node, inner: Sequence[Node]) -> Node:
    """A node with other nodes directly inside it."""
    match node:
        case Field(_, name):
            return Field(inner[0], name)
        case Index():
            return Index(inner[0], inner[1])
        case ListOf():
            return ListOf(tuple(inner))
        case ObjectOf(keys, _):
            return ObjectOf(keys, tuple(inner))
        case Unary(operator, _):
            return Unary(operator, inner[0])
        case Binary(operator, _, _):
            return Binary(operator, inner[0], inner[1])
        case Call(function, _, item):
            return Call(function, tuple(inner), item)
    return node


def evaluated(scene: Scene, node: Node) -> Json:
    """What an expression comes to with what the oracle saw; null where that depends on an item, or fails."""
    try:
        return filled(f"={write(node)}", scene.scope)
    except (FactError, ExpressionError):
        return None


def shown(scene: Scene, step: Step) -> list[Json]:
    """The values that stand in a message, in order; not those that are lists or records."""
    what = read(step.text)
    nodes = [what.node] if isinstance(what, Whole) else [piece.node for piece in what if isinstance(piece, Hole)]
    values = [evaluated(scene, node) for node in nodes]
    return [value for value in values if value is not None and not isinstance(value, list | dict)]


# --- what was seen -----------------------------------------------------------------------------------------


def reads(scene: Scene) -> Iterator[Taken]:
    """The steps that read something, and got it."""
    return (taken for taken in scene.taken if taken.done and scene.reads(taken.step) and taken.value is not None)


def asks(scene: Scene) -> Iterator[Taken]:
    """The steps that asked one thing, and that others can refer to."""
    return (
        taken for taken in scene.taken if taken.done and taken.step.ask and taken.step.each is None and taken.step.name
    )


def tells(scene: Scene) -> Iterator[Taken]:
    """The steps that told one person something."""
    return (taken for taken in scene.taken if taken.done and taken.step.say and taken.step.each is None)


def records(value: Json) -> list[Record]:
    """The records in what a call gave: one, a list of them, or a page."""
    if isinstance(value, list):
        return [record for item in value for record in records(item)]
    if not isinstance(value, dict):
        return []
    inner = [item for item in value.values() if isinstance(item, list)]
    return [record for item in inner for record in records(item)] or [value]


def by_label(scene: Scene) -> Mapping[str, Taken]:
    return {taken.label: taken for taken in scene.taken}


def believing(taken: Taken, value: Json) -> tuple[Step, Step]:
    """A step that is done as it was, with another value taken for what it gave."""
    done = msgspec.structs.replace(taken.step, name=None)
    return done, Step(name=taken.step.name, calc=write(Literal(value)))


# --- what was done -----------------------------------------------------------------------------------------


def frozen(taken: Taken) -> tuple[Step, ...]:
    """What a step did, whatever would come of it now: its calls, or its message; else the step."""
    if not taken.done:
        return ()
    if taken.step.call is not None:
        return (calling(taken, arguments(taken)),)
    if taken.step.each is None and (taken.step.say or taken.step.ask):
        return tuple(saying(taken, [text(taken)]))
    return (taken.step,)


def text(taken: Taken) -> str:
    """What a message said."""
    [act] = taken.acts
    assert act is not None
    return act.text


def subject(taken: Taken) -> str:
    """To whom a message went."""
    [act] = taken.acts
    assert act is not None
    return act.subject


def by_argument(
    scene: Scene, operator: str, change: Callable[[Taken, str, Json], Iterable[tuple[Json, ...]]]
) -> Iterator[Mutant]:
    """For each argument of the first call of each write the mutants with other values, or (an empty tuple) without."""
    for taken in scene.writes():
        calls = arguments(taken)
        first = next(place for place, call in enumerate(calls) if call is not None)
        known = dict(calls[first] or {})
        for name, value in known.items():
            for new in change(taken, name, value):
                args = {key: item for key, item in known.items() if key != name or new}
                args.update(dict.fromkeys([name], new[0]) if new else {})
                step = calling(taken, [*calls[:first], args, *calls[first + 1 :]])
                yield mutant(scene, operator, taken, scene.replaced(taken.place, step), part=name, old=value)


def assembled(scene: Scene, parts: Mapping[int, Iterable[Step]]) -> tuple[Step, ...]:
    """The oracle with other steps at some places."""
    return tuple(step for place, known in enumerate(scene.steps) for step in parts.get(place, (known,)))
