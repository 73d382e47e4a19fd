"""Intervals: by hand where a hand can, by simulation where only that tells whether they keep their promise."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.bootstrap import NothingToCompare, between_seeds, difference, interval, over_seeds, student

scores = st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 3))
strata = st.dictionaries(st.sampled_from("abcde"), st.lists(scores, min_size=1, max_size=6), min_size=1)


@given(strata)
def test_the_estimate_is_the_mean_over_clusters_and_lies_inside(values):
    found = interval(values, draws=200)
    everything = [value for stratum in values.values() for value in stratum]
    assert found.estimate == pytest.approx(fmean(everything))
    assert found.clusters == len(everything)
    if found.low is not None:
        assert min(everything) - 1e-9 <= found.low <= found.high <= max(everything) + 1e-9


@given(strata, st.randoms(use_true_random=False))
def test_the_order_of_strata_changes_nothing(values, shuffled):
    names = list(values)
    shuffled.shuffle(names)
    assert interval({name: values[name] for name in names}, draws=100) == interval(values, draws=100)


def test_equal_values_have_no_spread_and_one_cluster_has_no_interval():
    found = interval({"a": [0.5, 0.5, 0.5]})
    assert (found.low, found.high) == (0.5, 0.5)
    one = interval({"a": [0.5]})
    assert (one.low, one.high, one.clear) == (None, None, False)


def test_single_clusters_are_drawn_together():
    found = interval({"a": [0.0], "b": [1.0], "c": [0.0], "d": [1.0]})
    assert found.low < 0.5 < found.high


def test_differences_between_strata_are_no_spread():
    apart = interval({"a": [0.0] * 5, "b": [1.0] * 5})
    assert (apart.low, apart.high) == (0.5, 0.5)


def test_scores_that_cannot_be_paired_are_refused():
    with pytest.raises(NothingToCompare, match="same twin sets"):
        difference({"a": [1.0, 0.0]}, {"a": [1.0]})
    with pytest.raises(NothingToCompare, match="no twin set"):
        interval({})


def test_pairing_takes_out_what_both_find_hard():
    draw = Random(3)
    hard = [draw.random() for _ in range(40)]
    better = [min(1.0, value + 0.05) for value in hard]
    paired = interval(difference({"a": better}, {"a": hard}))
    apart = interval({"a": better})
    assert paired.clear
    assert paired.high - paired.low < (apart.high - apart.low) / 5


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, -12.706), (2, -4.303), (3, -3.182), (4, -2.776), (9, -2.262), (30, -2.042)]
)
def test_student(freedom, quantile):
    assert student(0.025, freedom) == pytest.approx(quantile, abs=5e-4)
    assert student(0.975, freedom) == -student(0.025, freedom)


def covered(trials, truth, sample):
    """How often the interval of a sample holds the truth."""
    found = [sample(Random(trial)) for trial in range(trials)]
    return fmean(each.low <= truth <= each.high for each in found)


def test_intervals_over_few_sets_a_family_keep_their_promise():
    """Twin scores are nearly all 0 or 1: eight families of three sets, each as hard as it is."""

    def sample(draw):
        values = {f"f{k}": [float(draw.random() < 0.2 + 0.08 * k) for _ in range(3)] for k in range(8)}
        return interval(values, draws=400)

    assert 0.90 <= covered(300, fmean(0.2 + 0.08 * k for k in range(8)), sample) <= 0.99


def test_intervals_over_training_seeds_keep_their_promise():
    """Runs differ by their seed, sets by how much easier they have become: five seeds, two families of ten sets."""

    def sample(draw):
        sets = {name: [draw.gauss(0, 0.1) for _ in range(10)] for name in "ab"}
        runs = []
        for _ in range(5):
            luck = draw.gauss(0, 0.1)
            runs.append({name: [0.1 + luck + v + draw.gauss(0, 0.1) for v in vs] for name, vs in sets.items()})
        return over_seeds(runs, draws=400)

    assert 0.90 <= covered(200, 0.1, sample) <= 1.0


def test_two_methods_with_seeds_of_their_own():
    def sample(draw):
        hard = [draw.gauss(0, 0.3) for _ in range(20)]

        def runs(gain):
            return [{"a": [v + gain + luck for v in hard]} for luck in [draw.gauss(0, 0.1) for _ in range(5)]]

        return between_seeds(runs(0.2), runs(0.0), draws=400)

    assert 0.90 <= covered(200, 0.2, sample) <= 1.0


def test_one_lucky_seed_is_not_a_claim():
    """The same sets, won in one run of three: sets alone would make it clear."""
    runs = [{"a": [0.6] * 20}, {"a": [0.0] * 20}, {"a": [0.0] * 20}]
    assert not over_seeds(runs).clear
    assert interval({"a": [0.2 + 0.01 * k for k in range(20)]}).clear


def test_it_is_a_function_of_values_and_seed():
    values = {"a": [k * k % 17 / 17 for k in range(20)], "b": [0.0, 1.0, 0.25]}
    found = interval(values, seed=7)
    assert (found.low, found.high) == pytest.approx((0.2612902140261139, 0.5794878235552926), abs=1e-12)
    assert found == interval(dict(reversed(values.items())), seed=7)
    assert found != interval(values, seed=8)
