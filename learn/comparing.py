"""Methods against each other: what training by one is worth more than by another, at equal sampled tokens.

Knows evaluations of runs. Does not know what a method is. Twin sets are paired; runs are, where they have the same
training seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .bootstrap import Interval, NothingToCompare, Values, between_seeds, difference, over_seeds
from .evaluating import Chosen, Evaluation, Kind, groups_of, without
from .scores import METRICS, Metric, TwinSet, played, twin_sets, values_of


class Method(msgspec.Struct, frozen=True):
    """One way of training: its runs, each with the evaluations that were made of it, in the order of tokens sampled."""

    name: str
    runs: tuple[tuple[Evaluation, ...], ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How far the second of two methods is ahead of the first, in one group of twin sets."""

    kind: Kind
    group: str
    metric: Metric
    one: float
    other: float
    ahead: Interval


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The second method less the first, at the same number of sampled tokens."""

    one: str
    other: str
    budget: int
    """Tokens that each had sampled by then, at most."""
    sampled: tuple[tuple[int, ...], tuple[int, ...]]
    """What the runs had really sampled where they are compared."""
    by_seed: bool
    """Runs with the same training seed were compared with each other."""
    differences: tuple[Difference, ...]


def budget_of(methods: Sequence[Method]) -> int:
    """The most tokens that every run of every method has sampled."""
    return min(run[-1].sampled for method in methods for run in method.runs)


def at_budget(run: Sequence[Evaluation], budget: int) -> Evaluation:
    """The last evaluation of a run within a budget of sampled tokens. Raises NothingToCompare."""
    within = [each for each in run if each.sampled <= budget]
    if not within:
        raise NothingToCompare(f"{run[0].who} was first evaluated after {run[0].sampled} sampled tokens, not {budget}")
    return within[-1]


def compare(one: Method, other: Method, budget: int, *, seed: int = 0) -> Comparison:
    """Paired differences over all, and by ring and family, of what none of them left out. Raises NothingToCompare."""
    chosen = [[at_budget(run, budget) for run in method.runs] for method in (one, other)]
    left_out = [name for runs in chosen for each in runs for name in each.left_out]
    chosen = [without(runs, left_out) for runs in chosen]
    sets = [[twin_sets(each.scores) for each in runs] for runs in chosen]
    first = sets[0][0]
    if not first:
        raise NothingToCompare(f"{chosen[0][0].who}: there is no twin set in which no coworker failed")
    for each, found in zip([*chosen[0], *chosen[1]], [*sets[0], *sets[1]], strict=True):
        if played(found) != played(first):
            raise NothingToCompare(f"{chosen[0][0].who} and {each.who} were not tested on the same twin sets")
    by_seed = _same_seeds(*chosen)
    if by_seed:
        sets = [
            [found for _, found in sorted(zip(runs, them), key=lambda each: str(each[0].seed))]
            for runs, them in zip(chosen, sets)
        ]
    wanted = [group for group in groups_of(first) if group.kind != "capability"]
    return Comparison(
        one=one.name,
        other=other.name,
        budget=budget,
        sampled=(tuple(each.sampled for each in chosen[0]), tuple(each.sampled for each in chosen[1])),
        by_seed=by_seed,
        differences=tuple(_difference(group, metric, sets, by_seed, seed) for group in wanted for metric in METRICS),
    )


def _same_seeds(one: Sequence[Evaluation], other: Sequence[Evaluation]) -> bool:
    """Whether both methods were trained with the same seeds, each once."""
    mine, theirs = (sorted(str(each.seed) for each in runs if each.seed is not None) for runs in (one, other))
    return len(mine) == len(one) == len(dict.fromkeys(mine)) and mine == theirs


def _difference(
    group: Chosen, metric: Metric, sets: Sequence[Sequence[Sequence[TwinSet]]], by_seed: bool, seed: int
) -> Difference:
    one, other = ([values_of(filter(group.fits, found), metric) for found in runs] for runs in sets)
    if by_seed:
        ahead = over_seeds([difference(b, a) for a, b in zip(one, other, strict=True)], seed=seed)
    else:
        ahead = between_seeds(other, one, seed=seed)
    return Difference(kind=group.kind, group=group.name, metric=metric, one=_over(one), other=_over(other), ahead=ahead)


def _over(runs: Sequence[Values]) -> float:
    values = [value for run in runs for stratum in run.values() for value in stratum]
    return sum(values) / len(values)
