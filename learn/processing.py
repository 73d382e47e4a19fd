"""Processing: from the scores of many rollouts of the same tasks to numbers whose sign says better or worse than usual.

Knows twin sets. Does not know how decisions share an outcome (`credit`). Twins of a set are the same request with
another hidden fact; they are sampled in equal numbers, and each is compared with itself alone: *centred within the
twin, scaled, if at all, by one number for the whole set or batch*. Scaled by twin, the push away from guessing is lost.
Say that a policy nearly always guesses the same, where asking first costs 0.1. In the twin in which it guesses right,
asking comes out 0.1 below its habit, in the other 0.9 above; but each of both differences is most of its twin's spread,
so over that spread they are the same, and cancel out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import msgspec


class Unequal(ValueError):
    """Rollouts that cannot be compared: a twin with fewer than two, or twins in unequal numbers."""


class Outcome(msgspec.Struct, frozen=True):
    """What a rollout came to, or what it came to from one of its decisions on."""

    environment: str
    """The twin set."""
    twin: str
    score: float
    among: str = ""
    """Within its twin, only outcomes with the same word are compared: a turn, an information state. Empty for whole
    rollouts."""


Process: TypeAlias = Callable[[Sequence[Outcome]], list[float]]
"""One number for each outcome, in their order. Raises Unequal."""

EPSILON = 1e-6
"""Added to what is divided by: where all scores are the same but for rounding, nothing is learnt from the rounding."""


def raw(outcomes: Sequence[Outcome]) -> list[float]:
    """The scores themselves."""
    return [outcome.score for outcome in outcomes]


def centred(outcomes: Sequence[Outcome]) -> list[float]:
    """The score minus the mean of the *others* it is compared with (leave one out; Kool, van Hoof & Welling 2019)."""
    values = [0.0] * len(outcomes)
    for places in _groups(outcomes):
        total, others = sum(outcomes[place].score for place in places), len(places) - 1
        for place in places:
            score = outcomes[place].score
            values[place] = score - (total - score) / others
    return values


def scaled(outcomes: Sequence[Outcome]) -> list[float]:
    """Centred, over the root of the mean square of the whole twin set's centred values (plus `EPSILON`).

    Of a set in which one rollout alone did something else, that is the spread of its twin, and much of the push away
    from guessing is lost as if it had been scaled by twin. `batch_scaled` hangs on no single rollout.
    """
    return _over_spread(outcomes, [outcome.environment for outcome in outcomes])


def batch_scaled(outcomes: Sequence[Outcome]) -> list[float]:
    """Centred, over the root of the mean square of the whole batch's centred values (plus `EPSILON`)."""
    return _over_spread(outcomes, [""] * len(outcomes))


def _over_spread(outcomes: Sequence[Outcome], keys: Sequence[str]) -> list[float]:
    values = centred(outcomes)
    squares: dict[str, list[float]] = {}
    for key, value in zip(keys, values, strict=True):
        squares.setdefault(key, []).append(value * value)
    spread = {key: (sum(found) / len(found)) ** 0.5 for key, found in squares.items()}
    return [value / (spread[key] + EPSILON) for key, value in zip(keys, values, strict=True)]


def ranked(outcomes: Sequence[Outcome]) -> list[float]:
    """Ranks in the whole twin set, from 0 to 1, equal scores sharing theirs; then centred within the twin.

    No default, since ranks do not say how much is lost: where guessing is a little better than asking in one twin and
    much worse in the other, that cancels out as if it were the same.
    """
    ranks = [0.0] * len(outcomes)
    sets: dict[str, list[int]] = {}
    for place, outcome in enumerate(outcomes):
        sets.setdefault(outcome.environment, []).append(place)
    for places in sets.values():
        scores = sorted(outcomes[place].score for place in places)
        for place in places:
            score = outcomes[place].score
            below, upto = bisect_left(scores, score), bisect_right(scores, score)
            ranks[place] = (below + upto - 1) / 2 / max(1, len(scores) - 1)
    return centred([msgspec.structs.replace(outcome, score=rank) for outcome, rank in zip(outcomes, ranks)])


PROCESSES: Mapping[str, Process] = MappingProxyType(
    {"raw": raw, "centred": centred, "scaled": scaled, "batch-scaled": batch_scaled, "ranked": ranked}
)


def clipped(values: Sequence[float], limit: float) -> list[float]:
    """Each value within [-limit, limit]."""
    return [max(-limit, min(limit, value)) for value in values]


def check(outcomes: Sequence[Outcome]) -> None:
    """Raises Unequal, with a sentence, for rollouts that cannot be compared."""
    _groups(outcomes)


def _groups(outcomes: Sequence[Outcome]) -> list[list[int]]:
    """The places of those that are compared with each other. Raises Unequal."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for place, outcome in enumerate(outcomes):
        groups.setdefault((outcome.environment, outcome.among, outcome.twin), []).append(place)
    counts: dict[tuple[str, str], int] = {}
    for (environment, among, twin), places in groups.items():
        if len(places) < 2:
            where = f" at {among}" if among else ""
            raise Unequal(f"{environment}@{twin or 'base'} has one rollout{where}; a comparison needs at least two")
        if counts.setdefault((environment, among), len(places)) != len(places):
            raise Unequal(f"the twins of {environment} have unequal numbers of rollouts; sample each as often")
    return list(groups.values())


def flat(outcomes: Sequence[Outcome]) -> int:
    """Twin sets in which every rollout has the same score: they teach nothing."""
    scores: dict[str, set[float]] = {}
    for outcome in outcomes:
        scores.setdefault(outcome.environment, set()).add(outcome.score)
    return sum(len(found) == 1 for found in scores.values())
