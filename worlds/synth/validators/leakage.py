"""Validator 12, no leakage: what has to be found out is not given away by the request, the tools, ids or row order.

Knows which values the oracle gets only from people, and which records its writes are about. Does not know whether
people tell too much when asked (that is `hidden`).

`details` of its findings: `value` and `slot` (`person.slot`) or `collection`; `where` it is given away; in a set of
environments `p` (the χ² test's p-value), `observed` and `expected` counts by rank. It proposes `restyle` (a text
without the value), `re_id`, `create_row` (another record to choose from) and `re_solve`.

A request that names several of the values that a slot has over the twins offers a choice, and gives nothing away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import msgspec

from ....events.event import AGENT, Json, RecordChanged, RecordCreated, RecordDeleted, ToolCalled
from ...matching import Reading, identity, leaves, needle
from ...values import written
from ...world import World
from ..findings import Edit, Finding, pointer
from ..playing import Case
from ..pointing import read, there
from .dataflow import reading_tools, slots
from .telling import digits, without_samples
from .twin_coverage import another

NUMBER = 12

ENOUGH = 5
"""How many records should be expected at a place for its count to say something."""

P_LIMIT = 0.001
"""A set whose target rows stand where they stand with less than this probability is not shuffled."""

_SPEAKING = re.compile(
    r"(?:good|correct|right|true|real|intended|target|answer|solution|wrong|bad|fake|decoy|distractor|trap|bait)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]+")


class Rank(msgspec.Struct, frozen=True):
    """Where a record that the work is about stands in its collection at the start."""

    collection: str
    place: int
    """From 0."""
    size: int


async def find(case: Case) -> list[Finding]:
    """What is given away. See the module for `details` and candidates."""
    findings = [*_hidden_values(case), *_speaking_ids(case)]
    for rank in await ranks(case):
        if rank.size == 1:
            findings.append(_only_one(rank, case))
    return findings


# --- values that only people know --------------------------------------------------------------------------


def _hidden_values(case: Case) -> Iterator[Finding]:
    """Values of slots that the oracle uses, where an agent reads them without asking."""
    hidden: dict[tuple[str, str], dict[str, Json]] = {}
    for variant, world in case.worlds.items():
        for person, slot, value in _slots(world):
            for leaf in leaves(value):
                if _is_secret(leaf):
                    hidden.setdefault((person, slot), {})[variant] = leaf
    for (person, slot), values in hidden.items():
        for variant, value in values.items():
            found = needle(value)
            others = [needle(other) for other in values.values() if identity(other) != identity(value)]
            for place, where, reading in _visible(case.worlds[variant]):
                if found(reading) and not any(other(reading) for other in others):
                    yield _given_away(f"{person}.{slot}", value, variant, place, where, case)
                    break
            else:
                continue
            break


def _slots(world: World) -> Iterator[tuple[str, str, Json]]:
    """Slots that the oracle uses: who gives them, their names, their values."""
    used = slots(world.oracle)
    for step in world.oracle:
        names = used.get(step.name or "", frozenset())
        person = step.ask if step.ask is not None else step.wait
        if person is not None and person in world.people:
            for reply in world.people[person].replies:
                yield from ((person, slot, value) for slot, value in reply.gives.items() if slot in names)
            for entry in world.timeline:
                if entry.sender == person:
                    yield from ((person, slot, value) for slot, value in entry.gives.items() if slot in names)


def _is_secret(value: Json) -> bool:
    """Whether a value can be given away: yes and no, small numbers and empty texts stand everywhere."""
    if value is None or isinstance(value, bool):
        return False
    return digits(value) >= 2 if isinstance(value, int | Decimal) else len(str(value)) >= 2


def _visible(world: World) -> Iterator[tuple[str, str, Reading]]:
    """What an agent reads without asking for it: where it stands, what that is called, and the text."""
    for name, person in world.people.items():
        if person.opens is not None:
            yield pointer("people", name, "opens"), f"the request of {name}", Reading(person.opens)
        if person.otherwise is not None:
            yield pointer("people", name, "otherwise"), f"what {name} says to anything", Reading(person.otherwise)
        for place, reply in enumerate(person.replies):
            if reply.tells == "never":
                yield pointer("people", name, "replies", place, "say"), f"how {name} declines", Reading(reply.say)
    for tool in world.routes.tools:
        at = pointer("services", *tool.name.split(".")[:1])
        text = "\n".join([tool.description, *_descriptions(tool.schema)])
        yield at, f"the description of {tool.name}", Reading(without_samples(text))


def _descriptions(schema: Json) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "description" and isinstance(value, str):
                yield value
            else:
                yield from _descriptions(value)


def _given_away(slot: str, value: Json, variant: str, at: str, where: str, case: Case) -> Finding:
    edits = [Edit("re_solve", cost=5)]
    text = read(case.data, at) if there(case.data, at) else None
    if isinstance(text, str) and written(value) in text:
        edits.insert(0, Edit("restyle", at, " ".join(text.replace(written(value), "").split()), 2))
    return Finding(
        validator=NUMBER,
        at=at,
        twin=variant,
        observed=f"{written(value)!r}, which {slot} discloses, stands in {where}.",
        expected="An agent learns it only by asking.",
        details={"slot": slot, "value": value, "where": where},
        candidates=tuple(edits),
    )


# --- ids that speak ----------------------------------------------------------------------------------------


def _speaking_ids(case: Case) -> Iterator[Finding]:
    world = case.worlds[""]
    for service in world.services:
        for record in service.initial():
            if record.key.startswith("#") or not any(map(_SPEAKING.fullmatch, _WORDS.findall(record.key))):
                continue
            place = list(world.state[record.service][record.collection]).index(record.key)
            field = world.keys.get(f"{record.service}.{record.collection}", "id")
            at = pointer("services", record.service, "records", record.collection, place, field)
            fact = _fact_with(record.key, case.data.get("facts", {}), ())
            edit = Edit("re_id", at if fact is None else pointer("facts", *fact), _neutral(record, world))
            yield Finding(
                validator=NUMBER,
                at=at,
                observed=f"The id {record.key!r} says what is behind it.",
                expected="Ids are alike, whether they are right or wrong.",
                details={"value": record.key, "collection": f"{record.service}.{record.collection}"},
                candidates=(edit,),
            )


def _fact_with(value: str, facts: Mapping[str, Json], before: tuple[str, ...]) -> tuple[str, ...] | None:
    for name, fact in facts.items():
        if fact == value:
            return (*before, name)
        if isinstance(fact, Mapping) and (inner := _fact_with(value, fact, (*before, name))) is not None:
            return inner
    return None


def _neutral(record: RecordCreated, world: World) -> str:
    """An id like those of the other records."""
    keys = list(world.state[record.service][record.collection])
    for key in keys:
        made = another(key, {identity(other) for other in keys})
        if isinstance(made, str) and not any(map(_SPEAKING.fullmatch, _WORDS.findall(made))):
            return made
    return f"{record.collection[:1].upper()}-{len(keys) + 101}"


# --- the order of rows -------------------------------------------------------------------------------------


async def ranks(case: Case) -> list[Rank]:
    """Where the record stands that the oracle's writes change or name, for each collection with one such record.

    It is the base that is looked at: in twins, other records are meant.
    """
    world = case.worlds[""]
    named: set[Hashable] = set()
    changed: set[tuple[str, str, str]] = set()
    reading = reading_tools(world.routes)
    for event in (await case.run(case.oracle())).events:
        body = event.body
        if isinstance(body, ToolCalled) and event.actor == AGENT and body.tool not in reading:
            named.update(identity(leaf) for leaf in leaves(body.args))
        elif isinstance(body, RecordChanged | RecordDeleted) and event.actor == AGENT:
            changed.add((body.service, body.collection, body.key))
    found = []
    for service in world.state.services():
        for collection in world.state[service].collections():
            keys = list(world.state[service][collection])
            targets = [
                place
                for place, key in enumerate(keys)
                if (service, collection, key) in changed or (not key.startswith("#") and identity(key) in named)
            ]
            if len(targets) == 1:
                found.append(Rank(f"{service}.{collection}", targets[0], len(keys)))
    return found


def _only_one(rank: Rank, case: Case) -> Finding:
    service, _, collection = rank.collection.partition(".")
    at = pointer("services", service, "records", collection)
    [(key, record)] = case.worlds[""].state[service][collection].items()
    other = {name: another(value) if another(value) is not None else value for name, value in record.items()}
    return Finding(
        validator=NUMBER,
        at=at,
        observed=f"{key!r}, which the work is about, is the only record of {rank.collection}.",
        expected="There is another that it could be taken for.",
        details={"value": key, "collection": rank.collection, "where": "order of records"},
        candidates=(Edit("create_row", at, other, 2),),
    )


def rank_uniformity(found: Iterable[Rank]) -> list[Finding]:
    """Whether, over a set of environments, the records that the work is about stand anywhere alike often.

    Each of n places should be as likely as the others. Counts by place are compared with what that gives (Pearson's χ²,
    places with less than 5 expected taken together); p < 0.001 is a finding. Sets too small to say give none.
    """
    observed: dict[int, int] = {}
    expected: dict[int, Fraction] = {}
    for rank in found:
        if rank.size > 1:
            observed[rank.place] = observed.get(rank.place, 0) + 1
            for place in range(rank.size):
                expected[place] = expected.get(place, Fraction(0)) + Fraction(1, rank.size)
    seen, wanted = _pooled(observed, expected)
    if len(seen) < 2:
        return []
    statistic = sum((count - share) ** 2 / share for count, share in zip(seen, wanted, strict=True))
    p = chi_squared_survival(float(statistic), len(seen) - 1)
    if p >= P_LIMIT:
        return []
    return [
        Finding(
            validator=NUMBER,
            at="/services",
            observed=f"The records that the work is about stand at the places 1, 2, … {seen} times (p = {p:.1e}).",
            expected=f"Each place is as likely: {[float(round(share, 1)) for share in wanted]} times.",
            details={
                "where": "order of records",
                "p": Decimal(f"{p:.3e}"),
                "observed": [*seen],
                "expected": [Decimal(f"{float(share):.2f}") for share in wanted],
            },
            candidates=(Edit("re_solve", cost=5),),
        )
    ]


def _pooled(observed: Mapping[int, int], expected: Mapping[int, Fraction]) -> tuple[list[int], list[Fraction]]:
    """Counts by place, those from the first place with too few expected on taken together."""
    seen: list[int] = []
    wanted: list[Fraction] = []
    for place in sorted(expected):
        if wanted and (wanted[-1] < ENOUGH or sum((expected[p] for p in expected if p >= place), Fraction(0)) < ENOUGH):
            seen[-1] += observed.get(place, 0)
            wanted[-1] += expected[place]
        else:
            seen.append(observed.get(place, 0))
            wanted.append(expected[place])
    return seen, wanted


def chi_squared_survival(statistic: float, degrees: int) -> float:
    """P(X >= statistic) for X ~ χ² with so many degrees of freedom, at least 1.

    The finite sums for Q(k/2, x/2) (Abramowitz and Stegun 26.4.4 and 26.4.5).
    """
    half = statistic / 2
    if degrees % 2 == 0:
        terms = (half**i / math.gamma(i + 1) for i in range(degrees // 2))
        return math.exp(-half) * sum(terms)
    terms = (half ** (i + 0.5) / math.gamma(i + 1.5) for i in range((degrees - 1) // 2))
    return math.erfc(math.sqrt(half)) + math.exp(-half) * sum(terms)
