"""The frame: what an agent may change."""

from __future__ import annotations

import pytest

from coworkenv.worlds.checks.evidence import Evidence, tables_of
from coworkenv.worlds.checks.frame import NAME, frame_of, free_entries
from coworkenv.worlds.checks.scoring import grade
from coworkenv.worlds.environment import Collection, Service

from ..streams import Stream, changed, check, created, deleted, world

EVENTS = (created("cal.events", "EV-88", day="2026-03-10", seen=0), created("cal.events", "EV-91", day="2026-03-13"))
DONE = {"done": check(weight=1, expect={"mark": "done"})}


def stream_with(*changes: object) -> Stream:
    stream = Stream()
    stream.tells("mira", mark="done")
    stream.calls("x", None, *changes)
    return stream


def score(frame: tuple[str, ...] | None, *changes: object) -> str:
    return grade(world(DONE, *EVENTS, frame=frame), stream_with(*changes).events).score


MOVE = changed("cal.events", "EV-88", day="2026-03-12")


def test_the_frame_of_an_episode_allows_exactly_what_the_agent_did():
    changes = (
        MOVE,
        created("mail.sent", "#1", to="k"),
        changed("mail.sent", "#1", to="l"),
        deleted("cal.events", "EV-91"),
    )
    evidence = Evidence(tables_of(EVENTS))
    for event in stream_with(*changes).events:
        evidence.apply(event)
    frame = frame_of(evidence)
    assert frame == ("cal.events:EV-88.day", "cal.events:EV-91", "mail.sent:new")
    assert score(frame, *changes) == "1"
    for entry in frame:
        assert score(tuple(other for other in frame if other != entry), *changes) == "0"


@pytest.mark.parametrize(
    "change",
    [
        changed("cal.events", "EV-91", day="2026-03-12"),
        changed("cal.events", "EV-88", minutes=30),
        changed("cal.events", "EV-88", unset=["seen"]),
        deleted("cal.events", "EV-88"),
        created("cal.events", "EV-92"),
        created("mail.sent", "#1"),
    ],
)
def test_anything_else_is_a_side_effect(change):
    assert score(("cal.events:EV-88.day",), MOVE) == "1"
    assert score(("cal.events:EV-88.day",), MOVE, change) == "0"


def test_a_side_effect_counts_although_it_was_undone_and_names_its_event():
    stream = stream_with(changed("cal.events", "EV-91", day="x"), changed("cal.events", "EV-91", day="2026-03-13"))
    found = grade(world(DONE, *EVENTS, frame=()), stream.events).verdicts[-1]
    assert (found.name, found.gate, found.passed, found.evidence) == (NAME, True, False, (3, 4))
    assert found.says == "The agent changed what it may not: cal.events:EV-91.day."


def test_writing_what_was_there_already_is_no_side_effect():
    assert score((), changed("cal.events", "EV-91", day="2026-03-13")) == "1"


def test_without_a_frame_there_is_no_gate():
    assert score(None, MOVE, deleted("cal.events", "EV-91")) == "1"
    assert all(found.name != NAME for found in grade(world(DONE, *EVENTS), stream_with().events).verdicts)


def test_what_the_world_does_is_not_held_against_the_agent():
    stream = stream_with()
    stream.fires("news", MOVE, created("mail.sent", "#1"))
    assert grade(world(DONE, *EVENTS, frame=()), stream.events).score == "1"


def test_free_fields_may_be_changed_in_every_record():
    free = free_entries(
        {"cal": Service(collections={"events": Collection(free=("seen", "note")), "rooms": Collection()})}
    )
    assert free == ("cal.events:*.note", "cal.events:*.seen")
    assert score(free, changed("cal.events", "EV-88", seen=1), changed("cal.events", "EV-91", note="x")) == "1"
    assert score(free, changed("cal.events", "EV-88", seen=1, day="x")) == "0"
