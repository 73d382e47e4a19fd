"""A timeline: what belongs together is one line, what is apart in time is two, and everything fits the screen."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.engine.clocks import clock_time, length
from coworkenv.engine.show import (
    actors_of,
    conversation,
    event_line,
    start_of,
    state_lines,
    timeline,
)
from coworkenv.engine.story import story
from coworkenv.events.event import (
    ActorFailed,
    ActorWaited,
    ContextCut,
    EffectRequested,
    EffectResolved,
    EpisodeForked,
    FaultInjected,
    MessageReceived,
    MessageSent,
    RecordChanged,
    RecordDeleted,
    Refused,
    ToolCalled,
    ToolReturned,
)

from .streams import STARTED, asynchronous, stream


def drawn(events, width=100):
    return [line.plain for line in timeline(events, width)]


def line_with(events, text):
    return next(line for line in drawn(events) if text in line)


def test_every_event_is_told_somewhere():
    events = asynchronous()
    told = {seq for moment in story(events) for seq in moment.seqs}
    assert told == {event.seq for event in events}


def test_moments_come_in_the_order_of_their_first_events():
    firsts = [moment.seqs[0] for moment in story(asynchronous())]
    assert firsts == sorted(firsts)


def test_a_message_read_at_once_is_one_arrow():
    line = line_with(asynchronous(), "“Please file it.”")
    assert re.search(r"│◀─+●", line), line
    assert "1–2" in line


def test_a_message_that_something_overtakes_is_sent_on_one_line_and_read_on_another():
    lines = drawn(asynchronous())
    sent = next(place for place, line in enumerate(lines) if "“Which drawer, Bo?”" in line)
    read = next(place for place, line in enumerate(lines) if "reads 3" in line)
    assert "╮" in lines[sent]
    assert read > sent + 1
    assert all("┊" in line for line in lines[sent + 1 : read])
    assert "╰" in lines[read]
    assert "▶●" in lines[read]
    assert "1 s later" in lines[read]


def test_a_call_that_returns_next_is_one_moment_with_its_latency_and_what_it_wrote():
    call = next(moment for moment in story(asynchronous()) if moment.kind == "did" and moment.subject == 11)
    assert call.seqs == [11, 12, 13]
    says = "".join(text for _, text in [*call.words, *call.then])
    assert "files.put" in says
    assert "drawer: A" in says
    assert "20 s" in says
    assert "files.papers:P-1 created" in says


def test_an_arrow_parts_a_call_from_its_result():
    [line] = [line for line in drawn(asynchronous(), 200) if "files.put" in line and "created" in line]
    assert re.search(r"files\.put .*drawer: A → 20 s ", line), line


def test_an_error_is_told_in_its_own_words():
    assert any("✗ not_found: No such drawer." in line for line in drawn(asynchronous()))


def test_thinking_shows_its_length_in_virtual_time_and_the_interruption_that_cut_it():
    lines = drawn(asynchronous())
    assert any("thinks 1 m 40 s" in line and "4900 tokens" in line for line in lines)
    assert any("4 cut short: a message arrived, after 41 s" in line for line in lines)


def test_an_actor_who_thinks_or_waits_for_a_tool_has_a_lane_of_another_kind():
    lines = drawn(asynchronous())
    assert "┃" in next(line for line in lines if "◆ news" in line)


def test_an_unread_message_says_so():
    assert any("“Filed.” never read" in line for line in drawn(asynchronous()))


def test_a_long_silence_has_a_line_of_its_own():
    events = stream((0, "world", STARTED), (3600, "agent", ActorWaited(since=0)))
    assert any("+ 1 h" in line for line in drawn(events))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (ActorFailed(error="GaveUp", message="no answer"), "fails: GaveUp no answer"),
        (ContextCut(reason="too long", messages=(1, 2)), "context cut: 2 left out"),
        (EpisodeForked(parent="ab12", seq=3, digest="", changes={"seed": 4}), "forked from ab12 at 3 (seed: 4)"),
        (RecordChanged(service="s", collection="c", key="k", set={"a": 1}, unset=("b",)), "✎ s.c:k a = 1, no b"),
        (RecordDeleted(service="s", collection="c", key="k"), "✎ s.c:k deleted"),
        (EffectRequested(kind="model", digest="", bound=5), "thinks (no answer yet)"),
    ],
)
def test_what_else_can_happen_is_told(body, words):
    assert any(words in line for line in drawn(stream((0, "world", STARTED), (1, "agent", body))))


def test_a_refusal_and_a_fault_are_told():
    events = stream(
        (0, "world", STARTED),
        (0, "agent", EffectRequested(kind="model", digest="", bound=5)),
        (1, "agent", EffectResolved(effect=1, due=1_000_000, refused=Refused(type="content_filter"))),
        (1, "agent", ToolCalled(tool="t")),
        (2, "world", FaultInjected(fault="f", call=3, kind="slow")),
        (2, "agent", ToolReturned(call=3, result=[1, 2])),
    )
    lines = "\n".join(drawn(events))
    assert "✗ content_filter" in lines
    assert "→ 1 s fault slow 2 items" in lines


def test_an_escape_sequence_in_a_message_never_reaches_the_screen():
    events = stream((0, "world", STARTED), (1, "ada\x1b[2J", MessageSent(to="agent", text="\x1b]0;owned\x07hi")))
    for lines in (
        drawn(events),
        [line.plain for line in conversation(events, 80)],
        [event_line(event, start_of(events), 80).plain for event in events],
        [line.plain for line in state_lines({"s\x1b": {"c": {"k\x07": {"f": "\x1b[1m"}}}}, 80)],
    ):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", "".join(lines))
        assert "\\x1b" in "".join(lines)


@given(st.integers(60, 200), st.integers(0, 12))
def test_no_line_is_wider_than_the_screen(width, people):
    crowd = [(n, f"person-{n}", MessageSent(to="agent", text="x" * 300)) for n in range(people)]
    events = stream((0, "world", STARTED), *crowd, (40, "agent", MessageReceived(message=1 if people else 0)))
    assert max(line.cell_len for line in timeline(events, width)) <= width
    assert max(line.cell_len for line in timeline(asynchronous(), width)) <= width
    assert all(event_line(event, start_of(events), width).cell_len <= width for event in events)


def test_lanes_are_the_world_the_agent_and_the_people_in_order():
    assert actors_of(asynchronous()) == ["world", "agent", "ada", "bo"]


def test_more_messages_on_their_way_than_tracks_are_drawn_without_one():
    many = [(n, "agent", MessageSent(to="bo", text=str(n))) for n in range(1, 8)]
    lines = drawn(stream((0, "world", STARTED), *many, (9, "bo", MessageReceived(message=7))))
    assert any("●╌" in line for line in lines)


def test_a_stream_without_events_has_no_timeline():
    assert drawn([]) == []


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0 µs"),
        (999, "999 µs"),
        (40_000, "40 ms"),
        (18_200_000, "18.2 s"),
        (20_000_000, "20 s"),
        (3_300_000_000, "55 m"),
        (4_320_000_000, "1 h 12 m"),
        (90_000_000_000, "1 d 1 h"),
        (-1_000_000, "-1 s"),
    ],
)
def test_lengths_of_time_read_well(duration, text):
    assert length(duration) == text


def test_a_time_on_a_later_day_says_so():
    start = start_of(asynchronous())
    assert clock_time(start, 0) == "09:00:00"
    assert clock_time(start, 20 * 3_600_000_000) == "+1d 05:00:00"
