"""Validator 14, uniqueness: the right answer does not depend on the order in which a system lists its records.

Knows that where two records fit what the oracle looks for, its `first(…)` takes another one once they are listed
backwards. So the oracle plays in a world with all records in reverse order, and must score 1 there as well. Does not
know why records are alike.

`details` of its findings: `collection` (`service.collection`), `score`, and `row`, the place from 0 of a record
without which the reversed world can be solved. It proposes to `drop` that record, and `re_solve`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from ....events.event import Json, RecordCreated
from ...checks.scoring import Rubric
from ...service import Draw, Instant, Outcome, Records, Service, Tool
from ...world import World
from ..findings import Edit, Finding, pointer
from ..playing import Case

NUMBER = 14


async def find(case: Case) -> list[Finding]:
    """Collections whose order decides. See the module for `details` and candidates."""
    for variant in case.worlds:
        if (await case.run(case.oracle(variant), variant)).score != 1:
            continue  # another validator's matter
        score = await _score(case, variant, rearranged(case.worlds[variant], None))
        if score != 1:
            return await _located(case, variant, score)
    return []


async def _located(case: Case, variant: str, score: Fraction) -> list[Finding]:
    world = case.worlds[variant]
    findings = []
    for name, size in _collections(world).items():
        if size < 2:
            continue
        alone = await _score(case, variant, rearranged(world, name))
        if alone != 1:
            findings.append(_finding(name, variant, alone, await _rival(case, variant, name, size)))
    return findings or [_finding(None, variant, score, None)]


async def _rival(case: Case, variant: str, name: str, size: int) -> int | None:
    """The first record without which the order no longer matters."""
    for row in range(size):
        if await _score(case, variant, rearranged(case.worlds[variant], name, row)) == 1:
            return row
    return None


async def _score(case: Case, variant: str, world: World) -> Fraction:
    grader = Rubric(world).grader()
    for event in await case.play(world, case.oracle(variant)):
        grader.apply(event)
    return grader.score()


def _finding(collection: str | None, variant: str, score: Fraction, row: int | None) -> Finding:
    details: dict[str, Json] = {"score": str(score)}
    edits = [Edit("re_solve", cost=5)]
    at, where = "", "all collections"
    if collection is not None:
        service, _, name = collection.partition(".")
        at, where = pointer("services", service, "records", name), collection
        details["collection"] = collection
        if row is not None:
            details["row"] = row
            edits.insert(0, Edit("drop", f"{at}/{row}", cost=2))
    return Finding(
        validator=NUMBER,
        at=at,
        twin=variant,
        observed=f"With the records of {where} in reverse order, the oracle scores {float(score):.2f}.",
        expected="The oracle scores 1: what it looks for is one record, whatever the order.",
        details=details,
        candidates=tuple(edits),
    )


# --- worlds in another order -------------------------------------------------------------------------------


def rearranged(world: World, collection: str | None, without: int | None = None) -> World:
    """A world whose records are listed backwards: those of `service.collection`, or all.

    The record at the place `without` of that collection, counted from 0 in the old order, is left out.
    """
    services: Sequence[Service] = [Rearranged(service, collection, without) for service in world.services]
    return msgspec.structs.replace(world, services=tuple(services))


class Rearranged:
    """A service that holds its records in another order. See `rearranged`."""

    def __init__(self, service: Service, collection: str | None, without: int | None) -> None:
        self._service = service
        self._initial = _rearranged(service.initial(), collection, without)

    @property
    def name(self) -> str:
        return self._service.name

    @property
    def tools(self) -> Sequence[Tool]:
        return self._service.tools

    def initial(self) -> Sequence[RecordCreated]:
        return self._initial

    def call(self, tool: str, args: Json, records: Records, now: Instant, draw: Draw) -> Outcome:
        return self._service.call(tool, args, records, now, draw)


def _rearranged(
    created: Sequence[RecordCreated], collection: str | None, without: int | None
) -> tuple[RecordCreated, ...]:
    kept, others, place = [], [], -1
    for record in created:
        if collection is not None and f"{record.service}.{record.collection}" != collection:
            others.append(record)
            continue
        place += 1
        if place != without:
            kept.append(record)
    return (*others, *reversed(kept))


def _collections(world: World) -> Mapping[str, int]:
    """How many records each collection holds at the start."""
    found: dict[str, int] = {}
    for service in world.services:
        for record in service.initial():
            name = f"{record.service}.{record.collection}"
            found[name] = found.get(name, 0) + 1
    return found
