"""At what time a Claw-Eval task takes place.

Knows how the date of the story is read off the fixtures. Upstream has no story date: its mail and calendar move their
dates to the wall clock, and its other services keep theirs. Here virtual time begins where no date needs to move:

* with mail: a day after the newest; ten minutes after it if by then the calendar's last event would have begun;
* else with a calendar: a day before its earliest event, at the same time;
* else: at nine on the day after the newest thing that any fixture says *has happened*;
* a task without dates takes place at `DATELESS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ...events.event import Json
from .dates import moment

DATELESS = datetime(2026, 3, 2, 9, tzinfo=UTC)

#: Fields that say when something happened; others (`due_date`, `next_run`, `contract_end`) lie ahead.
HAPPENED = (
    "date",
    "created_at",
    "published_at",
    "last_updated",
    "last_run",
    "last_verified",
    "last_contact_date",
    "completed_at",
    "first_response_at",
    "run_at",
    "run_time",
)


def story_start(fixtures: Mapping[str, Sequence[Json]]) -> datetime:
    """Virtual time 0, with an offset. `fixtures` are the records of a task by collection."""
    mail = sorted(_moments(fixtures.get("messages", ()), ("date",)))
    events = sorted(_moments(fixtures.get("events", ()), ("start_time",)))
    if mail:
        tomorrow = mail[-1] + timedelta(days=1)
        return mail[-1] + timedelta(minutes=10) if events and events[-1] < tomorrow else tomorrow
    if events:
        return events[0] - timedelta(days=1)
    happened = [each for rows in fixtures.values() for each in _moments(rows, HAPPENED)]
    if not happened:
        return DATELESS
    return (max(happened) + timedelta(days=1)).replace(hour=9, minute=0, second=0, microsecond=0)


def _moments(value: Json, fields: Sequence[str]) -> Iterator[datetime]:
    """All that can be read as a date in fields of these names, however deep."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name in fields and isinstance(item, str):
                try:
                    yield moment(item)
                except ValueError:
                    continue
            else:
                yield from _moments(item, fields)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _moments(item, fields)
