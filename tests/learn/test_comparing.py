"""Methods against each other, at equal sampled tokens, over training seeds."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import msgspec
import pytest

from coworkenv.learn.bootstrap import NothingToCompare
from coworkenv.learn.comparing import Method, at_budget, budget_of, compare
from coworkenv.learn.evaluating import Evaluation, without
from tests.learn.scoring import scored


def run(gain: float, *, seed: int | None = 0, budgets=(0, 1000, 2000), sets: int = 12, noise: int = 0) -> tuple:
    """A run whose scores rise by `gain` for each thousand tokens, on sets of which each is as hard as it is."""
    found = []
    for sampled in budgets:
        draw = Random(noise + sampled)
        scores = tuple(
            scored(
                f"e{number:02d}",
                Fraction(round(100 * (0.02 * number + gain * sampled / 1000 + draw.gauss(0, 0.01)))) / 100,
                family=f"f{number % 3}",
            )
            for number in range(sets)
        )
        found.append(Evaluation(who=f"run {seed}", scores=scores, seed=seed, sampled=sampled))
    return tuple(found)


def test_what_one_of_them_left_out_is_compared_of_none():
    whole, some = run(0.1), [msgspec.structs.replace(each, left_out=("e03",)) for each in run(0.1)]
    found = compare(Method("whole", (whole,)), Method("some", (tuple(without(some, ["e03"])),)), 2000)
    assert found.differences[0].ahead.clusters == 11
    assert found.differences[0].ahead.estimate == 0
    nothing = tuple(msgspec.structs.replace(each, left_out=tuple(f"e{n:02d}" for n in range(12))) for each in whole)
    with pytest.raises(NothingToCompare, match="no twin set in which no coworker failed"):
        compare(Method("whole", (whole,)), Method("nothing", (nothing,)), 2000)


def test_they_are_compared_where_both_have_sampled_as_much():
    slow = Method("slow", (run(0.1),))
    fast = Method("fast", (run(0.3, budgets=(0, 900)),))
    assert budget_of([slow, fast]) == 900
    found = compare(slow, fast, 900)
    assert found.sampled == ((0,), (900,))
    assert {each.group for each in found.differences} == {"all", "R0", "f0", "f1", "f2"}
    whole = found.differences[0]
    assert whole.ahead.estimate == pytest.approx(whole.other - whole.one)
    assert whole.ahead.clear


def test_runs_with_the_same_seeds_are_paired_whatever_order_they_come_in():
    lucky = {0: 0.3, 1: 0.0, 2: 0.15, 3: 0.2}
    one = Method("one", tuple(run(gain, seed=seed) for seed, gain in lucky.items()))
    other = Method("other", tuple(run(gain + 0.05, seed=seed, noise=9) for seed, gain in reversed(lucky.items())))
    paired = compare(one, other, 2000)
    assert paired.by_seed
    assert paired.differences[0].ahead.clear
    unnamed = Method("other", tuple(run(g + 0.05, seed=None, noise=9) for g in lucky.values()))
    apart = compare(one, unnamed, 2000)
    assert not apart.by_seed
    assert not apart.differences[0].ahead.clear


def test_what_was_first_evaluated_later_cannot_be_compared():
    with pytest.raises(NothingToCompare, match="first evaluated after 500"):
        at_budget(run(0.1, budgets=(500, 900)), 400)


def test_those_who_were_tested_on_other_sets_are_not_compared():
    with pytest.raises(NothingToCompare, match="same twin sets"):
        compare(Method("one", (run(0.1),)), Method("other", (run(0.1, sets=9),)), 1000)
