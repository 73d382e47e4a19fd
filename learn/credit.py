"""Credit: which decisions an episode's outcome is due to. All on plain numbers.

Knows trajectories, their rewards, and what processing makes of scores. Does not know torch. Each way gives one
advantage for each decision of each rollout, and says what it had to fall back on. Whatever a way compares, it hands all
of it to the processing at once, so that there is one scale for a whole twin set, and none for a turn or a state.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from .decisions import Trajectory, Values
from .processing import Outcome, Process, check


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory and what its decisions earned."""

    trajectory: Trajectory
    rewards: tuple[float, ...]
    """One for each decision."""
    gamma: float = 1.0
    """The discount that the rewards were made for, and are added up with."""

    @property
    def score(self) -> float:
        """The discounted return of the whole rollout."""
        return next(iter(returns(self.rewards, self.gamma)), 0.0)

    def outcome(self, score: float | None = None, among: str = "") -> Outcome:
        worth = self.score if score is None else score
        return Outcome(self.trajectory.environment, self.trajectory.twin, worth, among)


class Credit(msgspec.Struct, frozen=True, kw_only=True):
    """Advantages by rollout and decision, and how many decisions another way had to be taken for."""

    advantages: tuple[tuple[float, ...], ...]
    fallbacks: int = 0


class NothingToCompare(ValueError):
    """A decision about which nothing is known that it could be judged by."""


Assign: TypeAlias = Callable[[Sequence[Rollout], Process], Credit]
"""From the rollouts of an update to their credit. Raises `processing.Unequal`."""


# --- the whole rollout, and what is left of it -------------------------------------------------------------


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


def return_to_go(rollouts: Sequence[Rollout], process: Process) -> Credit:
    """Decision k has what was earned from k on, processed among the k-th decisions of the same twin's rollouts.

    A rollout that is over by then is compared with by its last decision. So where everything is earned at the end
    (terminal rewards, gamma = 1), this is `uniform`; and the baseline depends on nothing that decision k decides.
    """
    togo = [returns(rollout.rewards, rollout.gamma) for rollout in rollouts]
    return Credit(advantages=_turn_by_turn(rollouts, togo, [_at(own, len(own)) for own in togo], process))


def progress(rollouts: Sequence[Rollout], process: Process) -> Credit:
    """Decision k has what it earned itself, processed among the k-th decisions of the same twin's rollouts.

    Meant for rewards of the kind `checks`: each check counts where it was passed for good. A rollout that is over earns
    nothing any more.
    """
    rows = [rollout.rewards for rollout in rollouts]
    return Credit(advantages=_turn_by_turn(rollouts, rows, [0.0] * len(rows), process))


def _turn_by_turn(
    rollouts: Sequence[Rollout], rows: Sequence[Values], over: Sequence[float], process: Process
) -> tuple[tuple[float, ...], ...]:
    """Numbers of decisions, processed among those with the same place; `over` stands for decisions not made."""
    longest = _longest(rollouts)
    lengths = [longest[rollout.trajectory.environment] for rollout in rollouts]
    padded = [[*row, *[last] * (length - len(row))] for row, last, length in zip(rows, over, lengths, strict=True)]
    values = process(
        [
            rollout.outcome(value, f"decision {turn}")
            for rollout, row in zip(rollouts, padded, strict=True)
            for turn, value in enumerate(row)
        ]
    )
    starts = accumulate(lengths, initial=0)
    return tuple(tuple(values[start : start + len(row)]) for start, row in zip(starts, rows))


def _longest(rollouts: Sequence[Rollout]) -> dict[str, int]:
    """By twin set, the most decisions that one of its rollouts has."""
    longest: dict[str, int] = {}
    for rollout in rollouts:
        name = rollout.trajectory.environment
        longest[name] = max(longest.get(name, 0), len(rollout.rewards))
    return longest


# --- values ------------------------------------------------------------------------------------------------


def gae(rewards: Values, values: Values, gamma: float = 1.0, lam: float = 0.95) -> tuple[float, ...]:
    """Generalised advantages (Schulman et al. 2016, eq. 16): `A_k = d_k + gamma lam A_(k+1)`, with
    `d_k = r_k + gamma V_(k+1) - V_k` and V = 0 after the end. `values` are V_k, before each decision."""
    found, ahead, after = [], 0.0, 0.0
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        ahead = reward + gamma * after - value + gamma * lam * ahead
        after = value
        found.append(ahead)
    return tuple(reversed(found))


