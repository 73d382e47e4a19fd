"""Standings: missing trials count as nothing, and pass@k and pass^k are the rules' own."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from coworkenv.engine.standings import Graded, standings

scores = st.lists(st.sampled_from([Fraction(0), Fraction(3, 4), Fraction(1)]), min_size=1, max_size=4)
tasks = st.dictionaries(st.sampled_from("abcde"), scores, min_size=1)


def graded(tasks: dict[str, list[Fraction]], rule: str = "claw-eval", agent: str = "m") -> list[Graded]:
    return [Graded(agent, task, rule, score) for task, scores in tasks.items() for score in scores]


@given(tasks, st.integers(1, 4))
def test_standings_are_as_counting_says(tasks: dict[str, list[Fraction]], k: int) -> None:
    [found] = standings(graded(tasks), k)
    whole = {task: [*given, *[Fraction(0)] * (k - len(given))] for task, given in tasks.items()}
    passes = [[score >= Fraction(3, 4) for score in each] for each in whole.values()]
    assert found.environments == len(tasks)
    assert found.mean == sum(sum(each) / len(each) for each in whole.values()) / len(whole)
    assert found.pass_at_1 == sum(Fraction(sum(each), len(each)) for each in passes) / len(passes)
    assert found.pass_hat == sum(Fraction(sum(each), len(each)) ** k for each in passes) / len(passes)
    assert (found.anys, found.alls) == (sum(map(any, passes)), sum(map(all, passes)))
    assert found.averages == sum(sum(each) / len(each) >= Fraction(3, 4) for each in whole.values())
    assert found.missing == sum(max(0, k - len(given)) for given in tasks.values())
    if k <= min(map(len, whole.values())) == max(map(len, whole.values())) == k:
        assert found.pass_at == Fraction(found.anys, len(tasks))


def test_the_best_stands_first_and_each_rule_has_its_own_order() -> None:
    one = graded({"a": [Fraction(1)]}, agent="good") + graded({"a": [Fraction(0)]}, agent="bad")
    other = graded({"a": [Fraction(1, 2)]}, "tau2", "bad")
    found = standings([*other, *one], 1)
    assert [(each.rule, each.agent) for each in found] == [("claw-eval", "good"), ("claw-eval", "bad"), ("tau2", "bad")]
