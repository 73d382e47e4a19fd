"""25, discrimination: an environment that everybody passes, or nobody.

The two ends of the panel (`programs.panel`) are played in all variants: the strongest, who is the oracle, must have at
least 0.4 more than the weakest who does anything, who falls into every trap. Details: `panel` (mean score over the
variants, by agent), `kendall` (τ-b between the panel's order and its scores). Proposes `to_gate` for the weighted
checks that the weakest fails in the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ...checks.scoring import decimal_text
from ..findings import Edit, Finding, pointer
from ..playing import Case
from ..programs.panel import STRONG, WEAK, mean, panel, program, ranked

NUMBER = 25
LEAST = Fraction(2, 5)


async def find(case: Case) -> list[Finding]:
    if await mean(case, STRONG) - await mean(case, WEAK) >= LEAST:
        return []
    scores = await panel(case)
    weak = await case.run(program(case, 1), "")
    failed = [v for v in weak.verdicts if v.applicable and not v.passed and not v.gate]
    failed.sort(key=lambda verdict: -(verdict.weight or 0))
    return [
        Finding(
            validator=NUMBER,
            at="",
            observed=f"The strongest of the panel scores {float(scores[STRONG]):.2f} on average, the weakest "
            f"{float(scores[WEAK]):.2f}.",
            expected=f"They are at least {float(LEAST)} apart.",
            details={"panel": _shown(scores), "kendall": round(ranked(scores), 4)},
            candidates=tuple(Edit("to_gate", pointer("checks", verdict.name), cost=3) for verdict in failed),
        )
    ]


def _shown(scores: Mapping[str, Fraction]) -> dict[str, str]:
    return {agent: decimal_text(score) for agent, score in scores.items()}
