"""5, idle: points for whoever does nothing, or only reads.

Both are played in every variant and must score 0: an agent without steps, and one that calls each reading tool and
follows the oracle as far as it neither writes nor says anything. Details: `agent` (`nothing` or `reading`), `score`,
`earned` (checks that pass and did not hold at the start). Proposes `to_gate` for each of those.
"""

from __future__ import annotations

from ...checks.scoring import decimal_text
from ..findings import Edit, Finding
from ..playing import Case, Run
from .places import told, written_at
from .programs import NOTHING, reading

NUMBER = 5

_SAYS = {"nothing": "does nothing", "reading": "only reads"}


async def find(case: Case) -> list[Finding]:
    runs = []
    for variant in case.worlds:
        runs.append(await case.run(NOTHING, variant))
        runs.append(await case.run(reading(case, variant), variant))
    return [_finding(case, run) for run in runs if run.score != 0]


def _finding(case: Case, run: Run) -> Finding:
    agent = run.program.name.partition("@")[0]
    earned = [v for v in run.verdicts if v.passed and v.applicable and not v.gate and not v.idle]
    places = {verdict.name: written_at(case, run.variant, "checks", verdict.name) for verdict in earned}
    return Finding(
        validator=NUMBER,
        at=next(iter(places.values()), ""),
        twin=run.variant,
        observed=f"An agent that {_SAYS[agent]} scores {float(run.score):.2f} {told(run.variant)}.",
        expected="Doing nothing and only reading score 0.",
        evidence=tuple(seq for verdict in earned for seq in verdict.evidence),
        details={"agent": agent, "score": decimal_text(run.score), "earned": list(places)},
        candidates=tuple(Edit("to_gate", at, cost=2) for at in places.values()),
    )
