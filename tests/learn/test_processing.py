"""Processing compares like with like, and its numbers push away from guessing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import factorial, prod, sqrt
from statistics import fmean

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.processing import PROCESSES, Outcome, Process, Unequal, check, clipped, flat, ranked

SCORES = st.integers(-64, 64).map(lambda number: number / 16)
"""Numbers that floats add up without rounding, so that equal scores stay equal."""


@st.composite
def batches(draw: st.DrawFn) -> list[Outcome]:
    """Twin sets, each with one to three twins and as many rollouts of each, in any order."""
    outcomes = []
    for environment in range(draw(st.integers(1, 3))):
        twins, count = draw(st.integers(1, 3)), draw(st.integers(2, 4))
        for twin, _ in product(range(twins), range(count)):
            outcomes.append(Outcome(f"env{environment}", f"twin{twin}" if twin else "", draw(SCORES)))
    return draw(st.permutations(outcomes))


def of_twin(outcomes: Sequence[Outcome], one: Outcome) -> list[int]:
    return [
        place for place, each in enumerate(outcomes) if (each.environment, each.twin) == (one.environment, one.twin)
    ]


def changed(outcomes: Sequence[Outcome], score: Callable[[Outcome], float]) -> list[Outcome]:
    return [msgspec.structs.replace(each, score=score(each)) for each in outcomes]


COMPARING = [name for name in PROCESSES if name != "raw"]


@given(batches())
def test_centred_is_the_score_minus_the_mean_of_the_twins_other_rollouts(outcomes: list[Outcome]) -> None:
    for place, (one, value) in enumerate(zip(outcomes, PROCESSES["centred"](outcomes), strict=True)):
        others = [outcomes[other].score for other in of_twin(outcomes, one) if other != place]
        assert value == pytest.approx(one.score - fmean(others))


@pytest.mark.parametrize("name", COMPARING)
@given(outcomes=batches())
def test_the_values_of_a_twin_add_up_to_nothing(name: str, outcomes: list[Outcome]) -> None:
    values = PROCESSES[name](outcomes)
    for one in outcomes:
        assert sum(values[place] for place in of_twin(outcomes, one)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["centred", "scaled", "batch-scaled"])
@given(outcomes=batches(), shifts=st.lists(SCORES, min_size=9, max_size=9))
def test_a_twin_that_is_easier_for_everybody_changes_nothing(
    name: str, outcomes: list[Outcome], shifts: list[float]
) -> None:
    twins = sorted({(each.environment, each.twin) for each in outcomes})
    easier = changed(outcomes, lambda each: each.score + shifts[twins.index((each.environment, each.twin))])
    assert PROCESSES[name](easier) == pytest.approx(PROCESSES[name](outcomes))


@pytest.mark.parametrize(
    ("name", "factor"), [("raw", 4), ("centred", 4), ("scaled", 1), ("batch-scaled", 1), ("ranked", 1)]
)
@given(outcomes=batches())
def test_scores_on_another_scale_give_values_on_it_or_the_same_ones(
    name: str, factor: int, outcomes: list[Outcome]
) -> None:
    expected = [factor * value for value in PROCESSES[name](outcomes)]
    found = PROCESSES[name](changed(outcomes, lambda each: 4 * each.score))
    assert found == pytest.approx(
        expected, rel=1e-3
    )  # an epsilon is added to the spread, which may be as small as 0.06


@given(batches())
def test_scaled_divides_a_whole_twin_set_by_one_number(outcomes: list[Outcome]) -> None:
    plain, values = PROCESSES["centred"](outcomes), PROCESSES["scaled"](outcomes)
    for name in {each.environment for each in outcomes}:
        places = [place for place, each in enumerate(outcomes) if each.environment == name]
        spread = sqrt(fmean(plain[place] ** 2 for place in places))
        assert [values[place] * (spread + 1e-6) for place in places] == pytest.approx(
            [plain[place] for place in places]
        )
        assert sqrt(fmean(values[place] ** 2 for place in places)) == pytest.approx(float(spread > 0), rel=1e-3)


@given(batches())
def test_batch_scaled_divides_the_whole_batch_by_one_number(outcomes: list[Outcome]) -> None:
    plain, values = PROCESSES["centred"](outcomes), PROCESSES["batch-scaled"](outcomes)
    spread = sqrt(fmean(value**2 for value in plain))
    assert [value * (spread + 1e-6) for value in values] == pytest.approx(plain)


@given(batches())
def test_ranks_depend_on_nothing_but_the_order_of_the_scores_in_the_set(outcomes: list[Outcome]) -> None:
    assert ranked(changed(outcomes, lambda each: each.score**3 + each.score)) == pytest.approx(ranked(outcomes))
    for one, other in product(range(len(outcomes)), repeat=2):
        if other in of_twin(outcomes, outcomes[one]) and outcomes[one].score > outcomes[other].score:
            assert ranked(outcomes)[one] > ranked(outcomes)[other]


@pytest.mark.parametrize("name", PROCESSES)
@given(outcomes=batches(), order=st.randoms(use_true_random=False))
def test_the_order_of_rollouts_does_not_matter(name: str, outcomes: list[Outcome], order: object) -> None:
    places = list(range(len(outcomes)))
    order.shuffle(places)  # type: ignore[attr-defined]
    values = PROCESSES[name](outcomes)
    assert PROCESSES[name]([outcomes[place] for place in places]) == pytest.approx([values[place] for place in places])


@given(batches(), st.sampled_from(["scaled", "ranked", "centred"]))
def test_twin_sets_do_not_hear_of_each_other(outcomes: list[Outcome], name: str) -> None:
    for environment in {each.environment for each in outcomes}:
        own = [each for each in outcomes if each.environment == environment]
        values = [value for each, value in zip(outcomes, PROCESSES[name](outcomes)) if each.environment == environment]
        assert PROCESSES[name](own) == pytest.approx(values)


@given(batches(), st.integers(2, 4))
def test_outcomes_are_compared_within_what_they_are_among_and_scaled_together(
    outcomes: list[Outcome], groups: int
) -> None:
    doubled = [
        msgspec.structs.replace(each, among=f"turn {group}", score=each.score * group)
        for group in range(groups)
        for each in outcomes
    ]
    plain = PROCESSES["centred"](outcomes)
    found = PROCESSES["centred"](doubled)
    assert found == pytest.approx([value * group for group in range(groups) for value in plain])
    spread = sqrt(fmean(value**2 for value in found))
    assert [value * (spread + 1e-6) for value in PROCESSES["batch-scaled"](doubled)] == pytest.approx(found)


@pytest.mark.parametrize("name", COMPARING)
def test_scores_that_differ_by_rounding_alone_teach_nothing(name: str) -> None:
    scores = [0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2]
    if name == "ranked":
        scores = [0.3] * 4  # ranks know no distances: equal scores must come equal
    values = PROCESSES[name]([Outcome("env", "", score) for score in scores])
    assert max(map(abs, values)) < 1e-9


def test_rollouts_that_cannot_be_compared_are_refused_with_a_sentence() -> None:
    with pytest.raises(Unequal, match="env@left has one rollout; a comparison needs at least two"):
        check([Outcome("env", "", 1.0), Outcome("env", "", 0.0), Outcome("env", "left", 1.0)])
    uneven = [Outcome("env", "", 0.0)] * 2 + [Outcome("env", "left", 0.0)] * 3
    for name in COMPARING:
        with pytest.raises(Unequal, match="the twins of env have unequal numbers of rollouts"):
            PROCESSES[name](uneven)


def test_clipped_values_and_flat_sets() -> None:
    assert clipped([-7.0, -0.5, 3.0], 1.0) == [-1.0, -0.5, 1.0]
    assert flat([Outcome("a", "", 1.0), Outcome("a", "x", 1.0), Outcome("b", "", 1.0), Outcome("b", "x", 0.0)]) == 1


# --- guess or ask ------------------------------------------------------------------------------------------

GUESS_0, GUESS_1, ASK = range(3)
REWARDS = ((1.0, 0.0, 0.9), (0.0, 1.0, 0.9))
"""By twin (the hidden fact is 0 or 1) and action."""
HABITS = {
    "undecided": (0.34, 0.33, 0.33),
    "guesses 0": (0.90, 0.05, 0.05),
    "guesses 1": (0.05, 0.90, 0.05),
    "hardly ever asks": (0.60, 0.39, 0.01),
    "guesses 0 nearly always": (0.98, 0.0, 0.02),
}


def drawn(policy: Sequence[float], count: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """How often each action is taken in `count` rollouts, and how probable that is."""
    for counts in product(range(count + 1), repeat=3):
        if sum(counts) == count:
            ways = factorial(count) // prod(map(factorial, counts))
            yield counts, ways * prod(chance**n for chance, n in zip(policy, counts))


def push(process: Process, policy: Sequence[float], count: int = 4, beside: Sequence[Outcome] = ()) -> list[float]:
    """The expected policy gradient of one update, by action and over its probability.

    For a softmax policy p with one logit an action, `d log p(a) / d logit_b = [a = b] - p_b`. Of rollouts i with
    actions a_i and advantages A_i the gradient is `sum_i A_i ([a_i = b] - p_b)`; here divided by p_b, so that for raw
    rewards it is 2 x count x (mean reward of b - mean reward of the policy): what one would like to have. `beside` are
    outcomes of other twin sets in the same batch.
    """
    gradient = [0.0, 0.0, 0.0]
    for (first, one), (second, other) in product(drawn(policy, count), repeat=2):
        if not one * other:
            continue
        actions = [
            (twin, action)
            for twin, counts in enumerate((first, second))
            for action in range(3)
            for _ in range(counts[action])
        ]
        outcomes = [Outcome("bandit", f"fact {twin}", REWARDS[twin][action]) for twin, action in actions]
        for (_, action), value in zip(actions, process([*outcomes, *beside])):
            for logit in range(3):
                gradient[logit] += one * other * value * ((action == logit) - policy[logit])
    return [slope / chance if chance else 0.0 for slope, chance in zip(gradient, policy)]


def standardised_by_twin(outcomes: Sequence[Outcome]) -> list[float]:
    """The known-wrong one: each twin is a set of its own, so each is divided by its own spread."""
    return PROCESSES["scaled"]([Outcome(each.environment + each.twin, "", each.score) for each in outcomes])


def ranked_by_twin(outcomes: Sequence[Outcome]) -> list[float]:
    """Its cousin."""
    return ranked([Outcome(each.environment + each.twin, "", each.score) for each in outcomes])


def limited(outcomes: Sequence[Outcome]) -> list[float]:
    """What an update does by default: the whole batch on one scale, and nothing beyond 5."""
    return clipped(PROCESSES["batch-scaled"](outcomes), 5.0)


DEFAULTS: dict[str, Process] = {
    **{name: PROCESSES[name] for name in ("raw", "centred", "scaled", "batch-scaled")},
    "batch-scaled, clipped": limited,
}


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("name", DEFAULTS)
def test_every_default_pushes_from_guessing_to_asking(name: str, habit: str) -> None:
    """Asking is worth 0.9 whatever the fact is, and a guess 1/2, since the policy cannot see which twin it is in.

    A policy that asks with probability p is worth `m = 0.9 p + 0.5 (1 - p)`. The expected gradient over the probability
    is, up to a positive factor, for asking `0.9 - m = 0.4 (1 - p) > 0` and for a guess `0.5 - m = -0.4 p < 0`. That is
    so for raw scores; and for centred ones, whose baseline is made of other rollouts, independent of the action.
    Divided by one number for both twins, it is still the *sum* over twins of what an action gained that decides.
    """
    policy = HABITS[habit]
    slopes = push(DEFAULTS[name], policy)
    assert slopes[ASK] > 0.1, slopes
    assert all(slopes[guess] < 0 for guess in (GUESS_0, GUESS_1) if policy[guess]), slopes


@pytest.mark.parametrize("name", ["raw", "centred"])
@pytest.mark.parametrize("habit", HABITS)
def test_without_scaling_the_expected_push_is_exact(name: str, habit: str) -> None:
    policy, count = HABITS[habit], 3
    mean = 0.9 * policy[ASK] + 0.5 * (1 - policy[ASK])
    expected = [2 * count * (worth - mean) if chance else 0.0 for worth, chance in zip((0.5, 0.5, 0.9), policy)]
    assert push(PROCESSES[name], policy, count) == pytest.approx(expected)


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("asks", [0.02, 0.3, 0.5])
def test_standardised_by_twin_a_policy_with_one_guess_feels_no_push_at_all(asks: float, count: int) -> None:
    """Let the policy choose between guess 0 and asking, and k of n rollouts of a twin ask.

    Where the fact is 0 the scores are 1 (n - k times) and 0.9, where it is 1 they are 0 and 0.9. Two values that are
    taken n - k and k times standardise to the same two numbers, however far apart they are: asking gets
    `-sqrt((n - k) / k)` in the one twin, since it was the lower, and `+sqrt((n - k) / k)` in the other. k has the same
    distribution in both, the policy being the same, so the expected push is exactly 0: a tenth that was paid weighs as
    much as nine tenths that were gained. Ranks within a twin say as little.
    """
    policy = (1 - asks, 0.0, asks)
    for wrong in (standardised_by_twin, ranked_by_twin):
        assert push(wrong, policy, count)[ASK] == pytest.approx(0, abs=1e-3)
    assert push(PROCESSES["scaled"], policy, count)[ASK] > 0.05


def test_standardised_by_twin_other_habits_feel_little_of_the_push() -> None:
    """With a second guess now and then the cancelling is not exact, but most of the push is gone."""
    for habit in ("guesses 0", "guesses 1"):
        assert abs(push(standardised_by_twin, HABITS[habit])[ASK]) < push(PROCESSES["scaled"], HABITS[habit])[ASK] / 3


@pytest.mark.parametrize("habit", HABITS)
def test_ranks_feel_no_push_either_and_so_are_no_default(habit: str) -> None:
    """Of the scores 1, 0.9, 0 asking is in the middle: one step below a right guess and one above a wrong one.

    Both guesses together are right as often as wrong, over the twins. Turned upside down, the ranks of a set are those
    of the same set with right and wrong exchanged, which is as probable; so asking has the mean rank, whatever is done.
    """
    assert push(ranked, HABITS[habit])[ASK] == pytest.approx(0, abs=1e-9)


def test_the_more_sets_share_one_number_the_less_of_the_push_is_lost() -> None:
    """Where hardly anybody asks, one rollout in the whole set does, and the set's spread is that of its twin alone: so
    `scaled` has the fault of standardising by twin, in part. The spread of a batch does not hang on one rollout."""
    policy, wanted = (0.98, 0.0, 0.02), push(PROCESSES["centred"], (0.98, 0.0, 0.02))[ASK]
    beside = [Outcome(f"set {each}", twin, score) for each in range(7) for twin in ("", "x") for score in (0, 1, 0, 1)]
    spread = sqrt(fmean(value**2 for value in PROCESSES["centred"](beside)))
    assert spread * push(PROCESSES["scaled"], policy, beside=beside)[ASK] < wanted / 4
    assert spread * push(PROCESSES["batch-scaled"], policy, beside=beside)[ASK] > wanted * 0.95
