"""6, clean start: a target that is met before anything has happened.

A weighted `expect` must not hold on the empty log, unless what it expects is an absence (`at_most`, `count: 0`).
Details: `check`, `row` (`service.collection:key` of the record that satisfies it), `field` (what would have to differ).
Proposes `perturb` of that record's field; where no record is to blame, `re_solve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from ....events.event import AGENT, Json, RecordChanged
from ...checks.evaluate import Test
from ...compiling import written_out
from ...dates import date_add
from ...environment import Claim
from ...matching import same
from ...service import Record
from ...values import ValueProblem
from ..findings import Edit, Finding
from ..playing import Case, Run
from .places import told, written_at
from .programs import NOTHING

NUMBER = 6


async def find(case: Case) -> list[Finding]:
    found: list[Finding] = []
    known: set[str] = set()
    for variant, world in case.worlds.items():
        run = await case.run(NOTHING, variant)
        for test in run.rubric.examine().sheet.tests:
            claim = world.checks[test.name].claim
            if test.idle and not test.gate and claim is not None and not _wants_absence(claim):
                finding = _finding(case, await case.run(case.oracle(variant), variant), test, claim)
                if finding.at not in known:
                    known.add(finding.at)
                    found.append(finding)
    return found


def _wants_absence(claim: Claim) -> bool:
    return claim.at_most is not None or claim.count == 0


def _finding(case: Case, oracle: Run, test: Test, claim: Claim) -> Finding:
    variant = oracle.variant
    row, field, candidates = "", "", [Edit("re_solve", cost=5)]
    if claim.record is not None and test.start:
        key = str(next(iter(test.start)))
        row, field = f"{claim.record}:{key}", _field(oracle, claim, key)
        candidates = [*_perturbed(case, variant, claim.record, key, field), *candidates]
    return Finding(
        validator=NUMBER,
        at=written_at(case, variant, "checks", test.name),
        twin=variant,
        observed=f"The check {test.name} holds {told(variant)} before anything has happened"
        + (f": {row} is right already." if row else "."),
        expected="What earns points is not there at the start.",
        details={"check": test.name, "row": row, "field": field},
        candidates=tuple(candidates),
    )


def _field(oracle: Run, claim: Claim, key: str) -> str:
    """The field that should be different at the start: one that the oracle writes, else one that is looked at."""
    named = (claim.record or "").split(".")
    written = [
        field
        for event in oracle.events
        if isinstance(event.body, RecordChanged) and event.actor == AGENT
        if [event.body.service, event.body.collection, event.body.key] == [*named, key]
        for field in event.body.set
    ]
    others = [field for field, value in claim.where.items() if not same(str(value), key)]
    return next((field for field in (*written, *others) if field in claim.where), "")


def _perturbed(case: Case, variant: str, collection: str, key: str, field: str) -> Iterator[Edit]:
    """The record with another value in the field."""
    service, _, name = collection.partition(".")
    table = case.worlds[variant].state[service][name]
    if field and key in table:
        place = written_at(case, variant, "services", service, "records", name, list(table).index(key), field)
        yield Edit("perturb", place, _other(case, service, name, table, key, field))


def _other(case: Case, service: str, name: str, table: Mapping[str, Record], key: str, field: str) -> Json:
    """A value that the field may have and that is not there now; null, which removes it, where none is known."""
    value = table[key].get(field)
    spec = written_out(case.environment.services[service], ("services", service)).collections.get(name)
    choices = spec.fields[field].of if spec is not None and field in spec.fields else ()
    for choice in choices:
        if choice != value:
            return choice
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return value + 1
    try:
        return date_add(value, "1d")
    except ValueProblem:
        others = (record[field] for record in table.values() if field in record and record[field] != value)
        return next(others, None)
