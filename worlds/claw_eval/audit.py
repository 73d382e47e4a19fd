"""Upstream's audit of a task's services, as a projection of a stream.

Knows what upstream's servers write down about the calls they answer, and the lists they keep beside. Does not know who
called, nor how the audit is graded. A call that ended in an HTTP error leaves no entry; one that found nothing does.

Upstream keeps some answers by reference, so that a task that is created and later updated appears updated in the
entry of its creation. That is so in upstream's mode only; in sane mode an entry is what was answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, timedelta

import msgspec

from ...events.event import Event, Json, RecordChanged, RecordCreated, RecordDeleted, ToolCalled, ToolReturned
from ..records import State, initial_state
from .endpoint import Endpoint
from .kinds import KINDS
from .service import ClawEvalService
from .task import Task
from .validation import as_json, validate

#: Answers that hold the record itself: where the record is, and its name in the answer.
_LIVE: Mapping[str, tuple[str, str]] = {
    "/todo/tasks/create": ("tasks", "task"),
    "/calendar/events/create": ("events", "event"),
}


class _Entry(msgspec.Struct):
    service: str
    endpoint: Endpoint
    call: ToolCalled
    answer: Json
    at: int
    live: Mapping[str, Json] | None = None
    """The record that the answer shares, as it is now."""


def audit(task: Task, events: Iterable[Event]) -> dict[str, dict[str, Json]]:
    """`{service: {"calls": […], side list: […]}}` after `events`, a stream of an episode of `task` (or a prefix)."""
    services = {service.name: service for service in task.services if service.kind in KINDS}
    state = initial_state(record for service in services.values() for record in service.initial())
    calls: dict[int, ToolCalled] = {}
    entries: list[_Entry] = []
    shared = _Shared(task.mode == "upstream")
    for event in events:
        body = event.body
        if isinstance(body, ToolCalled):
            calls[event.seq] = body
        elif isinstance(body, RecordCreated | RecordChanged | RecordDeleted):
            state = state.apply(body)
            shared.follow(body, event.cause, state)
        elif isinstance(body, ToolReturned) and body.error is None and body.call in calls:
            call = calls[body.call]
            for service in services.values():
                if endpoint := _endpoint(service, call.tool):
                    entry = _Entry(service.name, endpoint, call, body.result, event.at)
                    shared.enter(entry, body.call)
                    entries.append(entry)
    return {name: _record(task, service, entries, state) for name, service in services.items()}


class _Shared:
    """Which entries share a record with the state."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.created: dict[tuple[int | None, str, str], str] = {}
        self.entries: dict[tuple[str, str, str], _Entry] = {}

    def follow(self, change: RecordCreated | RecordChanged | RecordDeleted, cause: int | None, state: State) -> None:
        if isinstance(change, RecordCreated):
            self.created[cause, change.service, change.collection] = change.key
        entry = self.entries.get((change.service, change.collection, change.key))
        if entry is not None and isinstance(change, RecordChanged):
            entry.live = state[change.service][change.collection][change.key]

    def enter(self, entry: _Entry, call: int) -> None:
        if self.wanted and entry.endpoint.path in _LIVE:
            collection, name = _LIVE[entry.endpoint.path]
            entry.live = entry.answer[name]
            self.entries[entry.service, collection, self.created[call, entry.service, collection]] = entry


def _endpoint(service: ClawEvalService, tool: str) -> Endpoint | None:
    return KINDS[service.kind].at(service.routes[tool]) if tool in service.routes else None


def _record(task: Task, service: ClawEvalService, entries: Iterable[_Entry], state: State) -> dict[str, Json]:
    calls = [_call(task, entry) for entry in entries if entry.service == service.name]
    sides = KINDS[service.kind].sides
    return {"calls": calls, **{side: [dict(row) for row in state[service.name][side].values()] for side in sides}}


def _call(task: Task, entry: _Entry) -> dict[str, Json]:
    when = (task.start + timedelta(microseconds=entry.at)).astimezone(UTC)
    endpoint, answer = entry.endpoint, entry.answer
    if entry.live is not None:
        answer = {**answer, _LIVE[endpoint.path][1]: dict(entry.live)}
    if endpoint.logs == "summary":
        answer = {name: value for name, value in answer.items() if name != "text"} | {
            "text_length": len(answer["text"])
        }
    return {
        "endpoint": endpoint.path,
        "request_body": as_json(validate(endpoint.fields, entry.call.args)),
        **({} if endpoint.logs == "request" else {"response_body": answer}),
        "timestamp": when.isoformat(),
    }
