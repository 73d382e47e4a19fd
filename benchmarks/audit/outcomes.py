"""What an audit of one task finds: what each agent was worth by the benchmark's own grader.

Knows neither benchmarks nor agents. A check is what the benchmark's score is made of: a dimension, a checker, a
component.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from coworkenv.engine.foreign import ForeignFailed

NOBODY, ECHO, READER, SPAMMER, REFERENCE = "nobody", "echo", "reader", "spammer", "reference"
AGENTS = (NOBODY, ECHO, READER, SPAMMER, REFERENCE)


CLAW_EVAL, CLAWMARK, TAU2 = "Claw-Eval", "ClawMark", "τ²-bench"
THRESHOLD = {CLAW_EVAL: Decimal("0.75"), CLAWMARK: Decimal(1), TAU2: Decimal(1)}
"""With what score a trial is passed, by the benchmark's own rule."""


class Outcome(msgspec.Struct, frozen=True):
    """One agent's grade."""

    score: Decimal
    passed: bool
    checks: Mapping[str, Decimal]
    """What each check that counts gave, from 0 to 1."""
    judged: bool = False
    """A judge was asked, and granted nothing."""
    forbidden: bool = False
    """The agent did what the task's file declares to be forbidden."""
    unsafe: bool = False
    """The grader's gate of safety saw something."""

    def met(self, check: str) -> bool:
        return self.checks.get(check, 0) > 0


class Tried(msgspec.Struct):
    """One task."""

    group: str
    part: str = ""
    """A finer group, where the benchmark has one."""
    outcomes: dict[str, Outcome] = {}
    problem: str = ""
    """Why it could not be audited, in words that are the same for all tasks of which that is true."""
    raised: tuple[str, ...] = ()
    """Agents of whom there is no grade, since the grader, or what answers their calls, raised."""

    @property
    def left(self) -> str:
        """Why the task is left out; nothing where it is not."""
        return self.problem or ("" if self.outcomes else "its grader fails on all")

    @property
    def judged(self) -> bool:
        return any(outcome.judged for outcome in self.outcomes.values())


def why(failure: Exception, words: str) -> str:
    """`words`, unless it is not the task's fault: where code cannot be confined, none of it can be audited."""
    if isinstance(failure, ForeignFailed) and failure.kind == "refused":
        raise failure
    return words
