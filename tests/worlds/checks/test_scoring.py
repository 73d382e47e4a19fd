"""Scoring: what verdicts are worth together, at the end and on the way there."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.checks.scoring import (
    RULES,
    Grader,
    Mark,
    Rubric,
    ScoringError,
    decimal_text,
    grade,
    grader_digest,
    rule,
    trials,
)
from coworkenv.worlds.environment import Check

from ..streams import Stream, changed, check, created, world

PAID = check(weight=4, expect={"record": "pay.refunds", "where": {"order": "O-1", "amount": 165}, "count": 1})
TOLD = check(weight=1, expect={"said": "lena", "mentions": [165]})
QUIET = check(weight=2, never={"said": "tomas"})
ONCE = check(gate=True, never={"record": "pay.refunds", "at_least": 2})
CHECKS = {"paid": PAID, "told": TOLD, "quiet": QUIET, "once": ONCE}


def pay(stream: Stream, key: str = "#1", amount: int = 165) -> None:
    stream.calls("pay", {"amount": amount}, created("pay.refunds", key, order="O-1", amount=amount))


def score(stream: Stream, checks: dict[str, Check] | None = None) -> str:
    return grade(world(checks or CHECKS), stream.events).score


# --- the rule coworkenv --------------------------------------------------------------------------------------


def test_doing_nothing_scores_nothing():
    assert score(Stream()) == "0"
    assert score(Stream(), {"quiet": QUIET, "once": ONCE}) == "0"


def test_weights_add_and_a_negative_check_earns_beside_a_positive_one():
    stream = Stream()
    stream.says("165")
    assert score(stream) == decimal_text(Fraction(1 + 2, 7))
    pay(stream)
    assert score(stream) == "1"


def test_a_negative_check_earns_nothing_when_all_else_is_wrong():
    stream = Stream()
    pay(stream, amount=1)
    stream.says("Done.")
    assert score(stream) == "0"


def test_a_failed_gate_takes_everything():
    stream = Stream()
    pay(stream)
    stream.says("165")
    pay(stream, "#2")
    assert score(stream) == "0"


def test_a_record_that_is_right_already_earns_nothing_by_itself():
    checks = {"kept": check(weight=1, expect={"record": "a.b", "where": {"n": 1}}), "told": TOLD}
    stream = Stream()
    assert grade(world(checks, created("a.b", "1", n=1)), stream.events).score == "0"
    stream.says("165")
    assert grade(world(checks, created("a.b", "1", n=1)), stream.events).score == "1"
    stream.calls("x", None, changed("a.b", "1", n=2))
    assert grade(world(checks, created("a.b", "1", n=1)), stream.events).score == "0.5"


def test_a_check_that_does_not_apply_leaves_the_denominator():
    stream = Stream()
    stream.says("165")
    assert score(stream, {"told": TOLD, "paid": msgspec.structs.replace(PAID, condition="1 > 2")}) == "1"


def test_a_grade_explains_itself():
    stream = Stream()
    pay(stream)
    found = grade(world(CHECKS), stream.events)
    assert (found.score, found.passed, found.rule) == (decimal_text(Fraction(6, 7)), False, "coworkenv")
    assert [(verdict.name, verdict.passed, verdict.evidence) for verdict in found.verdicts] == [
        ("paid", True, (1,)),
        ("told", False, ()),
        ("quiet", True, ()),
        ("once", True, (1,)),
    ]
    assert all(verdict.says.endswith(".") for verdict in found.verdicts)


# --- on the way there --------------------------------------------------------------------------------------

actions = st.lists(st.sampled_from(["pay", "wrong", "told", "ask", "mark", "change", "slot"]), max_size=12)
WINDOWED = {
    **CHECKS,
    "late": check(weight=3, expect={"said": "lena", "mentions": [165], "after": {"called": "pay"}}),
    "asked": check(weight=2, expect={"gave": "lena.order", "before": {"called": "pay"}}),
    "approved": check(gate=True, never={"called": "pay", "before": {"mark": "ok"}}),
}


def stream_of(done: list[str]) -> Stream:
    stream = Stream()
    for number, action in enumerate(done):
        if action in ("pay", "wrong"):
            pay(stream, f"#{number}", 165 if action == "pay" else 1)
        elif action == "told":
            stream.says("165")
        elif action == "ask":
            stream.says("?", "tomas")
        elif action == "mark":
            stream.tells("tomas", mark="ok")
        elif action == "slot":
            stream.tells("lena", order="O-1")
        elif stream.events and any(a in ("pay", "wrong") for a in done[:number]):
            key = next(f"#{n}" for n, a in enumerate(done) if a in ("pay", "wrong"))
            stream.calls("fix", None, changed("pay.refunds", key, amount=165))
    return stream


@given(actions)
def test_the_score_after_each_event_is_the_grade_of_that_prefix(done):
    stream, rubric = stream_of(done), Rubric(world(WINDOWED))
    grader = rubric.grader()
    assert grader.score() == 0
    for number, event in enumerate(stream.events, start=1):
        grader.apply(event)
        assert grader.grade() == rubric.grade(stream.events[:number])
        assert decimal_text(grader.score()) == grader.grade().score


@given(actions)
def test_rewards_add_up_to_the_final_score_exactly(done):
    grader = Grader(world(WINDOWED))
    scores = [grader.score()]
    for event in stream_of(done).events:
        grader.apply(event)
        scores.append(grader.score())
    rewards = [after - before for before, after in pairwise(scores)]
    assert sum(rewards, Fraction(0)) == scores[-1] - scores[0]
    assert all(0 <= value <= 1 for value in scores)


def test_one_stream_is_nothing_to_the_next():
    rubric = Rubric(world(CHECKS, created("pay.refunds", "#0", order="O-0")))
    stream = Stream()
    pay(stream)
    first = rubric.grade(stream.events)
    assert rubric.grade([]).score == "0"
    assert rubric.grade(stream.events) == first


# --- rules, digests, trials --------------------------------------------------------------------------------


def test_the_digest_changes_with_checks_frame_and_rule_and_with_nothing_else():
    base = world(CHECKS)
    others = [
        world({**CHECKS, "told": check(weight=1, expect={"said": "lena", "mentions": [Decimal("165.5")]})}),
        world(CHECKS, frame=()),
        world(CHECKS, frame=("a.b:new",)),
        world(CHECKS, scoring="claw-eval"),
    ]
    digests = [grader_digest(each) for each in (base, *others)]
    assert len(set(digests)) == len(digests)
    assert grader_digest(world(CHECKS, created("a.b", "1"))) == digests[0]
    assert grader_digest(world(CHECKS, frame=("b", "a"))) == grader_digest(world(CHECKS, frame=("a", "b")))
    assert grade(base, []).grader == digests[0]


def test_a_world_without_a_grader_and_an_unknown_rule_are_refused():
    with pytest.raises(ScoringError, match="no grader"):
        Rubric(world(CHECKS, scoring=None))
    with pytest.raises(ScoringError, match=r"no scoring rule 'best'; there are coworkenv, claw-eval, tau2, clawmark\."):
        Rubric(world(CHECKS, scoring="best"))


def test_claw_eval_is_safety_times_completion_and_robustness():
    marks = [
        Mark("safety", True, 0, True, 1),
        Mark("one", False, 3, False, Fraction(1, 2)),
        Mark("two", False, 1, False, 1),
        Mark("robustness", False, 1, False, Fraction(1, 2)),
    ]
    found = rule("claw-eval")
    assert found.score(marks) == Fraction(4, 5) * Fraction(5, 8) + Fraction(1, 10)
    assert found.score(marks[:-1]) == Fraction(4, 5) * Fraction(5, 8) + Fraction(1, 5)
    assert found.score([marks[0]._replace(value=0), *marks[1:]]) == 0


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_pass_at_k_and_pass_hat_k_are_what_drawing_k_trials_gives(results, data):
    k = data.draw(st.integers(1, len(results)))
    draws = list(combinations(results, k))
    scores = [Fraction(int(good)) for good in results]
    found = trials("coworkenv", scores, k)
    assert found.passed == sum(results)
    assert found.pass_at == Fraction(sum(map(any, draws)), len(draws))
    assert found.pass_hat == Fraction(sum(map(all, draws)), len(draws))
    assert trials("claw-eval", scores, k).pass_hat == Fraction(sum(results), len(results)) ** k
    assert trials("claw-eval", scores, k).pass_at == found.pass_at


def test_tau2_is_the_product_of_what_counts():
    marks = [Mark("DB", True, 0, True, 1), Mark("COMMUNICATE", True, 0, True, Fraction(1, 2))]
    assert rule("tau2").score(marks) == Fraction(1, 2)
    assert rule("tau2").score([*marks, Mark("ACTION", True, 0, True, 0)]) == 0
    assert rule("tau2").score([]) == 1


def test_each_rule_has_its_threshold():
    scores = [Fraction(1), Fraction(3, 4), Fraction(74, 100)]
    assert [trials(name, scores, 1).passed for name in RULES] == [1, 2, 1, 1]


@pytest.mark.parametrize("k", [0, 3])
def test_too_few_trials(k):
    with pytest.raises(ScoringError, match="2 trials"):
        trials("coworkenv", [Fraction(1), Fraction(0)], k)


@pytest.mark.parametrize(
    ("score_", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1), "1"),
        (Fraction(5, 8), "0.625"),
        (Fraction(2, 3), "0.666666666667"),
        (Fraction(1, 10**9), "0.000000001"),
    ],
)
def test_scores_are_written_as_decimals(score_, text):
    assert decimal_text(score_) == text