def by_values(rollouts: Sequence[Rollout], values: Sequence[Values], lam: float = 0.95) -> Credit:
    """GAE with what a value head says before each decision. The values are its baseline, so it is not processed.

    Raises ValueError unless there is one value for each decision.
    """
    rows = zip(rollouts, values, strict=True)
    return Credit(advantages=tuple(gae(rollout.rewards, row, rollout.gamma, lam) for rollout, row in rows))


# --- information states ------------------------------------------------------------------------------------


def information_states(trajectory: Trajectory) -> list[bytes]:
    """What the agent had observed before each decision: a hash of its prompt's ids, with environment and twin."""
    key = blake2b(f"{trajectory.environment}@{trajectory.twin}".encode()).digest()
    states: list[bytes] = []
    hashed, segment, done = blake2b(key=key, digest_size=16), 0, 0
    for decision in trajectory.decisions:
        if decision.segment != segment or decision.start < done:
            hashed, segment, done = blake2b(key=key, digest_size=16), decision.segment, 0
        ids = trajectory.segments[segment][done : decision.start]
        hashed.update(struct.pack(f"<{len(ids)}q", *ids))
        done = decision.start
        states.append(hashed.digest())
    return states


def turn_groups(rollouts: Sequence[Rollout], process: Process) -> Credit:
    """Return-to-go, processed among the rollouts that were in the same information state.

    A state counts once for each rollout, the first time. Where fewer than two rollouts were in a state, and where a
    rollout is in one again, nothing is comparable: the decision falls back on `return_to_go`, and is counted.
    """
    check([rollout.outcome() for rollout in rollouts])
    togo = [returns(rollout.rewards, rollout.gamma) for rollout in rollouts]
    visits: dict[bytes, dict[int, int]] = {}  # by state, the first decision in it of each rollout
    for i, rollout in enumerate(rollouts):
        for turn, state in enumerate(information_states(rollout.trajectory)):
            visits.setdefault(state, {}).setdefault(i, turn)
    places: dict[tuple[int, int], str] = {
        (i, turn): state.hex() for state, group in visits.items() if len(group) > 1 for i, turn in group.items()
    }
    lost = [(i, turn) for i, own in enumerate(togo) for turn in range(len(own)) if (i, turn) not in places]
    names = [rollout.trajectory.environment for rollout in rollouts]
    needed = {(names[i], turn): f"decision {turn}" for i, turn in lost}
    compared = [(key, rollouts[key[0]].outcome(togo[key[0]][key[1]], state)) for key, state in places.items()]
    for (name, turn), among in needed.items():
        members = (i for i, own in enumerate(names) if own == name)
        compared += [((i, turn), rollouts[i].outcome(_at(togo[i], turn), among)) for i in members]
    values = process([outcome for _, outcome in compared])
    found: dict[tuple[int, int], float] = {}
    for (key, _), value in zip(compared, values, strict=True):
        found.setdefault(key, value)  # the state's, where a decision stands in a turn's column, too
    rows = tuple(tuple(found[i, turn] for turn in range(len(own))) for i, own in enumerate(togo))
    return Credit(advantages=rows, fallbacks=len(lost))


def _at(togo: Values, turn: int) -> float:
    """What was left to earn from this decision on; of a rollout that was over by then, from its last one on."""
    return togo[min(turn, len(togo) - 1)] if togo else 0.0


# --- forks -------------------------------------------------------------------------------------------------


def from_forks(
    before: Sequence[Sequence[float]], weights: Sequence[Sequence[float]] | None = None
) -> tuple[float, ...]:
    """Monte-Carlo advantages of a rollout's decisions from continuations: `A_k = V_(k+1) - V_k`.

    `before[k]` are the final scores of continuations from before decision k (the policy decides k anew), without the
    rollout itself; `before[-1]`, one more than there are decisions, holds the rollout's own final score. `weights` are
    importance weights, where the continuations' policy is not the one that is trained; each mean is over the sum of its
    weights. Raises NothingToCompare for a decision without continuations, or whose continuations weigh nothing.
    """
    given = weights or [[1.0] * len(scores) for scores in before]
    means: list[float] = []
    for place, (own, scores) in enumerate(zip(given, before, strict=True)):
        whole = sum(own)
        if whole <= 0:
            raise NothingToCompare(f"there is no continuation from before decision {place} that counts; play some")
        means.append(sum(weight * score for weight, score in zip(own, scores, strict=True)) / whole)
    return tuple(after - earlier for earlier, after in pairwise(means))


CREDITS: Mapping[str, Assign] = MappingProxyType(
    {"uniform": uniform, "return-to-go": return_to_go, "turn-groups": turn_groups, "progress": progress}
)
