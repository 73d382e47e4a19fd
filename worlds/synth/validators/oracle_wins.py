"""4, oracle wins: an environment that cannot be solved, or that grades its solution wrongly.

The oracle is played in the base and in every twin, and must score 1. Details: `twin`, `score`, `failing` (checks),
`last` (number of the last event), `ended`, `failure` (of a step that could not be carried out). Proposes `re_solve`,
and where the deadline came first, `shift_event` of it to one that suffices in every variant.
"""

from __future__ import annotations

import msgspec

from ....events.event import EpisodeEnded
from ...checks.scoring import decimal_text
from ..findings import Edit, Finding, pointer
from ..playing import Case, Run
from .places import told, written_at
from .timing import later_deadline, when_done

NUMBER = 4

_UNHURRIED = 30 * 86_400_000_000
"""A month, in microseconds: longer than any work here."""


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
    lost = [run for run in runs if run.score != 1 or run.failure]
    later = await _later(case) if any(map(_is_late, lost)) else None
    return [_finding(case, run, later if _is_late(run) else None) for run in lost]


def _is_late(run: Run) -> bool:
    last = run.events[-1].body
    return isinstance(last, EpisodeEnded) and last.reason == "deadline"


async def _later(case: Case) -> Edit:
    """A deadline that is late enough for the oracle in every variant."""
    done = 0
    for variant, world in case.worlds.items():
        unhurried = msgspec.structs.replace(world, deadline=_UNHURRIED)
        done = max(done, when_done(await case.play(unhurried, case.oracle(variant))))
    return later_deadline(done)


def _finding(case: Case, run: Run, later: Edit | None) -> Finding:
    last = run.events[-1]
    ended = last.body.reason if isinstance(last.body, EpisodeEnded) else ""
    failing = list(run.failed)
    reason = run.failure or (f"not passed: {', '.join(failing)}" if failing else f"it ended by {ended}")
    made_anew = Edit("re_solve", cost=5)
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
        candidates=(made_anew,) if later is None else (later, made_anew),
    )
