"""Credit: every way against a definition that is written down naively."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import sqrt
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.credit import (
    CREDITS,
    NothingToCompare,
    Rollout,
    by_values,
    from_forks,
    gae,
    information_states,
    progress,
    return_to_go,
    returns,
    turn_groups,
    uniform,
)
from coworkenv.learn.decisions import Decision, Trajectory
from coworkenv.learn.processing import PROCESSES, Outcome, Unequal, clipped

NUMBERS = st.integers(-16, 16).map(lambda number: number / 8)
SHARES = st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
CENTRED, RAW = PROCESSES["centred"], PROCESSES["raw"]


def trajectory(turns: Sequence[tuple[int, int]], environment: str = "env", twin: str = "", cut: int = 0) -> Trajectory:
    """What the agent reads before each decision, and writes in it. After `cut` decisions a new segment begins."""
    segments: list[list[int]] = [[]]
    decisions: list[Decision] = []
    for number, (read, wrote) in enumerate(turns):
        if cut and number == cut:
            segments.append(list(segments[-1]))  # the same prompt as it would be without
        segments[-1].append(read)
        start = len(segments[-1])
        segments[-1].append(wrote)
        decisions.append(Decision(seq=number, resolved=number, segment=len(segments) - 1, start=start, stop=start + 1))
    return Trajectory(
        episode="",
        environment=environment,
        twin=twin,
        segments=tuple(map(tuple, segments)),
        decisions=tuple(decisions),
    )


@st.composite
def rollouts(draw: st.DrawFn, kinds: int = 2) -> list[Rollout]:
    """Rollouts of one or two twin sets, with few different things to read and to write, so that states recur."""
    found, gamma = [], draw(SHARES)
    for environment in range(draw(st.integers(1, 2))):
        twins, count = draw(st.integers(1, 2)), draw(st.integers(2, 4))
        for twin in range(twins):
            for _ in range(count):
                length = draw(st.integers(1, 4))
                turns = [(draw(st.integers(0, kinds - 1)), draw(st.integers(0, kinds - 1))) for _ in range(length)]
                path = trajectory(turns, f"env{environment}", "x" * twin, cut=draw(st.integers(0, 2)))
                rewards = tuple(draw(st.lists(NUMBERS, min_size=length, max_size=length)))
                found.append(Rollout(trajectory=path, rewards=rewards, gamma=gamma))
    return draw(st.permutations(found))


def relatives(found: Sequence[Rollout], one: Rollout) -> list[Rollout]:
    """The other rollouts of the same twin."""
    return [
        other
        for other in found
        if other is not one
        and (other.trajectory.environment, other.trajectory.twin) == (one.trajectory.environment, one.trajectory.twin)
    ]


def left(rollout: Rollout, turn: int) -> float:
    """The return from a decision on, as it is defined."""
    return sum(rollout.gamma ** (later - turn) * rollout.rewards[later] for later in range(turn, len(rollout.rewards)))


# --- returns and values ------------------------------------------------------------------------------------


@given(st.lists(NUMBERS, max_size=6), SHARES)
def test_returns_are_discounted_sums(rewards: list[float], gamma: float) -> None:
    expected = [sum(gamma ** (j - k) * rewards[j] for j in range(k, len(rewards))) for k in range(len(rewards))]
    assert returns(rewards, gamma) == pytest.approx(expected)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), SHARES, SHARES)
def test_gae_is_the_weighted_mean_of_advantages_over_all_horizons(
    pairs: list[tuple[float, float]], gamma: float, lam: float
) -> None:
    """Schulman et al. 2016, eq. 11 to 16: over n steps `A^n = sum_(l < n) gamma^l r_(k+l) + gamma^n V_(k+n) - V_k`, and
    `A = (1 - lam) sum_(n >= 1) lam^(n-1) A^n`, where all horizons beyond the end are the same."""
    rewards, values = [one for one, _ in pairs], [other for _, other in pairs]
    after = [*values, 0.0]

    def ahead(k: int, n: int) -> float:
        return sum(gamma**step * rewards[k + step] for step in range(n)) + gamma**n * after[k + n] - after[k]

    for k, found in enumerate(gae(rewards, values, gamma, lam)):
        rest = len(rewards) - k
        expected = sum((1 - lam) * lam ** (n - 1) * ahead(k, n) for n in range(1, rest)) + lam ** (rest - 1) * ahead(
            k, rest
        )
        assert found == pytest.approx(expected)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), SHARES)
def test_gae_at_its_ends_is_one_step_or_the_whole_return(pairs: list[tuple[float, float]], gamma: float) -> None:
    rewards, values = [one for one, _ in pairs], [other for _, other in pairs]
    whole = [total - value for total, value in zip(returns(rewards, gamma), values)]
    assert gae(rewards, values, gamma, 1.0) == pytest.approx(whole)
    one = [reward + gamma * after - value for reward, value, after in zip(rewards, values, [*values[1:], 0.0])]
    assert gae(rewards, values, gamma, 0.0) == pytest.approx(one)


@given(rollouts())
def test_by_values_uses_each_rollouts_own_discount(found: list[Rollout]) -> None:
    values = [[0.5] * len(rollout.rewards) for rollout in found]
    credit = by_values(found, values, lam=0.5)
    for rollout, row in zip(found, credit.advantages, strict=True):
        assert row == gae(rollout.rewards, [0.5] * len(row), rollout.gamma, 0.5)
    with pytest.raises(ValueError):
        by_values(found, [row[1:] for row in values])


# --- whole rollouts, and what is left ----------------------------------------------------------------------


@given(rollouts())
def test_uniform_gives_every_decision_the_return_of_its_rollout_beside_the_others(found: list[Rollout]) -> None:
    for rollout, row in zip(found, uniform(found, CENTRED).advantages, strict=True):
        expected = left(rollout, 0) - fmean(left(other, 0) for other in relatives(found, rollout))
        assert row == pytest.approx([expected] * len(rollout.rewards))


@given(rollouts())
def test_return_to_go_is_what_is_left_beside_what_is_left_for_others_at_that_turn(found: list[Rollout]) -> None:
    for rollout, row in zip(found, return_to_go(found, CENTRED).advantages, strict=True):
        for turn, value in enumerate(row):
            others = [left(other, min(turn, len(other.rewards) - 1)) for other in relatives(found, rollout)]
            assert value == pytest.approx(left(rollout, turn) - fmean(others))


@given(rollouts(), st.lists(NUMBERS, min_size=16, max_size=16))
@pytest.mark.parametrize("process", ["centred", "ranked"])
def test_where_all_is_earned_at_the_end_return_to_go_is_uniform(
    process: str, found: list[Rollout], scores: list[float]
) -> None:
    ended = [
        Rollout(trajectory=one.trajectory, rewards=(*[0.0] * (len(one.rewards) - 1), score))
        for one, score in zip(found, scores)
    ]
    if process == "ranked":  # among turns that are all the same, ranks are as among whole rollouts but for their number
        ended = [one for one in ended if len(one.rewards) == len(ended[0].rewards)]
        if any(not relatives(ended, one) for one in ended) or len({len(relatives(ended, one)) for one in ended}) > 1:
            return
    got, expected = return_to_go(ended, PROCESSES[process]), uniform(ended, PROCESSES[process])
    if process == "centred":
        assert got.advantages == tuple(pytest.approx(row) for row in expected.advantages)
    else:
        signs = [[value > 1e-9 for value in row] for row in got.advantages]
        assert signs == [[value > 1e-9 for value in row] for row in expected.advantages]


@given(rollouts())
def test_progress_is_what_a_decision_earned_beside_others_at_that_turn(found: list[Rollout]) -> None:
    for rollout, row in zip(found, progress(found, CENTRED).advantages, strict=True):
        for turn, value in enumerate(row):
            others = [other.rewards[turn] if turn < len(other.rewards) else 0.0 for other in relatives(found, rollout)]
            assert value == pytest.approx(rollout.rewards[turn] - fmean(others))


# --- information states ------------------------------------------------------------------------------------


def known(rollout: Rollout, turn: int) -> tuple[object, ...]:
    """All that may tell an information state from another, itself."""
    path = rollout.trajectory
    return path.environment, path.twin, path.prompt(path.decisions[turn])


@given(rollouts())
def test_two_states_are_the_same_exactly_if_the_same_was_seen_in_the_same_twin(found: list[Rollout]) -> None:
    names: dict[tuple[object, ...], bytes] = {}
    for rollout in found:
        for turn, state in enumerate(information_states(rollout.trajectory)):
            assert names.setdefault(known(rollout, turn), state) == state
    assert len(set(names.values())) == len(names)


@given(rollouts())
def test_turn_groups_compare_first_visits_of_a_state_and_count_what_is_not_comparable(found: list[Rollout]) -> None:
    credit, otherwise = turn_groups(found, CENTRED), return_to_go(found, CENTRED)
    fallbacks = 0
    for number, rollout in enumerate(found):
        states = [known(rollout, turn) for turn in range(len(rollout.rewards))]
        for turn, state in enumerate(states):
            others = []
            for other in found:
                visits = [k for k in range(len(other.rewards)) if known(other, k) == state]
                if other is not rollout and visits:
                    others.append(left(other, visits[0]))
            if others and states.index(state) == turn:
                expected = left(rollout, turn) - fmean(others)
            else:
                fallbacks += 1
                expected = otherwise.advantages[number][turn]
            assert credit.advantages[number][turn] == pytest.approx(expected)
    assert credit.fallbacks == fallbacks


def test_a_rollout_that_is_in_a_state_again_is_counted_there_once() -> None:
    """The context was cut, and what is left of it is what stood there in the beginning."""
    decisions = tuple(Decision(seq=k, resolved=k, segment=k, start=2, stop=3) for k in range(2))
    again = Trajectory(episode="", environment="e", twin="", segments=((7, 8, 1), (7, 8, 2)), decisions=decisions)
    one = (Decision(seq=0, resolved=0, segment=0, start=2, stop=3),)
    once = Trajectory(episode="", environment="e", twin="", segments=((7, 8, 3),), decisions=one)
    found = [Rollout(trajectory=again, rewards=(1.0, 2.0)), Rollout(trajectory=once, rewards=(5.0,))]
    assert len(set(information_states(again) + information_states(once))) == 1
    credit = turn_groups(found, CENTRED)
    assert credit.fallbacks == 1
    assert credit.advantages == ((3.0 - 5.0, 2.0 - 5.0), (5.0 - 3.0,))


# --- one scale for a set -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["return-to-go", "turn-groups", "progress"])
@given(found=rollouts())
def test_scaling_multiplies_all_advantages_of_a_twin_set_by_one_number(name: str, found: list[Rollout]) -> None:
    """No turn and no state has a scale of its own: where nearly all is decided, noise would be made as large as what
    decides."""
    plain, values = CREDITS[name](found, CENTRED).advantages, CREDITS[name](found, PROCESSES["scaled"]).advantages
    for environment in {each.trajectory.environment for each in found}:
        rows = [place for place, each in enumerate(found) if each.trajectory.environment == environment]
        pairs = [pair for place in rows for pair in zip(plain[place], values[place])]
        factors = [scaled / centred for centred, scaled in pairs if abs(centred) > 1e-9]
        assert factors == pytest.approx([max(factors, default=0.0)] * len(factors))


@pytest.mark.parametrize("name", CREDITS)
@given(found=rollouts())
def test_the_credit_of_a_twin_set_does_not_depend_on_other_sets_in_the_batch(name: str, found: list[Rollout]) -> None:
    for process in (CENTRED, PROCESSES["scaled"], PROCESSES["ranked"]):
        whole = CREDITS[name](found, process)
        for environment in {each.trajectory.environment for each in found}:
            own = [each for each in found if each.trajectory.environment == environment]
            rows = [row for each, row in zip(found, whole.advantages) if each.trajectory.environment == environment]
            assert CREDITS[name](own, process).advantages == tuple(pytest.approx(row) for row in rows)


@pytest.mark.parametrize("name", CREDITS)
@pytest.mark.parametrize("process", PROCESSES)
@given(found=rollouts())
def test_there_is_one_finite_advantage_for_each_decision(name: str, process: str, found: list[Rollout]) -> None:
    limited = partial(limit, process)
    rows = CREDITS[name](found, limited).advantages
    assert [len(row) for row in rows] == [len(each.trajectory.decisions) for each in found]
    assert all(abs(value) <= 2.0 for row in rows for value in row)
    assert CREDITS[name]([], limited).advantages == ()


def limit(process: str, outcomes: Sequence[Outcome]) -> list[float]:
    return clipped(PROCESSES[process](outcomes), 2.0)


@pytest.mark.parametrize("name", CREDITS)
def test_twins_in_unequal_numbers_are_refused(name: str) -> None:
    base, twin = trajectory([(1, 2)]), trajectory([(1, 2)], twin="x")
    paths = [base, base, twin, twin, twin]
    with pytest.raises(Unequal):
        CREDITS[name]([Rollout(trajectory=path, rewards=(1.0,)) for path in paths], CENTRED)


# --- forks -------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(NUMBERS, min_size=1, max_size=4), min_size=2, max_size=5))
def test_forks_credit_a_decision_with_what_it_did_to_the_expectation(before: list[list[float]]) -> None:
    means = [fmean(scores) for scores in before]
    advantages = from_forks(before)
    assert advantages == pytest.approx([means[k + 1] - means[k] for k in range(len(before) - 1)])
    assert sum(advantages) == pytest.approx(means[-1] - means[0])
    even = [[0.5] * len(scores) for scores in before]
    assert from_forks(before, even) == pytest.approx(advantages)


def test_forks_of_another_policy_are_weighted() -> None:
    """Continuations were sampled with the coin at 1/2; the policy that is trained has it at 3/4 for 1."""
    coin = [1.0, 0.0]
    assert from_forks([coin, [1.0]], [[0.75 / 0.5, 0.25 / 0.5], [1.0]]) == pytest.approx([0.25])


def test_a_decision_without_continuations_is_not_guessed_at() -> None:
    with pytest.raises(NothingToCompare, match="before decision 1"):
        from_forks([[1.0], [], [1.0]])
    with pytest.raises(NothingToCompare, match="before decision 0"):
        from_forks([[1.0], [1.0]], [[0.0], [1.0]])


def test_forks_recover_the_advantages_of_a_small_tree() -> None:
    """Two decisions between left and right, each with chance 1/2; 1 is earned by left twice. V is 1/4, 1/2, 1."""
    assert from_forks([[1, 0, 0, 0], [1, 0], [1]]) == (0.25, 0.5)
    assert from_forks([[1, 0, 0, 0], [0, 0], [0]]) == (-0.25, 0.0)


def test_with_infinitely_many_rollouts_groups_say_what_forks_say() -> None:
    """All 4 paths of that tree, often: what a state's group says of a decision is its true advantage."""
    paths = [(one, other) for one in (0, 1) for other in (0, 1)] * 500
    found = [
        Rollout(trajectory=trajectory([(9, one), (9, other)]), rewards=(0.0, float(one == other == 0)))
        for one, other in paths
    ]
    credit = turn_groups(found, CENTRED)
    assert credit.fallbacks == 0
    mean = {
        path: [fmean(row[k] for p, row in zip(paths, credit.advantages) if p == path) for k in (0, 1)] for path in paths
    }
    assert fmean([mean[0, 0][0], mean[0, 1][0]]) == pytest.approx(0.25, abs=1e-2)
    assert [mean[0, 0][1], mean[0, 1][1], mean[1, 0][1]] == pytest.approx([0.5, -0.5, 0.0], abs=1e-2)
    assert sqrt(fmean(value**2 for row in credit.advantages for value in row)) < 1
