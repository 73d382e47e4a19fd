"""4, oracle wins: an environment that cannot be solved, or that grades its solution wrongly.

The oracle is played in the base and in every twin, and must score 1. Details: `twin`, `score`, `failing` (checks),
`last` (number of the last event), `ended`, `failure` (of a step that could not be carried out). Proposes `re_solve`,
and where the deadline came first, `shift_event` of it.
"""

from __future__ import annotations

from ....events.event import EpisodeEnded
from ...checks.scoring import decimal_text
from ...durations import duration
from ..findings import Edit, Finding, pointer
from ..playing import Case, Run
from .places import told, written_at

NUMBER = 4


async def find(case: Case) -> list[Finding]:
    if not any(world.oracle for world in case.worlds.values()):
        return [
            Finding(
                validator=NUMBER,
                at=pointer("oracle"),
                observed="There is no oracle.",
                expected="An oracle shows that the environment can be solved.",
                candidates=(Edit("re_solve", cost=5),),
            )
        ]
    runs = [await case.run(case.oracle(variant), variant) for variant in case.worlds]
    return [_finding(case, run) for run in runs if run.score != 1 or run.failure]


def _finding(case: Case, run: Run) -> Finding:
    last = run.events[-1]
    ended = last.body.reason if isinstance(last.body, EpisodeEnded) else ""
    failing = list(run.failed)
    reason = run.failure or (f"not passed: {', '.join(failing)}" if failing else f"it ended by {ended}")
    candidates = [Edit("re_solve", cost=5)]
    if ended == "deadline":
        later = duration(2 * case.worlds[run.variant].deadline)
        candidates.insert(0, Edit("shift_event", pointer("clock", "deadline"), later))
    return Finding(
        validator=NUMBER,
        at=written_at(case, run.variant, "oracle"),
        twin=run.variant,
        observed=f"The oracle scores {float(run.score):.2f} {told(run.variant)} ({reason}).",
        expected="The oracle scores 1 in every variant.",
        evidence=(last.seq,),
        details={
            "twin": run.variant,
            "score": decimal_text(run.score),
            "failing": failing,
            "last": last.seq,
            "ended": ended,
            "failure": run.failure,
        },
        candidates=tuple(candidates),
    )
