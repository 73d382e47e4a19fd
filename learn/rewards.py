"""Rewards: what each decision of an episode earned, by any grader, on any log.

Knows streams, graders and where decisions stand. Does not know tokens, or what else was tried (`processing`). Scores
are exact fractions, so dense rewards add up to the final score without remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from ..events.event import AGENT, Event, MessageSent, ToolCalled
from ..worlds.checks.scoring import Rubric

Kind: TypeAlias = Literal["terminal", "dense"]


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What work costs: the share of what was earned that each call, message and written token takes away."""

    call: float = 0.0
    message: float = 0.0
    token: float = 0.0

    def factor(self, calls: int, messages: int, tokens: int) -> Fraction:
        """`max(0, 1 - (calls x call + messages x message + tokens x token))`: so an expensive success is worth less,
        a failure is never worth less than nothing, and doing nothing never pays."""
        spent = sum(
            Fraction(cost).limit_denominator(10**9) * count
            for cost, count in ((self.call, calls), (self.message, messages), (self.token, tokens))
        )
        return max(Fraction(0), 1 - spent)


FREE = Costs()


def potentials(events: Sequence[Event], decisions: Sequence[int], rubric: Rubric) -> list[Fraction]:
    """The score of the empty stream, the score just before each decision but the first, and the final score.

    `decisions` are the `seq`s of their `effect.requested`, ascending. One number more than there are decisions. The
    score is the whole one, gates included: a gate that trips takes everything back.
    """
    grader = rubric.grader()
    found = [grader.score()]
    later = iter(decisions[1:])
    following = next(later, None)
    for event in events:
        if event.seq == following:
            found.append(grader.score())
            following = next(later, None)
        grader.apply(event)
    return [*found, grader.score()]


def rewards(
    events: Sequence[Event],
    decisions: Sequence[int],
    rubric: Rubric,
    kind: Kind = "dense",
    *,
    gamma: float = 1.0,
    costs: Costs = FREE,
    tokens: int = 0,
) -> list[Fraction]:
    """The reward of each decision.

    `terminal`: the final score, at the last decision. `dense`: what the score became while the decision worked, minus
    what it was; the first counts from the empty stream, so the sum is the final score minus the empty stream's. With
    gamma < 1 the final score comes at the end, and `gamma x after - before` is added to each decision on the way
    (Ng, Harada & Russell 1999; the potential after the end is 0), which changes no optimal policy.

    Costs multiply all of them by one factor.
    """
    if not decisions:
        return []
    scores = potentials(events, decisions, rubric)
    factor = costs.factor(*_work(events), tokens)
    final = [Fraction(0)] * (len(decisions) - 1) + [scores[-1]]
    if kind == "terminal":
        return [factor * each for each in final]
    if gamma == 1:
        return [factor * (after - before) for before, after in pairwise(scores)]
    discount = Fraction(gamma).limit_denominator(10**9)
    ahead = [*scores[1:-1], Fraction(0)]
    return [factor * (last + discount * after - before) for last, before, after in zip(final, scores, ahead)]


def _work(events: Sequence[Event]) -> tuple[int, int]:
    """Calls and messages of the agent."""
    mine = [event.body for event in events if event.actor == AGENT]
    return sum(isinstance(body, ToolCalled) for body in mine), sum(isinstance(body, MessageSent) for body in mine)
