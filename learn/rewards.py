"""Rewards: what each decision of an episode earned, by any grader, on any log.

Knows streams, graders and where decisions stand. Does not know token ids, or what else was tried (`processing`). Scores
are exact fractions, so dense rewards add up to the final score without remainder.

A decision *works* from its `effect.requested` to just before that of the next one. The first works from the beginning
of the stream, the last to its end, so that nothing that happens is nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from ..events.event import AGENT, EffectCancelled, EffectResolved, Event, MessageSent, ToolCalled
from ..worlds.checks.frame import NAME as FRAME
from ..worlds.checks.scoring import Rubric

Kind: TypeAlias = Literal["terminal", "dense", "checks"]


class NoSuchDecision(ValueError):
    """Decisions that are not in the stream, or not in its order."""


# --- costs -------------------------------------------------------------------------------------------------


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What work costs: the share of what was earned that each call, message, decision and written token takes away."""

    call: float = 0.0
    message: float = 0.0
    token: float = 0.0
    decision: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= cost <= 1 for cost in msgspec.structs.astuple(self)):
            raise ValueError(f"a cost is the share of what was earned that is taken away, from 0 to 1; here are {self}")

    def factor(self, calls: int, messages: int, tokens: int, decisions: int) -> Fraction:
        """`max(0, 1 - (calls x call + messages x message + tokens x token + decisions x decision))`: so an expensive
        success is worth less, a failure is never worth less than nothing, and doing nothing never pays."""
        priced = ((self.call, calls), (self.message, messages), (self.token, tokens), (self.decision, decisions))
        spent = sum((Fraction(cost).limit_denominator(10**9) * count for cost, count in priced), Fraction(0))
        return max(Fraction(0), 1 - spent)


FREE = Costs()


class _Work:
    """What an agent has spent by now. Of an answer that was cut short, the tokens count that were paid for."""

    def __init__(self) -> None:
        self.calls = 0
        self.messages = 0
        self.decisions = 0
        self._tokens: dict[int, int] = {}

    def add(self, part: Sequence[Event]) -> None:
        self.decisions += 1
        for event in part:
            if event.actor != AGENT:
                continue
            body = event.body
            if isinstance(body, ToolCalled):
                self.calls += 1
            elif isinstance(body, MessageSent):
                self.messages += 1
            elif isinstance(body, EffectResolved):
                self._tokens[body.effect] = body.tokens or 0
            elif isinstance(body, EffectCancelled) and body.paid is not None:
                self._tokens[body.effect] = body.paid

    def factor(self, costs: Costs) -> Fraction:
        return costs.factor(self.calls, self.messages, sum(self._tokens.values()), self.decisions)


# --- scores and checks, decision by decision ---------------------------------------------------------------


def _parts(events: Sequence[Event], decisions: Sequence[int]) -> Iterator[Sequence[Event]]:
    """What happened while each decision worked. Raises NoSuchDecision."""
    ends = [*decisions, len(events)]
    if any(after <= before for before, after in pairwise(decisions)) or min(ends) < 0 or max(ends) > len(events):
        raise NoSuchDecision(
            f"decisions are named by where they stand in the stream of {len(events)} events, in ascending order; "
            f"here are {list(decisions)}"
        )
    return (events[start:stop] for start, stop in pairwise([0, *ends[1:]]))


def potentials(
    events: Sequence[Event], decisions: Sequence[int], rubric: Rubric, costs: Costs = FREE
) -> list[Fraction]:
    """The worth of the empty stream, the worth just before each decision but the first, and the final one.

    `events` is a whole stream, `decisions` the `seq`s of their `effect.requested`, ascending. One number more than
    there are decisions. Worth is the whole score, gates included, so that a gate that trips takes everything back,
    times the factor of what was spent by then. Raises NoSuchDecision.
    """
    grader, work = rubric.grader(), _Work()
    found = [grader.score()]
    for part in _parts(events, decisions):
        for event in part:
            grader.apply(event)
        work.add(part)
        found.append(grader.score() * work.factor(costs))
    return found


class Turned(msgspec.Struct, frozen=True):
    """A check whose verdict is another after a decision than before it."""

    check: str
    """The frame, which is a gate, has its name here, too."""
    decision: int
    """Its place among the decisions."""
    passed: bool


