"""16, benign variation: a grader that punishes what makes no difference.

Each variation of the oracle (`programs.variations`) that is allowed and that changes anything is played in the base and
in one twin, another one for each, and must score 1. Details: `transform` (its name), `failed` (checks).
Proposes for a check that fails: `relax_before` where it has a `before` or `after`, `loosen_matcher` without each value
of its `mentions` that could be missed, `declare_equivalence` for its `any`.
"""

from __future__ import annotations

from ..findings import Finding
from ..playing import Case
from ..programs.variations import VARIATIONS
from .varying import vary

NUMBER = 16


async def find(case: Case) -> list[Finding]:
    return [failure.finding(case, NUMBER, "transform") for failure in await vary(case, VARIATIONS)]
