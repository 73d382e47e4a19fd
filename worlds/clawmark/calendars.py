"""Calendars of events, with times as they were written.

Knows that times without an offset are the usual ones, and compares all of them as they stand on the wall. Does not know
recurrence: a tool that is asked for it refuses, and no task seeds any.
"""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Annotated

import msgspec

from ...events.event import Json, RecordChanged, RecordDeleted
from ..service import Instant, Outcome, Record, RecordEvent, Records
from .verbs import Nothing, Numbered, Refused, VerbService, derived_id, found, unknown, verb

NAME = "calendars"
CALENDARS = Numbered(NAME, "calendars")
EVENTS = Numbered(NAME, "events")


def create_calendar(records: Records, name: str) -> RecordEvent | None:
    """None where there is one of this name."""
    if found(records, "calendars", "name", name):
        return None
    key = CALENDARS.next(records)
    return CALENDARS.create(
        key, {"name": name, "url": f"http://radicale:5232/benchmark/{derived_id('calendar', key)}/"}
    )


def calendar_of(records: Records, name: str) -> Record:
    """Raises Refused."""
    pair = found(records, "calendars", "name", name)
    if pair is None:
        raise unknown(records, "calendars", "name", "calendar", name)
    return pair[1]


def add_event(
    records: Records,
    calendar: str,
    summary: str,
    dtstart: str,
    dtend: str,
    description: str = "",
    location: str = "",
    uid: str | None = None,
) -> RecordEvent:
    """Raises Refused."""
    calendar_of(records, calendar)
    key = EVENTS.next(records)
    value: dict[str, Json] = {
        "uid": uid or derived_id("event", key),
        "calendar": calendar,
        "summary": summary,
        "dtstart": moment(dtstart),
        "dtend": moment(dtend),
        "description": description,
        "location": location,
    }
    if on_the_wall(value["dtend"]) < on_the_wall(value["dtstart"]):
        raise Refused(f"The event would end ({dtend}) before it starts ({dtstart}).")
    return EVENTS.create(key, value)


def delete_event(records: Records, calendar: str, uid: str) -> RecordEvent:
    """Raises Refused."""
    return RecordDeleted(service=NAME, collection="events", key=_event(records, calendar, uid)[0])


def _event(records: Records, calendar: str, uid: str) -> tuple[str, Record]:
    for key, event in records["events"].items():
        if event["calendar"] == calendar and event["uid"] == uid:
            return key, event
    raise Refused(f"There is no event {uid[:60]!r} in the calendar {calendar[:80]!r}.", "not_found")


def events(records: Records, calendar: str, start: str | None = None, end: str | None = None) -> list[dict[str, Json]]:
    """Those that overlap a time, in the order in which they were made. Raises Refused."""
    calendar_of(records, calendar)
    since = datetime.min if start is None else on_the_wall(moment(start))
    until = datetime.max if end is None else on_the_wall(moment(end))
    return [
        _shown(event)
        for event in records["events"].values()
        if event["calendar"] == calendar
        and on_the_wall(event["dtstart"]) < until
        and max(on_the_wall(event["dtend"]), on_the_wall(event["dtstart"])) > since
    ]


def _shown(event: Record) -> dict[str, Json]:
    shown = {name: event[name] for name in ("uid", "summary", "dtstart", "dtend")}
    return shown | {name: event[name] for name in ("description", "location") if event[name]}


def moment(written: str) -> str:
    """A time or a day, in its usual form. Raises Refused."""
    text = written.strip()
    try:
        if len(text) == 10:
            return date.fromisoformat(text).isoformat()
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        raise Refused(f"{written[:60]!r} is no time; write it like 2026-03-02T09:30:00.") from None


def on_the_wall(written: str) -> datetime:
    """Of a day, its beginning. Offsets do not count."""
    if len(written) == 10:
        return datetime.combine(date.fromisoformat(written), time())
    return datetime.fromisoformat(written).replace(tzinfo=None)


# --- tools -------------------------------------------------------------------------------------------------

_Calendar = Annotated[str, msgspec.Meta(description="Its name.")]
_Time = Annotated[str, msgspec.Meta(description="Such as 2026-03-02T09:30:00, or 2026-03-02 for a whole day.")]


def _list(_: Nothing, records: Records, now: Instant) -> Outcome:
    return Outcome({"calendars": [each["name"] for each in records["calendars"].values()]})


class _Events(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    calendar: _Calendar
    start: _Time | None = None
    end: _Time | None = None


def _events(args: _Events, records: Records, _: Instant) -> Outcome:
    return Outcome({"events": list(events(records, args.calendar, args.start, args.end))})


class _Create(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    calendar: _Calendar
    summary: str
    start: _Time
    end: _Time
    description: str = ""
    location: str = ""


def _create(args: _Create, records: Records, _: Instant) -> Outcome:
    created = add_event(records, args.calendar, args.summary, args.start, args.end, args.description, args.location)
    return Outcome({"uid": derived_id("event", created.key)}, changes=(created,))


class _Update(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    calendar: _Calendar
    uid: str
    summary: str | None = None
    start: _Time | None = None
    end: _Time | None = None
    description: str | None = None
    location: str | None = None


def _update(args: _Update, records: Records, _: Instant) -> Outcome:
    key, event = _event(records, args.calendar, args.uid)
    given: dict[str, Json] = {
        "summary": args.summary,
        "dtstart": None if args.start is None else moment(args.start),
        "dtend": None if args.end is None else moment(args.end),
        "description": args.description,
        "location": args.location,
    }
    new = {name: value for name, value in given.items() if value is not None}
    merged = {**event, **new}
    if on_the_wall(merged["dtend"]) < on_the_wall(merged["dtstart"]):
        raise Refused("The event would end before it starts.")
    return Outcome({"uid": args.uid}, changes=(RecordChanged(service=NAME, collection="events", key=key, set=new),))


class _Delete(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    calendar: _Calendar
    uid: str


def _delete(args: _Delete, records: Records, _: Instant) -> Outcome:
    return Outcome({"uid": args.uid}, changes=(delete_event(records, args.calendar, args.uid),))


CALENDAR = VerbService(
    name=NAME,
    verbs=(
        verb("calendar_list", "All calendars.", Nothing, _list, reads=True),
        verb("calendar_events", "Events of a calendar; of a time, if one is given.", _Events, _events, reads=True),
        verb("calendar_create_event", "Add an event to a calendar.", _Create, _create),
        verb("calendar_update_event", "Change an event.", _Update, _update),
        verb("calendar_delete_event", "Delete an event.", _Delete, _delete),
    ),
)
