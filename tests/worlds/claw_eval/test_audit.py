"""The audit is what upstream's servers would have written down, folded from the events of a stream."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from coworkenv.events.event import Event, RecordChanged
from coworkenv.worlds.claw_eval.audit import audit

from .playing import Draws, Play, serving, task_of
from .samples import NOW, RECORDS


def play(*kinds: str, mode: str = "sane", **more: Any) -> Play:
    return Play(task_of([serving(kind, RECORDS[kind], mode, **more) for kind in kinds], NOW, mode))


def test_side_lists_are_there_from_the_start() -> None:
    playing = play("gmail", "calendar", "scheduler", "config")
    assert audit(playing.task, []) == {
        "gmail": {"calls": [], "sent_messages": [], "drafts": []},
        "calendar": {"calls": [], "deleted": [], "created_events": []},
        "scheduler": {"calls": [], "created_jobs": [], "updated_jobs": [], "deleted_jobs": []},
        "config": {"calls": [], "updates": [], "notifications": []},
    }


def test_a_call_is_kept_with_its_defaults_its_answer_and_its_time() -> None:
    playing = play("gmail")
    playing.at = 90_000_000
    outcome = playing("/gmail/messages", days_back="30", junk=1)
    assert audit(playing.task, playing.events)["gmail"]["calls"] == [
        {
            "endpoint": "/gmail/messages",
            "request_body": {"days_back": 30, "max_results": 20},
            "response_body": outcome.result,
            "timestamp": "2026-03-02T08:01:30+00:00",
        }
    ]


def test_errors_leave_no_entry_but_failed_lookups_do() -> None:
    playing = play("calendar", mode="upstream")
    playing("/calendar/events")
    playing("phantom")
    playing("/calendar/events/create", title="t", start_time="later", end_time="later")
    playing("/calendar/events", date="2026-03-03")
    playing("/calendar/events/get", event_id="nope")
    calls = audit(playing.task, playing.events)["calendar"]["calls"]
    assert [call["endpoint"] for call in calls] == ["/calendar/events/create", "/calendar/events/get"]


def test_injected_errors_leave_no_entry() -> None:
    service = serving("todo", RECORDS["todo"], error_rate=msgspec.convert(1, type=int))
    playing = Play(task_of([service], NOW), Draws([0.0]))
    assert playing("/todo/tasks").status == 429
    assert audit(playing.task, playing.events)["todo"]["calls"] == []


@pytest.mark.parametrize(("mode", "title"), [("upstream", "later"), ("sane", "first")])
def test_upstream_a_created_task_changes_in_the_entry_of_its_creation(mode: str, title: str) -> None:
    playing = play("todo", mode=mode)
    playing("/todo/tasks/create", title="first")
    playing("/todo/tasks/update", task_id="todo_004", title="later")
    playing("/todo/tasks/delete", task_id="todo_004")
    calls = audit(playing.task, playing.events)["todo"]
    assert calls["calls"][0]["response_body"]["task"]["title"] == title
    assert [task["title"] for task in calls["updated_tasks"] + calls["deleted"]] == ["later", "later"]


def test_only_the_record_itself_is_shared_even_where_identifiers_repeat() -> None:
    playing = play("todo", mode="upstream")
    playing("/todo/tasks/create", title="one")
    playing("/todo/tasks/delete", task_id="todo_001")
    playing("/todo/tasks/create", title="two")
    playing("/todo/tasks/update", task_id="todo_004", title="changed")
    calls = audit(playing.task, playing.events)["todo"]["calls"]
    created = [call["response_body"]["task"] for call in calls if call["endpoint"].endswith("create")]
    assert [(task["task_id"], task["title"]) for task in created] == [("todo_004", "changed"), ("todo_004", "two")]


def test_events_of_the_world_are_folded_too() -> None:
    playing = play("todo", mode="upstream")
    playing("/todo/tasks/create", title="first")
    change = RecordChanged("todo", "tasks", "#4", set={"title": "by the world"})
    stream = [*playing.events, Event(len(playing.events), 5, "world", None, change)]
    assert audit(playing.task, stream)["todo"]["calls"][0]["response_body"]["task"]["title"] == "by the world"


def test_readers_log_less_than_they_answer() -> None:
    playing = play("ocr", "documents")
    playing("/ocr/extract", image_path="x.png")
    playing("/documents/extract_text", path="fixtures/docs/report.pdf")
    kept = audit(playing.task, playing.events)
    timestamp = "2026-03-02T08:00:00+00:00"
    assert kept["ocr"]["calls"] == [
        {"endpoint": "/ocr/extract", "request_body": {"image_path": "x.png"}, "timestamp": timestamp}
    ]
    assert kept["documents"]["calls"][0]["response_body"] == {
        "path": "fixtures/docs/report.pdf",
        "page_count": 3,
        "pages_returned": 3,
        "text_length": len("first \n\nsecond\n\nthird"),
    }


def test_a_prefix_of_a_stream_has_the_audit_of_that_moment() -> None:
    playing = play("gmail")
    playing("/gmail/send", to="x", subject="s", body="b")
    early = len(playing.events)
    playing("/gmail/send", to="y", subject="s", body="b")
    assert len(audit(playing.task, playing.events[:early])["gmail"]["sent_messages"]) == 1
    assert len(audit(playing.task, playing.events)["gmail"]["sent_messages"]) == 2
