"""A projection is a pure fold: it can be continued from any prefix, and never changes a state it has given."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events import Event, fold
from coworkenv.events.event import MessageReceived, MessageSent, ToolCalled
from coworkenv.events.projection import CountByType, Line, TranscriptByActor

Story = Callable[..., list[Event]]

EVENTS = [
    Event(0, 0, "agent", None, MessageSent(to="tomas", text="May I?")),
    Event(1, 5, "agent", None, ToolCalled(tool="wait")),
    Event(2, 9, "tomas", 0, MessageReceived(message=0)),
    Event(3, 9, "tomas", 2, MessageSent(to="agent", text="Yes.")),
    Event(4, 12, "agent", 3, MessageReceived(message=3)),
    Event(5, 13, "agent", 4, MessageSent(to="tomas", text="Thanks.")),
]


def test_events_are_counted_by_type() -> None:
    counts = fold(CountByType(), EVENTS)
    assert list(counts.items()) == [("message.sent", 3), ("tool.called", 1), ("message.received", 2)]


def test_a_transcript_is_what_its_actor_knows() -> None:
    lines = fold(TranscriptByActor(), EVENTS).lines
    assert lines["tomas"] == (
        Line(9, 0, "agent", "tomas", "May I?"),
        Line(9, 3, "tomas", "agent", "Yes."),
    )
    assert [(line.at, line.text) for line in lines["agent"]] == [(0, "May I?"), (12, "Yes."), (13, "Thanks.")]


def test_a_message_that_was_never_sent_is_not_heard() -> None:
    assert fold(TranscriptByActor(), EVENTS[2:3]).lines == {}


@pytest.mark.parametrize("projection", [CountByType(), TranscriptByActor()])
@given(at=st.integers(0, 40))
def test_folding_can_stop_and_go_on(story: Story, projection: CountByType, at: int) -> None:
    events = story(40)
    prefix = fold(projection, events[:at])
    before = repr(prefix)
    assert fold(projection, events[at:], prefix) == fold(projection, events)
    assert repr(prefix) == before
