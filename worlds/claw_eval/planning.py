"""Claw-Eval's calendar, task list and job scheduler.

Knows their endpoints, how new identifiers repeat after a deletion, and what the calendar does with dates. In sane mode
a day is a day on the event's own clock, and an event whose start cannot be read is on no day; upstream, one such event
makes every listing fail.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ...events.event import Json
from ..service import Record
from .dates import as_written, moment, stamp
from .endpoint import Answer, Endpoint, Kind, Request, delete_one, get_one, missing, shown, update_one
from .validation import Field, defaulted, nullable

# --- calendar --------------------------------------------------------------------------------------------


def _on_days(row: Record, first: datetime, days: int, request: Request) -> bool:
    last = first + timedelta(days=days)
    if request.mode == "upstream":
        return first.replace(tzinfo=UTC) <= as_written(row["start_time"]) < last.replace(tzinfo=UTC)
    try:
        return first <= as_written(row["start_time"]).replace(tzinfo=None) < last
    except ValueError:
        return False


def _agenda(request: Request, days: int) -> list[Record] | None:
    """Events that start on the asked days, by the text of their start; None if the date is no date."""
    try:
        first = datetime.strptime(request.body["date"], "%Y-%m-%d")
    except ValueError:
        return None
    rows = [row for row in request.rows("events") if _on_days(row, first, days, request)]
    return sorted(rows, key=lambda row: str(row["start_time"]))


def _no_date(request: Request) -> Answer:
    return Answer({"error": f"Invalid date format: {request.body['date']}"})


def _list_events(request: Request) -> Answer:
    events = _agenda(request, request.body["days"])
    return _no_date(request) if events is None else Answer({"events": events, "total": len(events)})


def _user_events(request: Request) -> Answer:
    """Whoever has `user` as a part of their name attends; organisers do not count."""
    events, user = _agenda(request, 1), request.body["user"]
    if events is None:
        return _no_date(request)
    theirs = [row for row in events if any(user in name for name in row["attendees"])]
    return Answer({"events": theirs, "total": len(theirs), "user": user})


def _create_event(request: Request) -> Answer:
    number = len(request.rows("events")) + 1
    event = {"event_id": f"evt_{number:03d}", **request.body, "recurring": False}
    changes = (request.create("events", event), request.create("created_events", event))
    return Answer({"status": "created", "event": event}, changes)


def shift_events(rows: list[dict[str, Json]], now: datetime) -> list[dict[str, Json]]:
    """Moves the earliest event to tomorrow, at its own wall time read as UTC, and the others along with it."""
    if not rows:
        return rows
    earliest = min(moment(row["start_time"]) for row in rows)
    day = (now + timedelta(days=1)).astimezone(UTC)
    target = day.replace(hour=earliest.hour, minute=earliest.minute, second=0, microsecond=0)
    moved = target - earliest
    return [{**row, **{end: stamp(moment(row[end]) + moved) for end in ("start_time", "end_time")}} for row in rows]


CALENDAR = Kind(
    "calendar",
    (
        Endpoint("/calendar/events", (Field("date"), defaulted("days", 1, "integer")), _list_events, reads=True),
        get_one("/calendar/events/get", "events", "event_id", "Event"),
        Endpoint(
            "/calendar/events/create",
            (
                Field("title"),
                Field("start_time"),
                Field("end_time"),
                defaulted("attendees", [], "strings"),
                defaulted("location", ""),
            ),
            _create_event,
        ),
        Endpoint("/calendar/user_events", (Field("user"), Field("date")), _user_events, reads=True),
        delete_one("/calendar/events/delete", "events", "event_id", "Event", "event", "deleted"),
    ),
    sides=("deleted", "created_events"),
    collection="events",
    fixture="events.json",
    default="T003zh",
    shift=shift_events,
)

# --- todo ------------------------------------------------------------------------------------------------


def _list_tasks(request: Request) -> Answer:
    status = request.body["status"]
    tasks = [row for row in request.rows("tasks") if status in ("all", row["status"])]
    return Answer({"tasks": tasks, "total": len(tasks)})


def _create_task(request: Request) -> Answer:
    task = {
        "task_id": f"todo_{len(request.rows('tasks')) + 1:03d}",
        "title": request.body["title"],
        "description": request.body["description"] or "",
        "status": "pending",
        "priority": request.body["priority"],
        "due_date": request.body["due_date"],
        "tags": [],
        "created_at": request.timestamp(),
    }
    return Answer({"status": "created", "task": task}, (request.create("tasks", task),))


TODO = Kind(
    "todo",
    (
        Endpoint("/todo/tasks", (defaulted("status", "all"),), _list_tasks, reads=True),
        update_one(
            "/todo/tasks/update",
            "tasks",
            "Task",
            "task",
            (
                Field("task_id"),
                nullable("title"),
                nullable("priority"),
                nullable("status"),
                nullable("tags", "strings"),
            ),
            "updated_tasks",
        ),
        Endpoint(
            "/todo/tasks/create",
            (Field("title"), nullable("description"), defaulted("priority", "medium"), nullable("due_date")),
            _create_task,
        ),
        delete_one("/todo/tasks/delete", "tasks", "task_id", "Task", "task", "deleted"),
    ),
    sides=("deleted", "updated_tasks"),
    collection="tasks",
    fixture="tasks.json",
    default="T007zh",
)

# --- scheduler -------------------------------------------------------------------------------------------

_JOB = ("job_id", "name", "cron_expression", "enabled")


def _listed_job(row: Record) -> dict[str, Json]:
    late = {field: row.get(field) for field in ("last_status", "last_run", "next_run")}
    return {**shown(row, _JOB), **late, "tags": row.get("tags", [])}


def _list_jobs(request: Request) -> Answer:
    """`status` asks for the status of the last run."""
    status, enabled, tag = (request.body[field] for field in ("status", "enabled", "tag"))
    jobs = [
        _listed_job(row)
        for row in request.rows("jobs")
        if (not status or row.get("last_status") == status)
        and (enabled is None or row["enabled"] == enabled)
        and (not tag or tag in row.get("tags", []))
    ]
    return Answer({"jobs": jobs, "total": len(jobs)})


def _job_history(request: Request) -> Answer:
    """`total` counts the whole history, not what is returned."""
    found = request.find("jobs", "job_id", request.body["job_id"])
    if found is None:
        return missing("Job", request.body["job_id"])
    history = found[1].get("execution_history", [])
    shortened = history[: request.body["limit"]]
    return Answer({"job_id": request.body["job_id"], "history": shortened, "total": len(history)})


def _create_job(request: Request) -> Answer:
    body = request.body
    job = {
        "job_id": f"JOB-{len(request.rows('jobs')) + 1:03d}",
        **shown(body, ("name", "cron_expression", "action", "enabled")),
        "last_run": None,
        "next_run": None,
        "last_status": None,
        "created_by": body["created_by"],
        "tags": body["tags"] or [],
        "created_at": request.timestamp(),
        "execution_history": [],
    }
    return Answer({"status": "created", "job": job}, (request.create("jobs", job), request.create("created_jobs", job)))


SCHEDULER = Kind(
    "scheduler",
    (
        Endpoint(
            "/scheduler/jobs",
            (nullable("status"), nullable("enabled", "boolean"), nullable("tag")),
            _list_jobs,
            reads=True,
        ),
        get_one("/scheduler/jobs/get", "jobs", "job_id", "Job"),
        Endpoint(
            "/scheduler/jobs/history", (Field("job_id"), defaulted("limit", 10, "integer")), _job_history, reads=True
        ),
        Endpoint(
            "/scheduler/jobs/create",
            (
                Field("name"),
                Field("cron_expression"),
                Field("action"),
                defaulted("enabled", True, "boolean"),
                nullable("tags", "strings"),
                nullable("created_by"),
            ),
            _create_job,
        ),
        update_one(
            "/scheduler/jobs/update",
            "jobs",
            "Job",
            "job",
            (
                Field("job_id"),
                nullable("enabled", "boolean"),
                nullable("cron_expression"),
                nullable("name"),
                nullable("action"),
                nullable("tags", "strings"),
            ),
            "updated_jobs",
        ),
        delete_one("/scheduler/jobs/delete", "jobs", "job_id", "Job", "job", "deleted_jobs"),
    ),
    sides=("created_jobs", "updated_jobs", "deleted_jobs"),
    collection="jobs",
    fixture="jobs.json",
    default="T041zh",
)
