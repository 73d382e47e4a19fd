"""What evaluations say: every figure by hand, every family shown, and nothing said of what cannot be compared."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.bootstrap import NothingToCompare
from coworkenv.learn.evaluating import (
    FILE,
    FOLDER,
    CheckRate,
    Evaluation,
    evaluations_in,
    kind_of,
    read_evaluation,
    report,
    write_evaluation,
)
from coworkenv.learn.scores import twin_score, twin_sets
from tests.learn.scoring import scored

LOANS = [
    scored("loans/1", 1, trial=0),
    scored("loans/1", 0, trial=1),
    scored("loans/1@lost", "0.8", trial=0),
    scored("loans/1@lost", "0.4", trial=1),
]
LEAVE = [scored("leave/2", "0.3", family="leave"), scored("leave/2@other", "0.9", family="leave")]


def test_the_twin_score_is_the_mean_over_sets_of_the_worst_variant_trials_averaged_first():
    """loans: (1 + 0)/2 = 0.5 and (0.8 + 0.4)/2 = 0.6, so 0.5, not 0; leave: 0.3."""
    assert twin_score(LOANS + LEAVE) == (Fraction("0.5") + Fraction("0.3")) / 2
    loans = next(each for each in twin_sets(LOANS + LEAVE) if each.environment == "loans/1")
    assert (loans.score, loans.pass_rate, loans.variants) == (Fraction("0.55"), Fraction("0.25"), ("", "lost"))


def test_the_same_environment_in_two_rings_is_two_sets():
    assert len(twin_sets([scored("loans/1", 1, ring="R0"), scored("loans/1", 0, ring="R1")])) == 2


@given(st.lists(st.tuples(st.sampled_from(["a", "a@x", "a@y", "b", "b@z"]), st.integers(0, 4)), min_size=1))
def test_the_twin_score_is_never_above_the_score(drawn):
    scores = [scored(name, Fraction(quarter, 4), trial=number) for number, (name, quarter) in enumerate(drawn)]
    for each in twin_sets(scores):
        assert 0 <= each.twin_score <= each.score <= 1
    assert twin_score(scores) == twin_score(list(reversed(scores)))


def test_a_report_shows_everything_that_was_played_and_is_paired():
    mine = Evaluation(who="mine", scores=tuple(LOANS + LEAVE))
    nobody = Evaluation(
        who="noop",
        scores=tuple(
            scored(f"{s.environment}@{s.twin}".rstrip("@"), 0, trial=s.trial, family=s.family) for s in mine.scores
        ),
    )
    found = report([mine, nobody])
    assert [(group.kind, group.name, group.sets) for group in found.groups] == [
        ("all", "all", 2),
        ("ring", "R0", 2),
        ("family", "f", 1),
        ("family", "leave", 1),
        ("capability", "A1", 2),
    ]
    whole = found.groups[0]
    assert whole.values["mine"]["twin score"].estimate == pytest.approx(0.4)
    assert whole.values["noop"]["score"].estimate == 0
    assert whole.ahead["noop"]["twin score"].estimate == pytest.approx(0.4)
    assert found.checks["noop"] == (CheckRate(kind="done", passed=0, of=6), CheckRate(kind="once", passed=6, of=6))
    assert found.totals["mine"] == {"calls": 2, "messages": 1, "tokens": 30, "gated": 0}
    assert report([mine, nobody]) == found


def test_those_who_played_different_sets_are_not_compared():
    with pytest.raises(NothingToCompare, match="a and b were not tested on the same twin sets"):
        report([Evaluation(who="a", scores=tuple(LOANS)), Evaluation(who="b", scores=tuple(LOANS[:2]))])
    with pytest.raises(NothingToCompare, match="same name"):
        report([Evaluation(who="a", scores=tuple(LOANS))] * 2)
    with pytest.raises(NothingToCompare, match="no episode"):
        report([])


def test_what_a_coworker_has_spoilt_for_one_is_reported_of_nobody_and_named():
    mine = Evaluation(who="mine", scores=tuple(LOANS), left_out=("leave/2",))
    other = Evaluation(who="other", scores=tuple(LOANS + LEAVE))
    found = report([mine, other])
    assert found.left_out == ("leave/2",)
    assert found.groups[0].sets == 1
    assert found.checks["other"] == found.checks["mine"]
    assert report([other]).left_out == ()
    with pytest.raises(NothingToCompare, match="in every environment a coworker failed, such as leave/2"):
        report([Evaluation(who="nobody", scores=(), left_out=("leave/2",)), other])


def test_kinds_of_checks():
    names = ["done-t1", "g3-not-t2", "once", "c3-reported-t14", "f2-charge-t5", "d3-outcome-one", "line-3"]
    assert [kind_of(name) for name in names] == [
        "done",
        "g3-not",
        "once",
        "c3-reported",
        "f2-charge",
        "d3-outcome-one",
        "line",
    ]


def test_evaluations_are_read_as_they_were_written(tmp_path):
    thirds = Evaluation(who="m", scores=(scored("loans/1", Fraction(1, 3)),), sampled=1200, seed=3, temperature=0.0)
    write_evaluation(tmp_path / FILE, thirds)
    assert read_evaluation(tmp_path / FILE) == thirds
    assert evaluations_in(tmp_path) == [thirds]


def test_the_evaluations_of_a_run_come_in_the_order_of_its_tokens(tmp_path):
    for sampled in (900, 0, 10_000):
        one = Evaluation(who="m", scores=tuple(LOANS), sampled=sampled)
        write_evaluation(tmp_path / FOLDER / f"{sampled}.json", one)
    assert [each.sampled for each in evaluations_in(tmp_path)] == [0, 900, 10_000]


@pytest.mark.parametrize("content", ["", "{}", '{"who": "m", "scores": [{"score": "1/0"}]}', "[1]"])
def test_a_file_that_is_no_evaluation_is_named(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(NothingToCompare, match=f"{FILE} is no evaluation"):
        read_evaluation(tmp_path / FILE)
