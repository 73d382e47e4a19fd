"""Credit: which decisions an episode's outcome is due to. All on plain numbers.

Knows trajectories, their rewards, and what processing made of their scores. Does not know torch. Each way gives one
advantage for each decision of each rollout, and says what it had to fall back on.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from .decisions import Trajectory, Values
from .processing import Outcome, Process


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory and what its decisions earned."""

    trajectory: Trajectory
    rewards: tuple[float, ...]

    @property
    def score(self) -> float:
        return sum(self.rewards)

    def outcome(self, score: float | None = None) -> Outcome:
        return Outcome(self.trajectory.environment, self.trajectory.twin, self.score if score is None else score)


class Credit(msgspec.Struct, frozen=True, kw_only=True):
    """Advantages by rollout and decision, and how many decisions another way had to be taken for."""

    advantages: tuple[tuple[float, ...], ...]
    fallbacks: int = 0


Assign: TypeAlias = Callable[[Sequence[Rollout], Process], Credit]


def uniform(rollouts: Sequence[Rollout], process: Process) -> Credit:
    """Every decision has its rollout's processed score."""
    values = process([rollout.outcome() for rollout in rollouts])
    return Credit(
        advantages=tuple((value,) * len(rollout.rewards) for value, rollout in zip(values, rollouts, strict=True))
    )


def returns(rewards: Values, gamma: float = 1.0) -> tuple[float, ...]:
    """`G_k = r_k + gamma G_(k+1)`, for each decision k."""
    found, ahead = [], 0.0
    for reward in reversed(rewards):
        ahead = reward + gamma * ahead
        found.append(ahead)
    return tuple(reversed(found))


def return_to_go(rollouts: Sequence[Rollout], process: Process, gamma: float = 1.0) -> Credit:
    """Decision k has what was earned from k on, processed among the k-th decisions of the same twins' rollouts.

    Rollouts that were over by then count with 0: what they still earned is nothing.
    """
    togo = [returns(rollout.rewards, gamma) for rollout in rollouts]
    longest = max(map(len, togo), default=0)
    columns = [
        process([rollout.outcome(own[k] if k < len(own) else 0.0) for rollout, own in zip(rollouts, togo)])
        for k in range(longest)
    ]
    return Credit(advantages=tuple(tuple(columns[k][i] for k in range(len(own))) for i, own in enumerate(togo)))


def gae(rewards: Values, values: Values, gamma: float = 1.0, lam: float = 0.95) -> tuple[float, ...]:
    """Generalised advantages (Schulman et al. 2016, eq. 16): `A_k = d_k + gamma lam A_(k+1)`, with
    `d_k = r_k + gamma V_(k+1) - V_k` and V = 0 after the end. `values` are V_k, before each decision."""
    found, ahead, after = [], 0.0, 0.0
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        ahead = reward + gamma * after - value + gamma * lam * ahead
        after = value
        found.append(ahead)
    return tuple(reversed(found))


def information_states(trajectory: Trajectory) -> list[bytes]:
    """What the agent had observed before each decision: a hash of its prompt's ids, with environment and twin."""
    key = f"{trajectory.environment}@{trajectory.twin}".encode()
    states = []
    for decision in trajectory.decisions:
        ids = trajectory.prompt(decision)
        states.append(blake2b(struct.pack(f"<{len(ids)}q", *ids), key=blake2b(key).digest(), digest_size=16).digest())
    return states


def turn_groups(rollouts: Sequence[Rollout], process: Process, gamma: float = 1.0) -> Credit:
    """Return-to-go, centred among the rollouts that were in the same information state (leave one out).

    A state counts once for each rollout, the first time. Where fewer than two rollouts were in a state, nothing there
    is comparable: the decision falls back on `return_to_go`, and is counted.
    """
    togo = [returns(rollout.rewards, gamma) for rollout in rollouts]
    visits: dict[bytes, dict[int, float]] = {}
    states = [information_states(rollout.trajectory) for rollout in rollouts]
    for number, (own, found) in enumerate(zip(togo, states, strict=True)):
        for value, state in zip(own, found, strict=True):
            visits.setdefault(state, {}).setdefault(number, value)
    otherwise = return_to_go(rollouts, process, gamma).advantages
    fallbacks = 0
    advantages: list[tuple[float, ...]] = []
    for number, (own, found) in enumerate(zip(togo, states, strict=True)):
        row: list[float] = []
        for k, (value, state) in enumerate(zip(own, found, strict=True)):
            group = visits[state]
            if len(group) < 2 or group[number] != value:
                fallbacks += 1
                row.append(otherwise[number][k])
            else:
                row.append(value - (sum(group.values()) - value) / (len(group) - 1))
        advantages.append(tuple(row))
    return Credit(advantages=tuple(advantages), fallbacks=fallbacks)


def progress(rollouts: Sequence[Rollout], process: Process) -> Credit:
    """What the decision itself earned (dense rewards), processed among the same twins' k-th decisions."""
    return return_to_go(rollouts, process, gamma=0.0)


def from_forks(
    before: Sequence[Sequence[float]], weights: Sequence[Sequence[float]] | None = None
) -> tuple[float, ...]:
    """Monte-Carlo advantages of a rollout's decisions from continuations: `A_k = V_(k+1) - V_k`.

    `before[k]` are the final scores of continuations from before decision k (the policy decides k anew);
    `before[-1]`, one more than there are decisions, holds the rollout's own final score. `weights` are importance
    weights, where the continuations' policy is not the one that is trained; each mean is over the sum of its weights.
    """
    given = weights or [[1.0] * len(scores) for scores in before]
    means = [
        sum(w * s for w, s in zip(ws, scores, strict=True)) / max(sum(ws), 1e-12) for ws, scores in zip(given, before)
    ]
    return tuple(after - earlier for earlier, after in pairwise(means))


CREDITS: Mapping[str, Assign] = MappingProxyType(
    {"uniform": uniform, "return-to-go": return_to_go, "turn-groups": turn_groups, "progress": progress}
)
