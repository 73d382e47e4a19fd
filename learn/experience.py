"""Experience: rollouts as a learner takes them, from the log they were played into.

Knows logs, trajectories, graders and rewards. Does not know torch, or how an update uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from ..engine.plan import document_of
from ..events.coherence import events_of
from ..events.event import AGENT, EffectResolved, Event
from ..events.log import Log
from .credit import Rollout
from .rendering import Rendering
from .rewards import FREE, Costs, Kind, rewards
from .scores import EpisodeScore, rubric_of, score_of
from .splits import About
from .trajectories import NoTrajectory, read_trajectory


class Earning(msgspec.Struct, frozen=True, kw_only=True):
    """What counts as reward."""

    reward: Kind = "dense"
    gamma: float = 1.0
    costs: Costs = FREE


class Lived(msgspec.Struct, frozen=True, kw_only=True):
    """An episode, lived through."""

    rollout: Rollout
    score: EpisodeScore
    readable: tuple[bool, ...]
    """Of each call that the policy wrote, messages and waits among them, whether it could be read."""

    @property
    def exact(self) -> Fraction:
        return self.score.score


def read_experience(
    log: Log, streams: Iterable[str], rendering: Rendering, about: Mapping[str, About], earning: Earning
) -> list[Lived]:
    """Ended episodes of a log. Those in which the policy decided nothing are left out. Raises NotGraded."""
    found = (_lived(log, stream, rendering, about, earning) for stream in streams)
    return [each for each in found if each is not None]


def _lived(log: Log, stream: str, rendering: Rendering, about: Mapping[str, About], earning: Earning) -> Lived | None:
    events = events_of(log, stream)
    try:
        trajectory = read_trajectory(log, stream, rendering, events)
    except NoTrajectory:
        return None
    score = score_of(events, about, episode=stream)
    decisions = [decision.seq for decision in trajectory.decisions]
    rubric = rubric_of(document_of(events))
    assert rubric is not None, "an episode that has a score has a grader"
    earned = rewards(
        events,
        decisions,
        rubric,
        earning.reward,
        gamma=earning.gamma,
        costs=earning.costs,
    )
    rollout = Rollout(trajectory=trajectory, rewards=tuple(map(float, earned)), gamma=earning.gamma)
    return Lived(rollout=rollout, score=score, readable=tuple(_readable(events)))


def _readable(events: Sequence[Event]) -> list[bool]:
    answers = [event.body.answer for event in events if event.actor == AGENT and isinstance(event.body, EffectResolved)]
    return ["error" not in call for answer in answers if isinstance(answer, dict) for call in answer.get("calls", ())]


def figures(lived: Sequence[Lived]) -> dict[str, float]:
    """What is told of a batch of episodes: means over episodes, or shares of all their decisions or calls."""
    if not lived:
        return {}
    decisions = [decision for each in lived for decision in each.rollout.trajectory.decisions]
    checks: dict[str, list[bool]] = {}
    for each in lived:
        for name, passed in each.score.checks.items():
            checks.setdefault(name, []).append(passed)
    return {
        "score": float(sum(each.exact for each in lived) / len(lived)),
        "passed": _share(each.score.passed for each in lived),
        "gated": _share(each.score.gated for each in lived),
        "decisions": len(decisions) / len(lived),
        "calls": sum(each.score.calls for each in lived) / len(lived),
        "messages": sum(each.score.messages for each in lived) / len(lived),
        "tokens_written": sum(decision.tokens for decision in decisions) / len(lived),
        "truncated": _share(decision.stopped == "length" for decision in decisions),
        "malformed": _share(not readable for each in lived for readable in each.readable),
        **{f"check/{name}": _share(passed) for name, passed in sorted(checks.items()) if len(passed) > 1},
    }


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
