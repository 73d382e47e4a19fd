"""Validator 3, single source: a value is written once, under `facts`, and everything else refers to it.

Knows where in an environment's data values stand literally. Does not know which of them matter.

`details` of its findings: `literal`; and `fact`, the path of the fact with this value, or `other`, the pointer to the
first place outside of `facts` where the same was typed. It proposes `use_ref` for a whole value, `replace` for a text
with the value in it, and `re_solve` where no fact has the value yet.

The literals that a twin's patch writes under `facts`, durations, weights, counts and ceilings are fine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import msgspec

from ....events.event import Json
from ...document import Path
from ...expressions import ExpressionError, parse
from ...facts import place, resolve, unescaped
from ...matching import Needle, Reading, identity, needle
from ...matching import leaves as values_in
from ...signs import FactError, Hole, Whole, read
from ...syntax import Literal, Node, children
from ...values import written
from ..findings import Edit, Finding, pointer
from ..playing import Case
from .telling import digits, is_naming, is_telling, told_in

NUMBER = 3

_PARTS = {
    "services": frozenset({"records"}),
    "people": frozenset({"opens", "replies", "otherwise"}),
    "timeline": frozenset({"when", "say", "gives", "changes"}),
    "faults": frozenset({"args"}),
    "checks": frozenset({"expect", "never", "only", "distinct", "if"}),
    "oracle": frozenset({"args", "text", "ask", "say", "calc", "if", "each"}),
    "traps": frozenset({"bind", "change", "add"}),
}
"""Where values are looked for: `services.*.records`, `people.*.opens` and so on."""

_VALUES = frozenset({"records", "where", "set", "record", "args", "gives", "bind", "change"})
"""Keys under which all keys are the environment's own."""

_NAMES = ("name", "as", "mark", "gave", "fired", "called", "from", "by", "needs", "cancels", "call", "uses")
_SILENT = frozenset({"count", "at_least", "at_most", "after", "tells", "limit", "why", "weight", "gate", *_NAMES})
"""Keys of the format under which no value of the world stands."""


class Typed(msgspec.Struct, frozen=True):
    """A value that is typed literally."""

    path: Path
    value: Json
    whole: bool
    """It is all that stands there; otherwise it stands within a text or an expression."""


class Fact(msgspec.Struct, frozen=True):
    """A fact with a telling value."""

    path: str
    value: Json
    found: Needle


async def find(case: Case) -> list[Finding]:
    """Values typed twice. See the module for `details` and candidates."""
    facts = telling_facts(case.data)
    typed = list(_typed_in(case.data))
    return [*_facts_again(typed, facts, case.data), *_twice(typed, facts)]


def telling_facts(data: Mapping[str, Json]) -> dict[Hashable, Fact]:
    """The facts of an environment's data that have a telling value, by `matching.identity` of it."""
    paths = list(_leaf_paths(data.get("facts", {}), ""))
    resolved = unescaped(resolve({"facts": data.get("facts", {}), "all": [f"${path}" for path in paths]})["all"], ())
    found: dict[Hashable, Fact] = {}
    for path, value in zip(paths, resolved, strict=True):
        if is_telling(value):
            found.setdefault(identity(value), Fact(path, value, needle(value)))
    return found


def _leaf_paths(facts: Mapping[str, Json], before: str) -> Iterator[str]:
    """Facts that a reference can name, `order.id`; literal ones first, so that `$order` stands for what it is."""
    later = []
    for name, value in facts.items():
        if not name.isidentifier():
            continue
        if isinstance(value, Mapping):
            yield from _leaf_paths(value, f"{before}{name}.")
        elif isinstance(value, str) and value[:1] in ("$", "="):
            later.append(f"{before}{name}")
        else:
            yield f"{before}{name}"
    yield from later


# --- findings ----------------------------------------------------------------------------------------------


def _facts_again(typed: list[Typed], facts: Mapping[Hashable, Fact], data: Mapping[str, Json]) -> Iterator[Finding]:
    for item in typed:
        if item.whole:
            fact = facts.get(identity(item.value))
            if fact is not None:
                yield _finding(item, fact, written(item.value), Edit("use_ref", pointer(*item.path), f"${fact.path}"))
            continue
        reading = Reading(str(item.value))
        for fact in facts.values():
            if fact.found(reading):
                edits = _within(item, fact, data)
                yield _finding(item, fact, written(fact.value), *edits)


def _finding(item: Typed, fact: Fact, literal: str, *edits: Edit) -> Finding:
    return Finding(
        validator=NUMBER,
        at=pointer(*item.path),
        observed=f"{literal!r} is typed here, and it is the fact {fact.path}.",
        expected=f"The fact is referred to, as ${fact.path}, so that a twin changes it everywhere.",
        details={"literal": literal, "fact": fact.path},
        candidates=edits,
    )


