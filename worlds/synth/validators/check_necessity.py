"""9, check necessity: checks that nobody fails, so that they say nothing.

Each check must be failed by a trap, or by the oracle without one step, in some variant where it applies. For a weight
that is an error, since it is given to everybody; for a gate a warning, since it may guard against what no trap does.
Details: `check`, `gate`. Proposes `to_gate` and `drop_check` of a weight.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Edit, Finding
from ..playing import Case, Program, Run
from .dataflow import labels
from .places import written_at
from .programs import NOTHING, traps, without

NUMBER = 9


async def find(case: Case) -> list[Finding]:
    tests = {variant: await _tests(case, variant) for variant in case.worlds}
    unfailed = {name: gate for names in tests.values() for name, gate in names.items()}
    for program, variant, spoilt in _attempts(case):
        wanted = [name for name in tests[variant] if name in unfailed and not (spoilt and unfailed[name])]
        if not unfailed:
            break
        if wanted:
            run = await case.run(program, variant)
            for name in _failed(run) if run.score != 1 else ():
                unfailed.pop(name, None)
    return [_finding(case, name, gate) for name, gate in unfailed.items()]


async def _tests(case: Case, variant: str) -> dict[str, bool]:
    """The checks that apply in a variant, and whether they are gates."""
    run = await case.run(NOTHING, variant)
    return {test.name: test.gate for test in run.rubric.examine().sheet.tests}


def _attempts(case: Case) -> Iterator[tuple[Program, str, bool]]:
    """Who may fail a check, where, and whether it is worth playing for a weight only; the base comes first."""
    variants = list(case.worlds)
    for some in (variants[:1], variants[1:]):
        for variant in some:
            yield from ((program, variant, False) for program in traps(case, variant))
        for variant in some:
            for label, step in zip(labels(case.worlds[variant].oracle), case.worlds[variant].oracle, strict=True):
                program = without(case, label, variant)
                if program is not None and step.calc is None:
                    yield program, variant, variant != ""


def _failed(run: Run) -> list[str]:
    """The checks that a run failed, without the reasons, which take longer."""
    examination = run.rubric.examine()
    for event in run.events:
        examination.apply(event)
    passed, _ = examination.standing()
    return [test.name for test, good in zip(examination.sheet.tests, passed, strict=True) if not good]


def _finding(case: Case, name: str, gate: bool) -> Finding:
    variant = next(variant for variant, world in case.worlds.items() if name in world.checks)
    at = written_at(case, variant, "checks", name)
    return Finding(
        validator=NUMBER,
        severity="warning" if gate else "error",
        at=at,
        observed=f"No trap fails the check {name}, and leaving out no step of the oracle does.",
        expected="For each check there is somebody who fails it.",
        details={"check": name, "gate": gate},
        candidates=() if gate else (Edit("to_gate", at, cost=2), Edit("drop_check", at, cost=3)),
    )