def standings(events: Sequence[Event], decisions: Sequence[int], rubric: Rubric) -> list[tuple[bool, ...]]:
    """Which checks pass in the empty stream, before each decision but the first, and at the end. In the order of the
    rubric's tests; last, whether the agent has kept to the frame. Raises NoSuchDecision."""
    examination = rubric.examine()

    def standing() -> tuple[bool, ...]:
        passed, framed = examination.standing()
        return (*passed, framed)

    found = [standing()]
    for part in _parts(events, decisions):
        for event in part:
            examination.apply(event)
        found.append(standing())
    return found


def turns(events: Sequence[Event], decisions: Sequence[int], rubric: Rubric) -> list[Turned]:
    """The progress of the checks: at which decision which verdict changed. Raises NoSuchDecision."""
    names = [*(test.name for test in rubric.examine().sheet.tests), FRAME]
    return [
        Turned(name, place, now)
        for place, (before, after) in enumerate(pairwise(standings(events, decisions, rubric)))
        for name, was, now in zip(names, before, after, strict=True)
        if was is not now
    ]


# --- rewards -----------------------------------------------------------------------------------------------


def rewards(
    events: Sequence[Event],
    decisions: Sequence[int],
    rubric: Rubric,
    kind: Kind = "dense",
    *,
    gamma: float = 1.0,
    costs: Costs = FREE,
) -> list[Fraction]:
    """The reward of each decision. Raises NoSuchDecision.

    `terminal`: the final worth (see `potentials`), at the last decision.

    `dense`: what the worth became while the decision worked, minus what it was, so the sum is the final worth minus the
    empty stream's. With gamma < 1 the final worth comes at the end, and `gamma x after - before` is added to each
    decision on the way (Ng, Harada & Russell 1999; the potential after the end is 0, so that gamma = 1 is no special
    case). Discounted returns then differ from those of `terminal` by nothing but the potential before the decision,
    whatever is done: no optimal policy changes, and there is nothing to farm.

    `checks`: the final worth, shared out by who earned it. See `by_checks`.
    """
    if not decisions:
        return []
    scores = potentials(events, decisions, rubric, costs)
    if kind == "checks":
        return by_checks(standings(events, decisions, rubric), rubric, scores[-1])
    final = [Fraction(0)] * (len(decisions) - 1) + [scores[-1]]
    if kind == "terminal":
        return final
    discount = Fraction(gamma).limit_denominator(10**9)
    ahead = [*scores[1:-1], Fraction(0)]
    return [last + discount * after - before for last, before, after in zip(final, scores, ahead)]


def by_checks(rows: Sequence[tuple[bool, ...]], rubric: Rubric, worth: Fraction) -> list[Fraction]:
    """The final worth, shared out among decisions: the sum is `worth`.

    With S the final score as it were without gates: S goes to the decisions with which checks became passed for good,
    by weight; `S - worth`, what gates and costs took, is taken back, from the decisions with which the failed gates
    failed for good, in equal parts, and where none failed from all in proportion. What no check that changed has
    earned (a rule may give something for nothing) is the last decision's.
    """
    tests, last = rubric.examine().sheet.tests, len(rows) - 2
    gates = [*(test.gate for test in tests), True]
    whole = rubric.score([good or test.gate for test, good in zip(tests, rows[-1])], True)
    since = [_since([row[place] for row in rows]) for place in range(len(gates))]
    weights = [0 if gate else test.weight or 0 for test, gate in zip(tests, gates)]
    passed = [(since[place], weight) for place, weight in enumerate(weights) if weight and rows[-1][place]]
    earners = [(decision, weight) for decision, weight in passed if decision is not None] or [(last, 1)]
    failed = [since[place] for place, gate in enumerate(gates) if gate and not rows[-1][place]]
    shared = [Fraction(0)] * (last + 1)
    total = sum(weight for _, weight in earners)
    for decision, weight in earners:
        shared[decision] += (whole if failed else worth) * Fraction(weight, total)
    for culprit in failed:
        shared[last if culprit is None else culprit] -= (whole - worth) / len(failed)
    return shared


def _since(column: Sequence[bool]) -> int | None:
    """The decision with which a verdict became what it is at the end; None if it has always been that."""
    changes = [place for place, (before, after) in enumerate(pairwise(column)) if before is not after]
    return changes[-1] if changes else None
