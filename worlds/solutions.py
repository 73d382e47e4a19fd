"""Whether the oracle and the traps of an environment make sense: their steps, and the values that they refer to.

Knows steps and traps. Does not know whether the oracle solves anything: that is found by playing it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from ..events.event import Json
from .document import Path
from .environment import Environment, Step, Trap
from .expressions import ExpressionError, Node, parse, references
from .shape import Finding
from .signs import FactError, Hole, Whole, read
from .soundness import arguments_known, is_share, known, length, one_of, person_known, tool_known
from .vocabulary import Vocabulary

_SUBJECTS = {name: name for name in ("call", "ask", "say", "wait", "calc")}
_PARTS = {field.encode_name for field in msgspec.structs.fields(Step)} - {"as"}


def findings(environment: Environment, words: Vocabulary) -> Iterator[Finding]:
    """All that is wrong with the oracle and the traps."""
    yield from _steps(environment.oracle, words, ("oracle",), {})
    steps = {step.name: step for step in environment.oracle if step.name is not None}
    for name, trap in environment.traps.items():
        yield from _trap(trap, steps, words, ("traps", name))


def _steps(steps: Sequence[Step], words: Vocabulary, path: Path, before: Mapping[str, Step]) -> Iterator[Finding]:
    seen = dict(before)
    for number, step in enumerate(steps):
        at = (*path, number)
        yield from _step(step, words, at, seen)
        if step.name is None:
            continue
        if step.name in seen:
            yield Finding((*at, "as"), f"the name {step.name!r} is given to two steps.")
        elif not step.name.isidentifier():
            yield Finding((*at, "as"), f"{step.name!r} cannot be referred to; a name has only letters, digits and '_'.")
        seen[step.name] = step


def _step(step: Step, words: Vocabulary, path: Path, seen: Mapping[str, Step]) -> Iterator[Finding]:
    yield from one_of(step, _SUBJECTS, path)
    if step.call is not None:
        yield from tool_known(step.call, words, (*path, "call"))
        yield from arguments_known(step.call, step.args, words, (*path, "args"))
        yield from _required(step.call, step.args, words, path)
    elif step.args:
        yield Finding((*path, "args"), "'args' means something only beside 'call'.")
    for key, person in (("ask", step.ask), ("say", step.say), ("wait", step.wait)):
        if person is not None and _is_literal(person):
            yield from person_known(person, words, (*path, key))
    if (step.text != "") != (step.ask is not None or step.say is not None):
        yield Finding(path, "'ask' and 'say' need a text, and only they.")
    if step.limit is not None and step.ask is None and step.wait is None:
        yield Finding((*path, "limit"), "'limit' means something only beside 'ask' and 'wait'.")
    if step.limit is not None and _is_literal(step.limit):
        yield from length(step.limit, (*path, "limit"))
    for position, name in enumerate(step.uses):
        yield from known(name, seen, "earlier step", (*path, "uses", position))
    for key, node in _nodes(step):
        yield from _names(node, seen, words, (*path, key), step.each is not None and key != "each")


def _required(tool: str, args: Mapping[str, Json], words: Vocabulary, path: Path) -> Iterator[Finding]:
    if tool in words.tools:
        for name in words.tools[tool].schema.get("required", ()):
            if name not in args:
                yield Finding(path, f"{tool} needs the argument {name!r}.")


def _is_literal(text: str) -> bool:
    try:
        what = read(text)
    except FactError:
        return False
    return not isinstance(what, Whole) and not any(isinstance(piece, Hole) for piece in what)


def _nodes(step: Step) -> Iterator[tuple[str, Node]]:
    """The expressions in a step, by the key they stand under. Those that do not parse have been found before."""
    for key, text in (("if", step.condition), ("each", step.each), ("calc", step.calc)):
        if text is not None:
            yield from _expression(key, text)
    for key, value in (
        ("args", step.args),
        ("text", step.text),
        ("ask", step.ask),
        ("say", step.say),
        ("limit", step.limit),
    ):
        yield from ((key, node) for node in nodes_in(value))


def _expression(key: str, text: str) -> Iterator[tuple[str, Node]]:
    try:
        yield key, parse(text)
    except ExpressionError:
        return


def nodes_in(value: Json) -> Iterator[Node]:
    """The expressions in the texts of a value."""
    if isinstance(value, str):
        try:
            what = read(value)
        except FactError:
            return
        if isinstance(what, Whole):
            yield what.node
        else:
            yield from (piece.node for piece in what if isinstance(piece, Hole))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from nodes_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from nodes_in(item)


def _names(node: Node, seen: Mapping[str, Step], words: Vocabulary, path: Path, item: bool) -> Iterator[Finding]:
    for reference in references(node):
        if reference.name == "it" and not item:
            yield Finding(path, "there is no 'it' here; only a step with 'each' has an item.")
        if not reference.name.startswith("@"):
            continue
        name = reference.name[1:]
        yield from known(name, seen, "earlier step", path)
        slot = reference.path[0] if reference.path else None
        if name in seen and isinstance(slot, str):
            yield from _slot(seen[name], slot, words, path)


def _slot(step: Step, slot: str, words: Vocabulary, path: Path) -> Iterator[Finding]:
    """What a person tells must be something that they can tell."""
    person = step.ask if step.ask is not None else step.wait
    if person is None or person not in words.people or slot == "text" or step.each is not None:
        return
    slots = {known_slot.partition(".")[2] for known_slot in words.slots if known_slot.startswith(f"{person}.")}
    yield from known(slot, slots, f"slot of {person}", path)


# --- traps -------------------------------------------------------------------------------------------------


def _trap(trap: Trap, steps: Mapping[str, Step], words: Vocabulary, path: Path) -> Iterator[Finding]:
    if not is_share(trap.ceiling):
        yield Finding((*path, "ceiling"), "a ceiling is a number between 0 and 1.")
    if not (trap.drop or trap.change or trap.add or trap.repeat):
        yield Finding(path, "this trap does just what the oracle does.", "Let it drop, change, add or repeat a step.")
    for key, names in (("drop", trap.drop), ("repeat", trap.repeat)):
        for position, name in enumerate(names):
            yield from known(name, steps, "step", (*path, key, position))
    for name, _ in trap.bind.items():
        yield from _bound(name, trap.drop, steps, (*path, "bind", name))
    for name, value in trap.change.items():
        yield from _changed(name, value, steps, words, (*path, "change", name))
    yield from _steps(trap.add, words, (*path, "add"), steps)


def _bound(name: str, dropped: Collection[str], steps: Mapping[str, Step], path: Path) -> Iterator[Finding]:
    step = name.partition(".")[0]
    yield from known(step, steps, "step", path)
    if step in steps and step not in dropped:
        yield Finding(path, f"the step {step!r} is not dropped, so it has a value of its own.")


def _changed(name: str, value: Json, steps: Mapping[str, Step], words: Vocabulary, path: Path) -> Iterator[Finding]:
    step, _, rest = name.partition(".")
    part, _, inner = rest.partition(".")
    yield from known(step, steps, "step", path)
    yield from known(part, _PARTS, "part of a step", path)
    if step not in steps:
        return
    tool = steps[step].call
    if part == "args" and inner and tool is not None:
        yield from arguments_known(tool, [inner.partition(".")[0]], words, path[:-1])
    for node in nodes_in(value):
        yield from _names(node, steps, words, path, steps[step].each is not None)
