"""Validator 2, references: what is referred to is there, and what is there is referred to.

Knows facts, the keys of records and milestones, and who uses them. Does not know shapes (`schema`). `findings` is for
texts that cannot be read, because something they name does not exist.

`details` of its findings: `fact`; or `table`, `field` and `value` for a record that names another in vain (and `other`,
the collection where that should be); or `person` and `mark` for somebody who never gets to say what they could. It
proposes `drop_fact`, `create_row`, `replace`, `drop` and, for texts that cannot be read, what `schema` proposes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ....events.event import Json
from ...document import Path
from ...environment import Reply
from ...expressions import ExpressionError, Node, parse
from ...expressions import references as names_in
from ...facts import place
from ...service import Record
from ...solutions import nodes_in
from ...spelling import nearest
from ...world import World
from ..findings import Edit, Finding, parts, pointer
from ..playing import Case
from .schema import read_findings

NUMBER = 2

_DIGITS = re.compile(r"[0-9]+")


async def find(case: Case) -> list[Finding]:
    """Facts nobody uses, records that name others in vain, and answers nobody can get. See the module."""
    found = [_unused(name) for name in unused_facts(case.data)]
    dangling: dict[str, Finding] = {}
    for variant, world in case.worlds.items():
        for finding in _foreign_keys(world, variant):
            dangling.setdefault(finding.at, finding)
    return [*found, *dangling.values(), *_unreachable(case)]


def findings(text: str) -> list[Finding]:
    """What an environment's text refers to in vain. Whatever else is wrong with it is for `schema.findings`."""
    return [finding for finding, dangling in read_findings(text) if dangling]


# --- facts -------------------------------------------------------------------------------------------------


def _unused(fact: str) -> Finding:
    at = pointer("facts", *fact.split("."))
    return Finding(
        validator=NUMBER,
        severity="warning",
        at=at,
        observed=f"Nothing refers to the fact {fact}.",
        expected="Every fact is used somewhere.",
        details={"fact": fact},
        candidates=(Edit("drop_fact", at),),
    )


def unused_facts(data: Mapping[str, Json]) -> list[str]:
    """Facts of an environment's data, as `order.id`, to which nothing refers: nor to a part of them, or the whole."""
    used: set[tuple[str, ...]] = set()
    for _, node in expressions({key: value for key, value in data.items() if key != "frozen"}):
        used.update((ref.name[1:], *map(str, ref.path)) for ref in names_in(node) if ref.name.startswith("$"))
    around = {name[:n] for name in used for n in range(1, len(name) + 1)}
    leaves = (tuple(parts(leaf)) for leaf in _leaves(data.get("facts", {}), ""))
    return [
        ".".join(leaf) for leaf in leaves if leaf not in around and not any(leaf[:n] in used for n in range(len(leaf)))
    ]


def _leaves(facts: Mapping[str, Json], before: str) -> Iterator[str]:
    """Pointers to the facts that have no parts."""
    for name, value in facts.items():
        at = before + pointer(name)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, at)
        else:
            yield at