def _within(item: Typed, fact: Fact, data: Mapping[str, Json]) -> list[Edit]:
    """The text with a reference in the place of the value, where that is written as the fact is."""
    text, literal = value_at(data, item.path), written(fact.value)
    if not isinstance(text, str) or text.count(literal) != 1:
        return []
    is_expression = place(_home(item.path)).expression or isinstance(_read(text), Whole)
    quoted = next((quote for quote in (f"'{literal}'", f'"{literal}"') if quote in text), literal)
    new = text.replace(quoted, f"${fact.path}") if is_expression else text.replace(literal, f"${{{fact.path}}}")
    return [Edit("replace", pointer(*item.path), new)]


def _twice(typed: list[Typed], facts: Mapping[Hashable, Fact]) -> Iterator[Finding]:
    """The same value typed in two places outside of the facts."""
    seen: dict[Hashable, Path] = {}
    for item in typed:
        if _home(item.path)[0] == "traps":
            continue  # what a bad agent makes up may look like anything
        for value in [item.value] if item.whole else told_in(str(item.value)):
            key = identity(value)
            if key in facts or not _hardly_by_chance(value):
                continue
            first = seen.setdefault(key, item.path)
            if first != item.path:
                yield Finding(
                    validator=NUMBER,
                    at=pointer(*item.path),
                    observed=f"{written(value)!r} is typed here, and at {pointer(*first)}.",
                    expected="It is a fact that both refer to.",
                    details={"literal": written(value), "other": pointer(*first)},
                    candidates=(Edit("re_solve", cost=5),),
                )


def _hardly_by_chance(value: Json) -> bool:
    """Two records may well have the same small number or time of day."""
    if isinstance(value, str) and not value.replace(".", "").isdigit():
        return is_naming(value) and ":" not in value[:3]
    return all(digits(number) >= 3 for number in Reading(written(value)).numbers)


# --- what is typed -----------------------------------------------------------------------------------------


def _typed_in(data: Mapping[str, Json]) -> Iterator[Typed]:
    for part, keys in _PARTS.items():
        below = data.get(part)
        entries = below.items() if isinstance(below, Mapping) else enumerate(below or ())
        for key, entry in entries:
            if isinstance(entry, Mapping):
                for inner, value in entry.items():
                    if inner in keys:
                        yield from _typed(value, (part, key, inner), inner in _VALUES)
    twins = data.get("twins", {})
    for twin, patch in twins.items():
        for item in _typed_in({part: value for part, value in patch.items() if part != "facts"}):
            yield msgspec.structs.replace(item, path=("twins", twin, *item.path))


def _typed(value: Json, path: Path, of_world: bool) -> Iterator[Typed]:
    """`of_world`: the keys below are fields, slots or arguments, none of the format's own."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            is_collection = key in ("record", "create", "update", "delete") and isinstance(item, str)
            if of_world or not (key in _SILENT or is_collection):
                yield from _typed(item, (*path, key), of_world or key in _VALUES)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _typed(item, (*path, position), of_world)
    elif isinstance(value, str):
        yield from _typed_text(value, path)
    elif is_telling(value):
        yield Typed(path, value, True)


def _typed_text(text: str, path: Path) -> Iterator[Typed]:
    if place(path).expression:
        try:
            yield from (Typed(path, value, False) for value in _literals(parse(text)) if is_telling(value))
        except ExpressionError:
            return  # reading says so
        return
    what = _read(text)
    if isinstance(what, Whole):
        yield from (Typed(path, value, False) for value in _literals(what.node) if is_telling(value))
    elif len(what) == 1 and isinstance(what[0], str) and is_telling(what[0]):
        yield Typed(path, what[0], True)
    else:
        for piece in what:
            if isinstance(piece, Hole):
                yield from (Typed(path, value, False) for value in _literals(piece.node) if is_telling(value))
            elif piece.strip():
                yield Typed(path, piece, False)


def _literals(node: Node) -> Iterator[Json]:
    if isinstance(node, Literal):
        yield from values_in(node.value)
    for child in children(node):
        yield from _literals(child)


def _read(text: str) -> Whole | tuple[str | Hole, ...]:
    try:
        return read(text)
    except FactError:
        return (text,)


def _home(path: Path) -> Path:
    """The path in the variant: a twin's patch is laid over the whole."""
    return path[2:] if path[0] == "twins" else path


def value_at(data: Json, path: Path) -> Json:
    """What stands at a path of an environment's data. Raises KeyError or IndexError."""
    for step in path:
        data = data[step]
    return data
