"""Faults: which call they strike, and what the agent gets."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.event import RecordCreated, ToolError
from coworkenv.worlds.faults import LATE, Faults, decide
from coworkenv.worlds.service import Outcome
from coworkenv.worlds.world import FaultRule

CREATED = RecordCreated(service="po", collection="orders", key="PO-1", value={"id": "PO-1"})
DONE = Outcome(result={"id": "PO-1"}, changes=(CREATED,))
KINDS = ["error", "rate_limit", "timeout", "slow", "partial"]


class Draws:
    """Draws these fractions, one after the other."""

    def __init__(self, *fractions):
        self.left = list(fractions)

    def fraction(self):
        return self.left.pop(0)

    def below(self, n):
        raise AssertionError("faults draw fractions only")


def rule(kind="error", name="f", tool="po.create", **parts):
    return FaultRule(name=name, tool=tool, kind=kind, **parts)


def strikes(rules, *calls, draw=None):
    """The names of the faults that strike calls in order, None where none does."""
    faults = Faults(rules)
    injections = [faults.decide(tool, args, draw or Draws()) for tool, args in calls]
    return [injection and injection.fault for injection in injections]


CALL = ("po.create", {"sku": "K-5", "quantity": 15})

# --- which call -------------------------------------------------------------------------------------------


def test_a_rule_strikes_its_tool_alone():
    assert strikes([rule()], CALL, ("po.find", {}), CALL) == ["f", None, "f"]


def test_the_nth_call_is_counted_among_those_that_match():
    rules = [rule(nth=2, args={"sku": "K-5"})]
    assert strikes(rules, CALL, ("po.create", {"sku": "K-1"}), CALL, CALL) == [None, None, "f", None]


@pytest.mark.parametrize("quantity", [15, Decimal("15.0")])
def test_arguments_are_compared_as_typed_values(quantity):
    assert strikes([rule(args={"quantity": 15})], ("po.create", {"quantity": quantity})) == ["f"]


@pytest.mark.parametrize("args", [{}, None, [], "x", {"sku": None}, {"sku": ["K-5"]}])
def test_calls_without_these_arguments_are_left_alone(args):
    assert strikes([rule(args={"sku": "K-5"})], ("po.create", args)) == [None]


def test_the_first_rule_that_strikes_decides_and_all_count():
    rules = [rule(name="second", nth=2), rule(name="first", nth=1), rule(name="third", nth=3), rule(name="late", nth=3)]
    assert strikes(rules, CALL, CALL, CALL) == ["first", "second", "third"]


def test_a_chance_is_drawn_for_each_matching_call():
    draw = Draws(0.1, 0.3, 0.29)
    assert strikes([rule(chance=0.3)], CALL, ("po.find", {}), CALL, CALL, draw=draw) == ["f", None, None, "f"]
    assert draw.left == []


def test_draws_do_not_depend_on_what_other_rules_do():
    draw = Draws(0.9, 0.1)
    assert strikes([rule(name="always"), rule(name="rare", chance=0.5)], CALL, CALL, draw=draw) == ["always", "always"]
    assert draw.left == []


@given(st.lists(st.sampled_from([CALL, ("po.create", {"sku": "K-1"}), ("po.find", {})]), max_size=8))
def test_deciding_is_a_function_of_the_counts(calls):
    rules = (rule(name="a", nth=2), rule(name="b", args={"sku": "K-5"}, nth=3), rule(name="c", tool="po.find"))
    faults, seen = Faults(rules), ()
    for tool, args in calls:
        injection, seen = decide(rules, seen, tool, args, Draws())
        assert faults.decide(tool, args, Draws()) == injection
        assert faults.seen == seen
    assert sum(seen) >= len(calls) or not calls


# --- what comes of it --------------------------------------------------------------------------------------


def injected(kind, **parts):
    injection, _ = decide([rule(kind, **parts)], (), *CALL, Draws())
    assert injection is not None
    return injection


@pytest.mark.parametrize(
    ("kind", "error", "status"),
    [("error", "server_error", 500), ("timeout", "timeout", None), ("rate_limit", "rate_limited", 429)],
)
def test_a_call_that_fails_before_it_arrives_changes_nothing(kind, error, status):
    injection = injected(kind)
    outcome = injection.outcome()
    assert not injection.reaches
    assert (outcome.error.type, outcome.error.status, outcome.changes, outcome.result) == (error, status, (), None)


@pytest.mark.parametrize("kind", ["error", "timeout"])
def test_a_call_that_fails_afterwards_has_happened_and_looks_the_same(kind):
    injection = injected(kind, applied=True)
    outcome = injection.applied_to(DONE)
    assert injection.reaches
    assert outcome.changes == DONE.changes
    assert outcome.result is None
    assert outcome.error == injected(kind).outcome().error
    assert "not known" in outcome.error.message


def test_a_rate_limit_says_when_to_come_back_and_is_never_applied():
    injection = injected("rate_limit", applied=True, retry_after=90_500_000)
    assert not injection.reaches
    assert injection.outcome().error == ToolError(
        type="rate_limited",
        message="Too many requests: nothing was done. Try again in 91 seconds.",
        status=429,
        retry_after=90_500_000,
    )
    assert injected("rate_limit").outcome().error.retry_after == LATE


@pytest.mark.parametrize("kind", ["slow", "timeout"])
def test_late_calls_are_late_even_if_nobody_says_how_much(kind):
    assert injected(kind).delay == LATE
    assert injected(kind, delay=5).delay == 5
    assert injected("error").delay == 0


def test_a_slow_call_is_only_slow():
    injection = injected("slow", delay=7)
    assert injection.reaches
    assert injection.applied_to(DONE) is DONE


@pytest.mark.parametrize(
    ("result", "cut"),
    [
        ([1, 2, 3, 4], {"items": [1, 2], "partial": True}),
        ([1], {"items": [], "partial": True}),
        ({"items": [1, 2, 3], "next": "2"}, {"items": [1], "next": "2", "partial": True}),
        ({"total": 2, "messages": ["a", "b"]}, {"total": 2, "messages": ["a"], "partial": True}),
        ({"id": "PO-1"}, {"id": "PO-1"}),
        ("text", "text"),
        (None, None),
    ],
)
def test_a_partial_answer_has_the_first_half_and_says_so(result, cut):
    assert injected("partial").applied_to(Outcome(result=result)) == Outcome(result=cut)


def test_a_partial_answer_leaves_an_error_as_it_is():
    error = Outcome(error=ToolError(type="not_found", message="There is no such record."))
    assert injected("partial").applied_to(error) == error


@given(st.sampled_from(KINDS), st.booleans(), st.integers(0, 10**9))
def test_changes_are_kept_exactly_where_the_call_arrived(kind, applied, delay):
    injection = injected(kind, applied=applied, delay=delay)
    outcome = injection.applied_to(DONE) if injection.reaches else injection.outcome()
    assert outcome.changes == (DONE.changes if injection.reaches else ())
    assert injection.delay >= delay
