"""Conditions: which event makes one true."""

from __future__ import annotations

import pytest

from coworkenv.worlds.conditions import ConditionError, compile_condition, matcher
from coworkenv.worlds.environment import Condition

from .streams import Stream


def holding(condition: Condition, stream: Stream) -> list[int]:
    """The events with which the condition holds, looking only where it asks to."""
    trigger = compile_condition(condition)
    return [
        event.seq
        for event in stream.events
        if type(event.body) in trigger.kinds and trigger.holds(event, stream.events.__getitem__)
    ]


@pytest.fixture
def stream() -> Stream:
    return Stream()


def test_called_holds_when_a_call_of_the_agent_returns_without_an_error(stream):
    stream.calls("pay", {"amount": 165}, error=True)
    call = stream.calls("pay", {"amount": 165})
    stream.calls("look")
    stream.calls("pay", {"amount": 165}, actor="tomas")
    assert holding(Condition(called="pay"), stream) == [call + 1]


def test_called_with_arguments_compares_them_as_typed_values(stream):
    call = stream.calls("pay", {"amount": "165.00", "order": "O-1", "more": True})
    stream.calls("pay", {"amount": 166, "order": "O-1"})
    stream.calls("pay", {"order": "O-1"})
    stream.calls("pay", [165])
    assert holding(Condition(called="pay", args={"amount": 165, "order": "O-1"}), stream) == [call + 1]


def test_mark_holds_when_a_message_with_it_is_sent_before_anybody_reads_it(stream):
    stream.tells("tomas", "No.", mark="refused")
    sent = stream.tells("tomas", "Yes.", mark="approved", read=False)
    assert holding(Condition(mark="approved"), stream) == [sent]


def test_said_holds_when_the_agent_writes_all_of_it_in_one_message(stream):
    stream.says("O-1, please", "tomas")
    stream.says("for 165", "tomas")
    stream.says("O-1 for €165.00", "lena")
    both = stream.says("O-1 for €165.00", "tomas")
    assert holding(Condition(said="tomas", mentions=("O-1", 165)), stream) == [both]
    assert holding(Condition(said="anyone", mentions=("O-1", 165)), stream) == [both - 1, both]
    assert holding(Condition(said="tomas"), stream) == [0, 1, both]


def test_said_does_not_hold_for_what_others_write(stream):
    stream.tells("lena", "O-1")
    assert holding(Condition(said="agent"), stream) == []


def test_gave_holds_when_the_agent_has_read_the_slot_of_that_person(stream):
    stream.tells("tomas", order="O-1")
    stream.tells("lena", limit=3)
    sent = stream.tells("lena", order=None, read=False)
    read = stream.reads(sent)
    assert holding(Condition(gave="lena.order"), stream) == [read]


def test_fired_holds_when_the_entry_of_the_timeline_fires(stream):
    stream.fires("other")
    fired = stream.fires("change")
    assert holding(Condition(fired="change"), stream) == [fired]


@pytest.mark.parametrize("condition", [Condition(), Condition(mark="a", fired="b")])
def test_a_condition_that_names_not_exactly_one_thing_is_refused(condition):
    with pytest.raises(ConditionError, match=r"exactly|names one"):
        compile_condition(condition)


@pytest.mark.parametrize("value", [None, 3, "x", [], {"b": 1}])
def test_what_lacks_the_field_does_not_match(value):
    assert not matcher({"a": None})(value)
    assert matcher({})(value)
