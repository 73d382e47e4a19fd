"""The timeline: each entry fires once, and changes the records that are there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.event import ToolReturned
from coworkenv.worlds.environment import Change, Condition
from coworkenv.worlds.records import State, initial_state
from coworkenv.worlds.timeline import ChangeError, Timeline, record_changes
from coworkenv.worlds.world import Happening

from .streams import Stream, changed, created, deleted

# --- when --------------------------------------------------------------------------------------------------


def feed(timeline: Timeline, stream: Stream, since: int = 0) -> list[tuple[str, int]]:
    step = stream.events[since:]
    return [(happening.name, at) for happening, at, _ in timeline.after_step(step, stream.events)]


def test_entries_with_a_time_are_due_at_it_and_those_with_nothing_after_the_start():
    timeline = Timeline(
        [Happening("late", at=90), Happening("bare", after=5), Happening("waits", when=Condition(mark="x"), after=5)]
    )
    assert [(happening.name, at) for happening, at in timeline.at_start()] == [("late", 90), ("bare", 5)]
    assert [happening.name for happening in timeline.waiting] == ["waits"]


def test_a_condition_fires_its_entry_once_after_the_step():
    timeline = Timeline([Happening("change", when=Condition(called="move"), after=60)])
    stream = Stream()
    stream.now = 100
    stream.calls("move", error=True)
    assert feed(timeline, stream) == []
    since = len(stream.events)
    stream.now = 200
    stream.calls("move")
    assert feed(timeline, stream, since) == [("change", 260)]
    since = len(stream.events)
    stream.calls("move")
    assert feed(timeline, stream, since) == []
    assert timeline.waiting == ()


def test_entries_that_come_due_in_one_step_keep_the_order_of_the_file():
    timeline = Timeline(
        [
            Happening("first", when=Condition(mark="ok"), after=9),
            Happening("second", when=Condition(said="lena"), after=1),
            Happening("third", when=Condition(mark="ok")),
        ]
    )
    stream = Stream()
    stream.now = 50
    stream.says("hi", "lena")
    stream.tells("tomas", mark="ok")
    assert feed(timeline, stream) == [("first", 59), ("second", 51), ("third", 50)]


def test_one_entry_may_wait_for_another():
    timeline = Timeline([Happening("b", when=Condition(fired="a"), after=10), Happening("a", at=1)])
    stream = Stream()
    stream.now = 1
    stream.fires("a")
    assert feed(timeline, stream) == [("b", 11)]


@given(
    st.lists(st.sampled_from(["mark", "call", "say", "fire"]), max_size=12), st.lists(st.integers(1, 4), max_size=12)
)
def test_feeding_the_same_steps_again_gives_the_same(actions, cuts):
    happenings = [
        Happening("m", when=Condition(mark="ok"), after=3),
        Happening("c", when=Condition(called="move", args={"n": 2})),
        Happening("s", when=Condition(said="lena", mentions=(3,))),
        Happening("f", when=Condition(fired="x"), after=1),
    ]
    stream = Stream()
    for number, action in enumerate(actions):
        stream.now = number
        {
            "mark": lambda: stream.tells("tomas", mark="ok"),
            "call": lambda n=number: stream.calls("move", {"n": n}),
            "say": lambda n=number: stream.says(f"{n} of them"),
            "fire": lambda: stream.fires("x"),
        }[action]()

    def run() -> list[object]:
        timeline, fired, since = Timeline(happenings), [], 0
        for size in [*cuts, len(stream.events)]:
            step = stream.events[since : since + size]
            since += size
            fired.append(timeline.after_step(step, stream.events) if step else [])
        return [*fired, timeline.waiting]

    assert run() == run()
    names = [happening.name for step in run()[:-1] for happening, *_ in step]
    assert len(names) == len(set(names))


# --- what --------------------------------------------------------------------------------------------------

STATE = initial_state(
    [
        created("cal.events", "EV-1", id="EV-1", day="2026-03-12", minutes=60),
        created("cal.events", "EV-2", id="EV-2", day="2026-03-13", minutes=60),
        created("log.lines", "#1", text="x"),
    ]
)


def outcome(state: State, *changes: Change, **keys: str) -> list[object]:
    return list(record_changes(Happening("h", changes=changes), state, keys))


def test_update_and_delete_act_on_all_that_match():
    assert outcome(STATE, Change(update="cal.events", where={"minutes": "60"}, set={"minutes": 30})) == [
        changed("cal.events", "EV-1", minutes=30),
        changed("cal.events", "EV-2", minutes=30),
    ]
    assert outcome(STATE, Change(delete="cal.events", where={"day": "2026-03-13"})) == [deleted("cal.events", "EV-2")]
    assert outcome(STATE, Change(delete="cal.events", where={"day": "never"})) == []


def test_a_new_record_is_named_by_its_key_field_or_counted():
    assert outcome(STATE, Change(create="cal.events", record={"id": "EV-3"})) == [
        created("cal.events", "EV-3", id="EV-3")
    ]
    assert outcome(STATE, Change(create="log.lines", record={"text": "y"})) == [created("log.lines", "#2", text="y")]
    assert outcome(STATE, Change(create="log.lines", record={"text": "y"}), **{"log.lines": "text"}) == [
        created("log.lines", "y", text="y")
    ]


def test_a_key_that_is_taken_is_counted_instead():
    assert outcome(STATE, Change(create="cal.events", record={"id": "EV-1"})) == [
        created("cal.events", "#3", id="EV-1")
    ]


def test_each_change_sees_what_those_before_it_did():
    assert outcome(
        STATE,
        Change(create="cal.events", record={"id": "EV-3", "day": "2026-03-14"}),
        Change(update="cal.events", where={"day": "2026-03-14"}, set={"day": "2026-03-15"}),
        Change(delete="cal.events", where={"day": "2026-03-15"}),
    ) == [
        created("cal.events", "EV-3", id="EV-3", day="2026-03-14"),
        changed("cal.events", "EV-3", day="2026-03-15"),
        deleted("cal.events", "EV-3"),
    ]


@pytest.mark.parametrize("change", [Change(), Change(create="a.b", delete="a.b"), Change(update="nodot")])
def test_a_change_that_names_not_exactly_one_collection_is_refused(change):
    with pytest.raises(ChangeError):
        outcome(STATE, change)


def test_a_happening_says_which_event_met_its_condition() -> None:
    stream = Stream()
    timeline = Timeline([Happening(name="one", when=Condition(called="x"), after=5)])
    stream.calls("x", None)
    stream.calls("y", None)
    returned = next(event.seq for event in stream.events if isinstance(event.body, ToolReturned))
    [(_, at, cause)] = timeline.after_step(stream.events, stream.events)
    assert (at, cause) == (stream.events[-1].at + 5, returned)
