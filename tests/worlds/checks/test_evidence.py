"""Evidence: what a stream shows, and where in the stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.event import Event, RecordChanged, TimelineFired
from coworkenv.worlds.checks.evidence import START, Evidence, Moment, Origin, StreamError, Write, tables_of
from coworkenv.worlds.conditions import compile_condition
from coworkenv.worlds.environment import Condition
from coworkenv.worlds.records import initial_state

from ..streams import Stream, changed, created, deleted

INITIAL = (created("a.b", "1", n=1, text="x"), created("a.b", "2", n=2), created("a.c", "1", n=1))


def read(stream: Stream, *conditions: Condition) -> tuple[Evidence, list[tuple[tuple[str, str], int, int]]]:
    evidence = Evidence(tables_of(INITIAL), [compile_condition(condition) for condition in conditions])
    findings = [finding for event in stream.events for finding in evidence.apply(event)]
    return evidence, [(finding.topic, finding.position, finding.seq) for finding in findings]


def test_a_call_and_its_records_have_the_position_of_the_decision():
    stream = Stream()
    call = stream.begins("pay")
    stream.tells("tomas", mark="approved")
    stream.returns(call, created("a.b", "3", n=3))
    _, findings = read(stream)
    assert findings == [(("mark", "approved"), 1, 1), (("record", "a.b"), 0, 3), (("called", "pay"), 0, 4)]


def test_records_of_the_timeline_have_a_position_of_their_own():
    stream = Stream()
    stream.fires("news", changed("a.b", "1", n=5))
    assert read(stream)[1] == [(("fired", "news"), 0, 0), (("record", "a.b"), 1, 1)]


def test_what_others_call_and_read_is_not_the_agents():
    stream = Stream()
    stream.calls("pay", actor="tomas")
    stream.calls("pay", error=True)
    stream.tells("lena", order="O-1", read=False)
    assert read(stream)[1] == []


def test_a_message_is_found_under_its_receiver_and_under_anyone():
    stream = Stream()
    stream.says("hi", "lena")
    assert read(stream)[1] == [(("said", "lena"), 0, 0), (("said", "anyone"), 0, 0)]


def test_a_slot_is_given_when_it_is_read():
    stream = Stream()
    sent = stream.tells("lena", order="O-1", rma="R", read=False)
    stream.says("hello?")
    stream.reads(sent)
    assert read(stream)[1][2:] == [(("gave", "lena.order"), 2, 2), (("gave", "lena.rma"), 2, 2)]


def test_a_condition_has_its_first_moment_with_its_beginning_and_its_end():
    stream = Stream()
    stream.says("x")
    call = stream.begins("pay")
    stream.tells("tomas", mark="ok")
    stream.returns(call)
    stream.calls("pay")
    evidence, _ = read(stream, Condition(called="pay"), Condition(mark="ok"), Condition(fired="never"))
    assert evidence.moments == [Moment(1, 4), Moment(2, 2), None]


def test_writes_of_the_agent_are_noted_field_by_field_and_only_where_something_changes():
    stream = Stream()
    stream.calls("x", None, changed("a.b", "1", n=9, text="x", new=None), changed("a.b", "2", unset=["n", "none"]))
    stream.calls("y", None, deleted("a.c", "1"), created("a.c", "5"))
    assert read(stream)[0].writes == [
        Write(1, "a.b", "1", "n"),
        Write(1, "a.b", "1", "new"),
        Write(2, "a.b", "2", "n"),
        Write(5, "a.c", "1", None),
        Write(6, "a.c", None, None),
    ]


def test_ones_own_records_may_be_changed_and_deleted_and_those_of_the_world_may_not():
    stream = Stream()
    stream.calls("x", None, created("a.b", "7", n=1), changed("a.b", "7", n=2), deleted("a.b", "7"))
    stream.fires("news", created("a.b", "8", n=1))
    stream.calls("x", None, changed("a.b", "8", n=2))
    evidence, _ = read(stream)
    written = [(write.collection, write.key, write.field) for write in evidence.writes]
    assert written == [("a.b", None, None)] * 3 + [("a.b", "8", "n")]
    assert evidence.origins == {("a.b", "8"): Origin("world", 6)}


def test_what_the_timeline_changes_is_not_the_agents():
    stream = Stream()
    stream.fires("news", changed("a.b", "1", n=9), deleted("a.b", "2"), created("a.c", "9"))
    assert read(stream)[0].writes == []


def test_a_stream_with_a_hole_is_refused():
    evidence = Evidence({})
    with pytest.raises(StreamError, match="Event 1 came where event 0 was due"):
        evidence.apply(Event(1, 0, "world", None, TimelineFired(name="x")))


def test_a_change_of_a_record_that_is_not_there_names_the_event():
    evidence = Evidence({})
    with pytest.raises(StreamError, match=r"Event 0 writes a\.b:1"):
        evidence.apply(Event(0, 0, "agent", None, RecordChanged(service="a", collection="b", key="1")))


writes = st.lists(
    st.one_of(
        st.builds(lambda n: changed("a.b", "1", n=n), st.integers(0, 3)),
        st.builds(lambda n: changed("a.b", "2", ["n"], m=n), st.integers(0, 3)),
        st.just("toggle"),
    ),
    max_size=8,
)


@given(writes)
def test_the_tables_are_the_state_and_the_initial_ones_stay_as_they_were(changes):
    stream, state, exists = Stream(), initial_state(INITIAL), False
    initial = tables_of(INITIAL)
    before = {name: dict(table) for name, table in initial.items()}
    evidence = Evidence(initial)
    for change in changes:
        if change == "toggle":
            change = deleted("a.c", "9") if exists else created("a.c", "9", n=1)
            exists = not exists
        stream.calls("x", None, change)
        state = state.apply(change)
    for event in stream.events:
        evidence.apply(event)
    assert {name.split(".")[1]: table for name, table in evidence.tables.items()} == state.plain()["a"]
    assert initial == before
    assert START < 0