def expressions(data: Json, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """All expressions in an environment's data, whole or in a text, each with the path to where it stands."""
    if isinstance(data, str):
        yield from ((path, node) for node in _nodes(data, path[2:] if path[:1] == ("twins",) else path))
    elif isinstance(data, Mapping):
        for key, item in data.items():
            yield from expressions(item, (*path, key))
    elif isinstance(data, list | tuple):
        for position, item in enumerate(data):
            yield from expressions(item, (*path, position))


def _nodes(text: str, path: Path) -> Iterator[Node]:
    if not place(path).expression:
        yield from nodes_in(text)
        return
    try:
        yield parse(text)
    except ExpressionError:
        return  # reading says so


# --- records that name others ------------------------------------------------------------------------------


def _foreign_keys(world: World, variant: str) -> Iterator[Finding]:
    """Fields whose values all name records of one other collection, except one value, which names none there."""
    tables = {
        (service, collection): world.state[service][collection]
        for service in world.state.services()
        for collection in world.state[service].collections()
    }
    for (service, collection), records in tables.items():
        for field in dict.fromkeys(field for record in records.values() for field in record):
            values = [value for record in records.values() if isinstance(value := record.get(field), str)]
            if field == world.keys.get(f"{service}.{collection}", "id"):
                continue
            for other, there in tables.items():
                missing = [value for value in values if value not in there]
                if other == (service, collection) or len(missing) != 1 or len(values) < 3:  # two do name one there
                    continue
                if _family(missing[0]) in {_family(key) for key in there}:
                    at = _rows(service, collection, field, missing[0], records)
                    yield _dangling(at, variant, field, missing[0], (f"{service}.{collection}", ".".join(other)), there)


def _family(value: str) -> str:
    """What ids of one kind have in common: `O-#` of `O-5512`. A plain word is a family of its own."""
    return _DIGITS.sub("#", value)


def _rows(service: str, collection: str, field: str, value: str, records: Mapping[str, Record]) -> str:
    row = next(row for row, record in enumerate(records.values()) if record.get(field) == value)
    return pointer("services", service, "records", collection, row, field)


def _dangling(
    at: str, variant: str, field: str, value: str, tables: tuple[str, str], there: Mapping[str, Record]
) -> Finding:
    table, other = tables
    service, _, collection = other.partition(".")
    near = nearest(value, sorted(there))
    first_key, first = next(iter(there.items()))
    row = {name: value if kept == first_key else kept for name, kept in first.items()}
    edits = [Edit("create_row", pointer("services", service, "records", collection), row, 2)]
    edits += [Edit("replace", at, near)] if near else []
    return Finding(
        validator=NUMBER,
        at=at,
        twin=variant,
        observed=f"{value!r} in {table}.{field} names no record of {other}, as all other values do.",
        expected=f"There is a record {value!r} in {other}.",
        details={"table": table, "field": field, "value": value, "other": other},
        candidates=tuple(edits),
    )


# --- answers that nobody gets ------------------------------------------------------------------------------


def _unreachable(case: Case) -> Iterator[Finding]:
    """People with nothing to say, and replies that wait for a milestone which no variant can reach."""
    reached: dict[tuple[str, int], bool] = {}
    for world in case.worlds.values():
        marks = _marks(world)
        for name, person in world.people.items():
            for number, reply in enumerate(person.replies):
                known = reached.get((name, number), False)
                reached[name, number] = known or reply.needs is None or reply.needs in marks
    for (name, number), possible in reached.items():
        if not possible:
            needs = case.worlds[""].people[name].replies[number].needs if name in case.worlds[""].people else None
            at = pointer("people", name, "replies", number, "needs")
            yield Finding(
                validator=NUMBER,
                at=at,
                observed=f"The reply {number + 1} of {name} needs a mark that nothing can bring about before it.",
                expected="In some variant the mark can be reached.",
                details={"person": name, "mark": needs},
                candidates=(Edit("drop", at, cost=2),),
            )
    for name in case.environment.people:
        if not any(_takes_part(world, name) for world in case.worlds.values()):
            yield Finding(
                validator=NUMBER,
                at=pointer("people", name),
                observed=f"{name} has nothing to say in any variant, so nobody can write to them.",
                expected="People have a request, a reply, or something to say at some time.",
                details={"person": name},
                candidates=(Edit("drop", pointer("people", name), cost=2),),
            )


def _marks(world: World) -> frozenset[str]:
    """The milestones that can be reached: by replies that need none that cannot, and by the timeline."""
    reached = {happening.mark for happening in world.timeline if happening.mark is not None}
    waiting: list[Reply] = [reply for person in world.people.values() for reply in person.replies]
    while True:
        new = {
            reply.mark
            for reply in waiting
            if reply.mark is not None
            and reply.tells not in ("never", "absent")
            and (reply.needs is None or reply.needs in reached)
        }
        if new <= reached:
            return frozenset(reached)
        reached |= new


def _takes_part(world: World, name: str) -> bool:
    person = world.people.get(name)
    if person is None:
        return False
    speaks = any(happening.sender == name for happening in world.timeline)
    return speaks or bool(person.opens or person.replies or person.otherwise)
