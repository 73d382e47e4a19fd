"""Intervals for scores of twin sets and for differences between them: a cluster bootstrap, and over training seeds.

Knows values of clusters in strata, and how they are drawn again. Does not know what a value is, or torch. Everything
is a function of the values and a seed: the same on every machine, in every order.

* **Paired**: of two who were tested on the same twin sets, the differences within sets are drawn, not their scores.
* **Cluster**: episodes of one twin set (its twins, their trials) stand or fall together, so sets are drawn whole.
* **Strata**: as many sets of each family are drawn as count in the whole, so no draw is a set without some family. Of
  the `n` sets of a family `n - 1` are drawn: drawing `n` would make intervals too narrow by `(n - 1) / n`, which for
  two sets is half the variance (McCarthy & Snowden 1985; Rao & Wu 1988). Families with one set share a stratum.
* **Two levels**: where runs with several training seeds stand behind a claim, seeds are drawn as well as sets, each
  independently of the other (Owen 2007, "The pigeonhole bootstrap"; it errs towards too wide).
* **Expanded percentiles** (Hesterberg 2015, "What teachers should know about the bootstrap"): percentiles of few
  values are too narrow, as normal quantiles in place of Student's would be; the tails are taken further out.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import shake_256
from statistics import NormalDist, fmean
from typing import TypeAlias

import msgspec

from ..events.codec import to_json

DRAWS = 2000
"""Of a bootstrap. Percentiles of so many move by about 3 % of the interval's width from seed to seed."""
LEVEL = 0.95

Values: TypeAlias = Mapping[str, Sequence[float]]
"""By stratum, the value of each of its clusters, in an order of their own that is the same for all who are compared."""


class Interval(msgspec.Struct, frozen=True):
    """An estimate, and between which values it lies at `LEVEL`. Without at least two clusters there are none."""

    estimate: float
    low: float | None
    high: float | None
    clusters: int
    seeds: int = 1

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class NothingToCompare(ValueError):
    """No cluster, or clusters that are not the same for all."""


def interval(values: Values, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0) -> Interval:
    """The mean over clusters, each counting the same. Raises NothingToCompare for none."""
    return over_seeds([values], draws=draws, level=level, seed=seed)


def over_seeds(runs: Sequence[Values], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0) -> Interval:
    """The mean over runs and clusters, where `runs` differ in their training seed: values of the same clusters each.

    One run is taken as it is: its interval says nothing of other training seeds. To compare two methods, give the
    differences of runs with the same seed. Raises NothingToCompare.
    """
    strata = _pooled(runs)
    clusters = sum(len(stratum[0]) for stratum in strata)
    estimate = fmean(value for stratum in strata for run in stratum for value in run)
    freedom = min([clusters - len(strata), *([len(runs) - 1] if len(runs) > 1 else [])])
    if freedom < 1:
        return Interval(estimate, None, None, clusters, len(runs))
    drawn = sorted(_draws(strata, draws, seed))
    tail = NormalDist().cdf(student((1 - level) / 2, freedom))
    return Interval(estimate, _quantile(drawn, tail), _quantile(drawn, 1 - tail), clusters, len(runs))


