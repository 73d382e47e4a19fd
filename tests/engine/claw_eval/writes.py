"""One successful write of every endpoint of Claw-Eval that writes, and the records it must leave behind.

Knows endpoints and collections. Does not know any task: what a write refers to is the first record that the task's
service starts with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from coworkenv.agents.scripted import ScriptStep
from coworkenv.worlds.claw_eval import ClawEvalService, Task
from coworkenv.worlds.claw_eval.kinds import KINDS

FIRST = object()
"""Stands for the value that the service's first record has in the field of that name."""


class Write(msgspec.Struct, frozen=True):
    args: Mapping[str, Any]
    leaves: tuple[str, ...]
    """The record events that it causes, in order: what happened, and to which collection."""


_MAIL = {"to": "ana@example.org", "subject": "Tuesday", "body": "See you then."}
_NOTICE = {"channel": "ops", "message": "All is well again."}
_MEETING = {"title": "Review", "start_time": "2026-03-10T15:00:00Z", "end_time": "2026-03-10T16:00:00Z"}
_REPORT = {"title": "February", "transactions": ["t1"], "total_amount": 12}
_EXPORT = {"title": "Key accounts", "customer_ids": ["c1"], "summary": "One of one."}
_JOB = {"name": "Rotate keys", "cron_expression": "0 3 * * 1", "action": "rotate"}

#: In the order in which they are made: what deletes or closes a record comes after what changes it.
WRITES: Mapping[str, Write] = {
    "/gmail/drafts/save": Write(_MAIL, ("created drafts",)),
    "/gmail/send": Write(_MAIL, ("created sent_messages",)),
    "/calendar/events/create": Write(_MEETING, ("created events", "created created_events")),
    "/calendar/events/delete": Write({"event_id": FIRST}, ("deleted events", "created deleted")),
    "/todo/tasks/create": Write({"title": "Call back"}, ("created tasks",)),
    "/todo/tasks/update": Write({"task_id": FIRST, "status": "completed"}, ("changed tasks", "created updated_tasks")),
    "/todo/tasks/delete": Write({"task_id": FIRST}, ("deleted tasks", "created deleted")),
    "/contacts/send_message": Write({"contact_id": FIRST, "message": "Hello."}, ("created sent_messages",)),
    "/crm/export": Write(_EXPORT, ("created exported_reports",)),
    "/finance/report/submit": Write(_REPORT, ("created submitted_reports",)),
    "/helpdesk/tickets/update": Write(
        {"ticket_id": FIRST, "priority": "urgent"}, ("changed tickets", "created updated_tickets")
    ),
    "/helpdesk/tickets/close": Write(
        {"ticket_id": FIRST, "resolution": "Restarted."}, ("changed tickets", "created closed")
    ),
    "/inventory/orders/create": Write({"product_id": FIRST, "quantity": 3}, ("created orders",)),
    "/kb/articles/update": Write({"article_id": FIRST, "content": "New."}, ("changed articles", "created updates")),
    "/notes/share": Write({"note_id": FIRST, "recipients": ["Ana"]}, ("created shared",)),
    "/rss/publish": Write({"title": "This week", "content": "Little."}, ("created published",)),
    "/scheduler/jobs/create": Write(_JOB, ("created jobs", "created created_jobs")),
    "/scheduler/jobs/update": Write({"job_id": FIRST, "tags": ["seen"]}, ("changed jobs", "created updated_jobs")),
    "/scheduler/jobs/delete": Write({"job_id": FIRST}, ("deleted jobs", "created deleted_jobs")),
    "/config/integrations/update": Write(
        {"integration_id": FIRST, "notes": "Checked."}, ("changed integrations", "created updates")
    ),
    "/config/notify": Write(_MAIL, ("created notifications",)),
    "/web/notify": Write(_NOTICE, ("created notifications",)),
}


def script(task: Task) -> list[ScriptStep]:
    """A call of every tool of `task` that writes, as far as there is a record to write to."""
    return [
        ScriptStep(call=tool, args=args)
        for path in WRITES
        for service in task.services
        for tool, args in _calls(service, path)
    ]


def _calls(service: ClawEvalService, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    collection = KINDS[service.kind].collection if service.kind in KINDS else None
    first = next(iter(service.records.get(collection or "", [])), {})
    args = {name: first.get(name) if value is FIRST else value for name, value in WRITES[path].args.items()}
    if None not in args.values():
        yield from ((tool.name, args) for tool in service.tools if service.routes.get(tool.name) == path)
