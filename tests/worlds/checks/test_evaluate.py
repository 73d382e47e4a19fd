"""Checks: when each kind of claim holds, what shows it, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest

from coworkenv.events.event import RecordCreated
from coworkenv.worlds.checks.evaluate import CheckError, Examination, Sheet, Verdict

from ..streams import Stream, changed, check, created, deleted

ORDERS = (
    created("po.orders", "PO-1", sku="K-1", qty=9, note="For the workshop, 12 March"),
    created("po.orders", "PO-2", sku="K-2", qty=9),
)


def verdict(stream: Stream, *initial: RecordCreated, **parts: Any) -> Verdict:
    """The verdict on one check after a stream; the same after each event and at the end."""
    if "gate" not in parts:
        parts["weight"] = 1
    sheet = Sheet({"c": check(**parts)}, initial)
    at_the_end, all_along = Examination(sheet), Examination(sheet)
    for event in stream.events:
        at_the_end.apply(event)
        all_along.apply(event)
        all_along.standing()
    assert all_along.verdicts() == at_the_end.verdicts()
    return at_the_end.verdicts()[0]


def passes(stream: Stream, *initial: RecordCreated, **parts: Any) -> bool:
    return verdict(stream, *initial, **parts).passed


@pytest.fixture
def stream() -> Stream:
    return Stream()


# --- records -----------------------------------------------------------------------------------------------


def test_records_are_those_of_the_final_state(stream):
    claim = {"record": "po.orders", "where": {"sku": "K-3", "qty": 26}}
    assert not passes(stream, *ORDERS, expect=claim)
    stream.calls("x", None, created("po.orders", "PO-3", sku="K-3", qty="26"))
    assert passes(stream, *ORDERS, expect=claim)
    stream.calls("x", None, changed("po.orders", "PO-3", qty=25))
    assert not passes(stream, *ORDERS, expect=claim)
    stream.calls("x", None, changed("po.orders", "PO-3", qty=26))
    stream.calls("x", None, deleted("po.orders", "PO-3"))
    assert not passes(stream, *ORDERS, expect=claim)


@pytest.mark.parametrize(
    ("limits", "numbers"),
    [
        ({}, {1, 2, 3}),
        ({"count": 2}, {2}),
        ({"count": 0}, {0}),
        ({"at_least": 2}, {2, 3}),
        ({"at_most": 1}, {0, 1}),
        ({"at_least": 1, "at_most": 2}, {1, 2}),
    ],
)
def test_how_many_there_must_be_and_must_not_be(limits, numbers):
    for number in range(4):
        stream = Stream()
        for n in range(number):
            stream.calls("x", None, created("a.b", str(n), n=1))
        claim = {"record": "a.b", "where": {"n": 1}, **limits}
        assert passes(stream, expect=claim) is (number in numbers)
        assert passes(stream, never=claim) is (number not in numbers)


def test_new_records_are_those_created_during_the_episode(stream):
    claim = {"record": "po.orders", "where": {"qty": 9}, "new": True}
    stream.calls("x", None, changed("po.orders", "PO-1", note="seen"))
    assert not passes(stream, *ORDERS, expect=claim)
    stream.calls("x", None, created("po.orders", "PO-3", qty=9))
    assert passes(stream, *ORDERS, expect={**claim, "count": 1})


def test_a_record_mentions_what_is_in_any_of_its_values(stream):
    claim = {"record": "po.orders", "mentions": ["2026-03-12", "workshop", 9]}
    assert passes(stream, *ORDERS, expect=claim)
    assert not passes(stream, *ORDERS, expect={**claim, "mentions": ["2026-03-12", 10]})
    assert passes(stream, *ORDERS, expect={"record": "po.orders", "any": ["office", "workshop"]})
    assert not passes(stream, *ORDERS, expect={"record": "po.orders", "any": ["office"]})
    assert passes(stream, *ORDERS, expect={"record": "po.orders", "looks_like": "K-#", "count": 2})


def test_a_record_counts_when_it_was_last_written(stream):
    claim = {"record": "po.orders", "where": {"sku": "K-1"}, "after": {"mark": "changed"}}
    stream.calls("x", None, changed("po.orders", "PO-1", qty=1))
    stream.tells("mira", mark="changed")
    assert not passes(stream, *ORDERS, expect=claim)
    stream.calls("x", None, changed("po.orders", "PO-1", qty=2))
    assert passes(stream, *ORDERS, expect=claim)


def test_the_nearest_record_is_named_with_what_it_has_instead(stream):
    stream.calls("x", None, created("po.orders", "PO-3", sku="K-3", qty=20))
    says = verdict(stream, *ORDERS, expect={"record": "po.orders", "where": {"sku": "K-3", "qty": 26}}).says
    assert says == "0 records of po.orders; at least 1 wanted; the nearest is PO-3, whose qty is 20."


def test_values_are_said_as_a_file_writes_them_not_as_python_does(stream):
    stream.calls("x", None, created("po.orders", "PO-3", sku=None, qty=True, id="PO-3"))
    found = verdict(stream, expect={"record": "po.orders", "where": {"sku": "K-3", "qty": 26, "id": "PO-3"}})
    assert "sku is null" in found.says
    assert "qty is true" in found.says


def test_a_reason_stays_short_whatever_the_records_hold(stream):
    records = [created("po.orders", f"PO-{n}", sku="K-3", note="x " * 10_000) for n in range(50)]
    stream.calls("x", None, *records)
    claim = {"record": "po.orders", "where": {"sku": "K-3", "note": "y"}}
    assert len(verdict(stream, expect=claim).says) < 300
    assert len(verdict(stream, only={"record": "po.orders", "by": "note"}).says) < 1500


# --- calls, messages, slots, marks ---------------------------------------------------------------------------


def test_calls_count_when_they_returned_without_an_error(stream):
    claim = {"called": "pay", "args": {"amount": 165}}
    stream.calls("pay", {"amount": 165}, error=True)
    stream.calls("pay", {"amount": 166})
    stream.calls("pay", {"amount": 165}, actor="tomas")
    assert not passes(stream, expect=claim)
    call = stream.calls("pay", {"amount": "165.00", "note": "lamp"})
    assert verdict(stream, expect=claim).evidence == (call + 1,)
    assert passes(stream, expect={**claim, "mentions": ["lamp"]})
    assert not passes(stream, expect={**claim, "mentions": ["desk"]})


def test_what_is_said_to_a_person_is_taken_together(stream):
    claim = {"said": "lena", "mentions": [165, "RMA-7"], "any": ["refunded", "paid back"]}
    stream.says("Refunded €165.00.")
    stream.says("RMA-7.", "tomas")
    assert not passes(stream, expect=claim)
    stream.says("It is RMA-7.")
    assert verdict(stream, expect=claim) == Verdict(
        "c",
        True,
        weight=1,
        evidence=(0, 2),
        says="The messages to lena say `165` and `RMA-7` and any of `refunded`, `paid back`.",
    )
    assert passes(stream, never={**claim, "mentions": [166]})


def test_said_to_anyone_is_said_to_all_together(stream):
    stream.says("She is at the clinic.", "kenji")
    assert not passes(stream, never={"said": "anyone", "mentions": ["clinic"]})
    assert passes(stream, never={"said": "lena", "mentions": ["clinic"]})


def test_with_a_number_each_message_counts_for_itself(stream):
    claim = {"said": "lena", "mentions": [165, "RMA-7"]}
    stream.says("165")
    stream.says("RMA-7")
    assert not passes(stream, expect={**claim, "at_least": 1})
    stream.says("RMA-7: 165")
    assert passes(stream, expect={**claim, "count": 1})
    assert passes(stream, expect={"said": "lena", "at_most": 3})
    assert not passes(stream, expect={"said": "lena", "at_most": 2})


def test_a_missing_word_is_named(stream):
    stream.says("165")
    assert verdict(stream, expect={"said": "lena", "mentions": [165, "RMA-7"], "looks_like": "A#"}).says == (
        "The messages to lena do not say `RMA-7` and anything like `A#`."
    )
    assert verdict(stream, never={"said": "lena", "mentions": [165]}).says == (
        "The messages to lena say `165`, which is not allowed."
    )


def test_an_invented_number_is_found_by_its_form(stream):
    stream.says("PO-0313 is TRK88120.")
    assert not passes(stream, never={"said": "lena", "looks_like": "TRK-?#"})


def test_gave_counts_when_it_is_read_and_mark_when_it_is_sent(stream):
    sent = stream.tells("lena", mark="told", read=False, order="O-1")
    assert not passes(stream, expect={"gave": "lena.order"})
    assert verdict(stream, expect={"mark": "told"}).evidence == (sent,)
    read = stream.reads(sent)
    assert verdict(stream, expect={"gave": "lena.order"}).evidence == (read,)
    assert not passes(stream, expect={"gave": "lena.rma"})


def test_fired(stream):
    assert not passes(stream, expect={"fired": "news"})
    stream.fires("news")
    assert passes(stream, expect={"fired": "news"})


# --- order -------------------------------------------------------------------------------------------------


def test_what_was_begun_before_the_approval_is_before_it(stream):
    claim = {"called": "pay", "before": {"mark": "approved"}}
    call = stream.begins("pay")
    stream.tells("tomas", mark="approved")
    stream.returns(call)
    assert not passes(stream, never=claim)
    assert not passes(stream, expect={"mark": "approved", "before": {"called": "pay"}})


def test_what_comes_after_a_call_comes_after_its_result(stream):
    claim = {"mark": "late", "after": {"called": "pay"}}
    call = stream.begins("pay")
    stream.tells("tomas", mark="late")
    stream.returns(call)
    assert not passes(stream, expect=claim)
    stream.tells("tomas", mark="late")
    assert passes(stream, expect=claim)


def test_before_what_never_happened_is_everything_and_after_it_nothing(stream):
    stream.calls("pay")
    assert not passes(stream, never={"called": "pay", "before": {"mark": "approved"}})
    found = verdict(stream, expect={"called": "pay", "after": {"mark": "approved"}})
    assert not found.passed
    assert found.says == "0 calls of pay after mark approved (which never happened); at least 1 wanted."


def test_a_window_has_two_ends_and_only_first_moments_count(stream):
    claim = {"said": "lena", "at_least": 1, "after": {"mark": "a"}, "before": {"mark": "b"}}
    stream.says("too early")
    stream.tells("x", mark="a")
    stream.tells("x", mark="b")
    stream.tells("x", mark="a")
    stream.says("too late")
    assert not passes(stream, expect=claim)
    stream = Stream()
    stream.tells("x", mark="a")
    said = stream.says("in time")
    stream.tells("x", mark="b")
    assert verdict(stream, expect=claim).evidence == (0, said, said + 1)


# --- only, distinct ----------------------------------------------------------------------------------------


def test_only_looks_at_what_the_agent_created_and_what_is_left_of_it(stream):
    parts = {"only": {"record": "po.orders", "by": "sku", "in": ["K-1", 5]}}
    stream.fires("news", created("po.orders", "PO-8", sku="K-8"))
    stream.calls("x", None, created("po.orders", "PO-3", sku="K-1"), created("po.orders", "PO-4", sku="5"))
    assert passes(stream, *ORDERS, **parts)
    stream.calls("x", None, created("po.orders", "PO-5", sku="K-9"), created("po.orders", "PO-6"))
    found = verdict(stream, *ORDERS, **parts)
    assert not found.passed
    assert found.says == "New in po.orders and not allowed: PO-5 (sku is K-9), PO-6 (sku is null)."
    stream.calls("x", None, deleted("po.orders", "PO-5"), changed("po.orders", "PO-6", sku="K-1"))
    assert passes(stream, *ORDERS, **parts)


def test_distinct_looks_for_the_same_value_twice_among_what_the_agent_created(stream):
    parts = {"gate": True, "distinct": {"record": "po.orders", "by": "sku"}}
    stream.calls("x", None, created("po.orders", "PO-3", sku="K-1"), created("po.orders", "PO-4", sku="K-2"))
    assert passes(stream, *ORDERS, **parts)
    call = stream.calls("x", None, created("po.orders", "PO-5", sku="K-1"))
    found = verdict(stream, *ORDERS, **parts)
    assert (found.passed, found.evidence) == (False, (call,))
    assert found.says == "New in po.orders with a sku that is there already: PO-5 (sku is K-1)."
    stream.calls("x", None, deleted("po.orders", "PO-3"))
    assert passes(stream, *ORDERS, **parts)


# --- whether it counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "applies"), [("true", True), ("false", False), ("165.00 > 150", True), ("'a' == 'b'", False)]
)
def test_a_check_applies_if_its_condition_is_true(stream, condition, applies):
    found = verdict(stream, never={"said": "tomas"}, **{"if": condition})
    assert found.applicable is applies
    assert found.passed is applies


@pytest.mark.parametrize(
    ("parts", "idle"),
    [
        ({"never": {"said": "tomas"}}, True),
        ({"expect": {"record": "po.orders", "at_most": 2}}, True),
        ({"expect": {"record": "po.orders", "where": {"sku": "K-1"}}}, True),
        ({"only": {"record": "po.orders", "by": "sku"}}, True),
        ({"expect": {"record": "po.orders", "where": {"sku": "K-3"}}}, False),
        ({"expect": {"said": "tomas"}}, False),
        ({"never": {"record": "po.orders", "at_least": 2}}, False),
    ],
)
def test_what_holds_before_anything_happens_is_idle(stream, parts, idle):
    assert verdict(stream, *ORDERS, **parts).idle is idle


@pytest.mark.parametrize(
    "parts",
    [
        {"weight": 1},
        {"expect": {"mark": "a"}},
        {"weight": 1, "gate": True, "expect": {"mark": "a"}},
        {"weight": 1, "expect": {"mark": "a"}, "never": {"mark": "b"}},
        {"weight": 1, "expect": {}},
        {"weight": 1, "expect": {"mark": "a", "fired": "b"}},
        {"weight": 1, "expect": {"mark": "a", "before": {}}},
        {"weight": 1, "expect": {"said": "a", "looks_like": "?"}},
        {"weight": 1, "expect": {"mark": "a"}, "if": "1 +"},
    ],
)
def test_a_check_that_cannot_be_graded_is_refused_by_name(parts):
    with pytest.raises(CheckError, match=r"The check 'odd' cannot be graded: .+\."):
        Sheet({"odd": check(**parts)}, ())
