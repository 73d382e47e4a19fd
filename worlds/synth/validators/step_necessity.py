"""7, step necessity: steps of the oracle that nobody would miss, and work that is not graded.

Each step is left out, its value null; the score must then fall under 1 in some variant. The base is tried first, and
the first fall decides. Exempt are steps that only compute, and readings that another step is declared to use: a rule
that is applied, not parsed. Details: `step`, `stayed` (variants where the score stayed).
Proposes `drop_step`.
"""

from __future__ import annotations

from ..findings import Edit, Finding
from ..playing import Case
from .dataflow import labels, reading_tools
from .places import written_at
from .programs import without

NUMBER = 7


async def find(case: Case) -> list[Finding]:
    found: list[Finding] = []
    for label, variant in _steps(case).items():
        stayed = await _stayed(case, label)
        if stayed:
            found.append(_finding(case, label, variant, stayed))
    return found


def _steps(case: Case) -> dict[str, str]:
    """The steps that do something, each with the first variant that has it."""
    steps: dict[str, str] = {}
    for variant, world in case.worlds.items():
        reading, used = reading_tools(world.routes), {name for step in world.oracle for name in step.uses}
        for label, step in zip(labels(world.oracle), world.oracle, strict=True):
            informs = step.call in reading and step.name in used
            if step.calc is None and not informs:
                steps.setdefault(label, variant)
    return steps


async def _stayed(case: Case, label: str) -> list[str]:
    """The variants in which nobody misses the step; empty as soon as one does."""
    stayed: list[str] = []
    for variant in case.worlds:
        program = without(case, label, variant)
        if program is not None:
            if (await case.run(program, variant)).score != 1:
                return []
            stayed.append(variant)
    return stayed


def _finding(case: Case, label: str, variant: str, stayed: list[str]) -> Finding:
    at = written_at(case, variant, "oracle", labels(case.worlds[variant].oracle).index(label))
    return Finding(
        validator=NUMBER,
        at=at,
        observed=f"Without the step {label} the oracle still scores 1 in every variant.",
        expected="Each step is needed in some variant.",
        details={"step": label, "stayed": list(stayed)},
        candidates=(Edit("drop_step", at, cost=3),),
    )