def between_seeds(
    one: Sequence[Values], other: Sequence[Values], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> Interval:
    """The mean of `one` less the mean of `other`, two methods whose runs have training seeds of their own.

    Sets are paired, runs are not: each method's are drawn by themselves. Raises NothingToCompare.
    """
    if len(one) == len(other) == 1:
        return interval(difference(one[0], other[0]), draws=draws, level=level, seed=seed)
    strata = _pooled([*one, *other])
    mine, theirs = [stratum[: len(one)] for stratum in strata], [stratum[len(one) :] for stratum in strata]
    clusters = sum(len(stratum[0]) for stratum in strata)
    estimate = fmean(v for s in mine for run in s for v in run) - fmean(v for s in theirs for run in s for v in run)
    several = [len(runs) - 1 for runs in (one, other) if len(runs) > 1]
    freedom = min(clusters - len(strata), *several)
    seeds = min(len(one), len(other))
    if freedom < 1:
        return Interval(estimate, None, None, clusters, seeds)
    # The same seed for both draws the same sets; runs are drawn under names of their own.
    pairs = zip(_draws(mine, draws, seed, "one"), _draws(theirs, draws, seed, "other"), strict=True)
    drawn = sorted(first - second for first, second in pairs)
    tail = NormalDist().cdf(student((1 - level) / 2, freedom))
    return Interval(estimate, _quantile(drawn, tail), _quantile(drawn, 1 - tail), clusters, seeds)


def difference(one: Values, other: Values) -> dict[str, list[float]]:
    """Cluster by cluster, `one` less `other`. Raises NothingToCompare where they are not of the same clusters."""
    if {name: len(values) for name, values in one.items()} != {name: len(values) for name, values in other.items()}:
        raise NothingToCompare("the two were not tested on the same twin sets, so their scores cannot be paired")
    return {name: [a - b for a, b in zip(values, other[name], strict=True)] for name, values in one.items()}


def student(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution with so many degrees of freedom, by bisection."""
    if probability > 0.5:
        return -student(1 - probability, freedom)
    low, high = -1e6, 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_cdf(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


def _student_cdf(t: float, freedom: int) -> float:
    """P(T ≤ t): the finite sums for whole degrees of freedom (Abramowitz & Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cos, sin = math.cos(angle), math.sin(angle)
    term = cos if freedom % 2 else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cos * cos * (k - 1) / k
        total += term
    inside = 2 / math.pi * (angle + sin * total) if freedom % 2 else sin * total
    return (1 + inside) / 2


# --- drawing -----------------------------------------------------------------------------------------------


def _pooled(runs: Sequence[Values]) -> list[list[list[float]]]:
    """For each stratum and run, the clusters' values. Strata of one cluster are put together, or into the smallest."""
    if not runs or not any(runs[0].values()):
        raise NothingToCompare("there is no twin set to draw from")
    shape = {name: len(values) for name, values in runs[0].items()}
    for run in runs:
        if {name: len(values) for name, values in run.items()} != shape:
            raise NothingToCompare("runs are compared that were not tested on the same twin sets")
    names = sorted(name for name, size in shape.items() if size > 1)
    single = sorted(name for name, size in shape.items() if size == 1)
    groups = [[name] for name in names]
    if len(single) == 1 and groups:
        min(groups, key=lambda group: shape[group[0]]).extend(single)
    elif single:
        groups.append(single)
    return [[[value for name in group for value in run[name]] for run in runs] for group in groups]


def _draws(strata: Sequence[Sequence[Sequence[float]]], draws: int, seed: int, which: str = "") -> list[float]:
    """The mean of each draw: of sets anew in each stratum, and, of several runs, of runs anew."""
    runs = len(strata[0])
    total = sum(len(stratum[0]) for stratum in strata)
    means = [0.0] * draws
    chosen = _places(seed, f"runs {which}", runs, runs - 1, draws) if runs > 1 else None
    for number, stratum in enumerate(strata):
        size = len(stratum[0])
        taken = size - 1 or 1
        sets = _places(seed, f"sets {number}", size, taken, draws)
        weight = size / (total * taken)
        if chosen is None:
            [values] = stratum
            for draw in range(draws):
                means[draw] += weight * sum([values[place] for place in sets[draw]])
        else:
            for draw in range(draws):
                places, picked = sets[draw], chosen[draw]
                means[draw] += weight * sum([stratum[run][p] for run in picked for p in places]) / len(picked)
    return means


@lru_cache(64)
def _places(seed: int, purpose: str, below: int, count: int, draws: int) -> list[tuple[int, ...]]:
    """`draws` times `count` numbers in [0, below). 32 bits each, scaled: uneven by less than `below` / 2^32."""
    bits = shake_256(to_json([seed, purpose, below, count])).digest(4 * count * draws)
    numbers = [(word * below) >> 32 for word in struct.unpack(f">{count * draws}I", bits)]
    return [tuple(numbers[start : start + count]) for start in range(0, len(numbers), count)]


def _quantile(ordered: Sequence[float], probability: float) -> float:
    """Between the two nearest values, in proportion."""
    place = probability * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
