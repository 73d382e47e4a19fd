"""Processing: from the scores of many rollouts of the same tasks to numbers whose sign says better or worse than usual.

Knows twin sets. Does not know decisions. Twins of a set are the same request with another hidden fact; they are sampled
in equal numbers, and each is compared with itself alone: *centred within the twin, scaled, if at all, by one number for
the whole set or batch*. Scaled by twin, the push away from guessing is lost: a guess that is right in one twin and
wrong in the other has standardised scores that cancel out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import msgspec


class Unequal(ValueError):
    """Rollouts that cannot be compared: a twin with fewer than two, or twins in unequal numbers."""


class Outcome(msgspec.Struct, frozen=True):
    """What a rollout came to."""

    environment: str
    """The twin set."""
    twin: str
    score: float


Process: TypeAlias = Callable[[Sequence[Outcome]], list[float]]

_EPSILON = 1e-6


def raw(outcomes: Sequence[Outcome]) -> list[float]:
    """The scores themselves."""
    return [outcome.score for outcome in outcomes]


def centred(outcomes: Sequence[Outcome]) -> list[float]:
    """The score minus the mean of the twin's *other* rollouts (leave one out; Kool et al. 2019)."""
    values = [0.0] * len(outcomes)
    for places in _twins(outcomes).values():
        total, others = sum(outcomes[place].score for place in places), len(places) - 1
        for place in places:
            score = outcomes[place].score
            values[place] = score - (total - score) / others
    return values


def scaled(outcomes: Sequence[Outcome]) -> list[float]:
    """Centred, over the root of the mean square of the whole twin set's centred values (plus 1e-6)."""
    return _over_spread(outcomes, [outcome.environment for outcome in outcomes])


def batch_scaled(outcomes: Sequence[Outcome]) -> list[float]:
    """Centred, over the root of the mean square of the whole batch's centred values (plus 1e-6)."""
    return _over_spread(outcomes, [""] * len(outcomes))


def _over_spread(outcomes: Sequence[Outcome], keys: Sequence[str]) -> list[float]:
    values = centred(outcomes)
    squares: dict[str, list[float]] = {}
    for key, value in zip(keys, values, strict=True):
        squares.setdefault(key, []).append(value * value)
    spread = {key: (sum(found) / len(found)) ** 0.5 for key, found in squares.items()}
    return [value / (spread[key] + _EPSILON) for key, value in zip(keys, values, strict=True)]


def ranked(outcomes: Sequence[Outcome]) -> list[float]:
    """Ranks in the whole twin set, from 0 to 1, equal scores sharing theirs; then centred within the twin."""
    ranks = [0.0] * len(outcomes)
    sets: dict[str, list[int]] = {}
    for place, outcome in enumerate(outcomes):
        sets.setdefault(outcome.environment, []).append(place)
    for places in sets.values():
        scores = sorted(outcomes[place].score for place in places)
        for place in places:
            score = outcomes[place].score
            below, same = sum(each < score for each in scores), sum(each == score for each in scores)
            ranks[place] = (below + (same - 1) / 2) / max(1, len(scores) - 1)
    return centred([msgspec.structs.replace(outcome, score=rank) for outcome, rank in zip(outcomes, ranks)])


PROCESSES: Mapping[str, Process] = MappingProxyType(
    {"raw": raw, "centred": centred, "scaled": scaled, "batch-scaled": batch_scaled, "ranked": ranked}
)


def clipped(values: Sequence[float], limit: float) -> list[float]:
    """Each value within [-limit, limit]."""
    return [max(-limit, min(limit, value)) for value in values]


def _twins(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], list[int]]:
    """The places of each twin's rollouts. Raises Unequal."""
    twins: dict[tuple[str, str], list[int]] = {}
    for place, outcome in enumerate(outcomes):
        twins.setdefault((outcome.environment, outcome.twin), []).append(place)
    counts: dict[str, int] = {}
    for (environment, twin), places in twins.items():
        if len(places) < 2:
            raise Unequal(f"{environment}@{twin or 'base'} has one rollout; a comparison needs at least two")
        if counts.setdefault(environment, len(places)) != len(places):
            raise Unequal(f"the twins of {environment} have unequal numbers of rollouts; sample each as often")
    return twins


def flat(outcomes: Sequence[Outcome]) -> int:
    """Twin sets in which every rollout has the same score: they teach nothing."""
    scores: dict[str, set[float]] = {}
    for outcome in outcomes:
        scores.setdefault(outcome.environment, set()).add(outcome.score)
    return sum(len(found) == 1 for found in scores.values())
