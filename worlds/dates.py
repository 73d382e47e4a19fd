"""Dates and times in expressions: ISO 8601 texts, moved, taken apart, and brought from one zone to another.

Knows calendars and the time zone database. Does not know any clock: there is no now here.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from ..events.event import Json
from .durations import DurationError, microseconds
from .values import NUMBERS, Spend, ValueProblem, number, text

FIRST, LAST = datetime(2, 1, 1), datetime(9998, 12, 31)
"""Between these, local, anything can take place."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?")


def moment(value: Json, what: str) -> datetime:
    """A date and time, `2026-03-13T09:00`; a date alone is its midnight."""
    written_as = text(value, what)
    if _DAY.fullmatch(written_as) or _MOMENT.fullmatch(written_as):
        try:
            return datetime.fromisoformat(written_as)
        except ValueError:
            pass
    raise ValueProblem(f"{what} needs a date or time such as 2026-03-13T09:00, not {written_as[:40]!r}.")


def _like(result: datetime, original: str) -> str:
    """The result, as precise as the original was."""
    if _DAY.fullmatch(original):
        if (result.hour, result.minute, result.second, result.microsecond) != (0, 0, 0, 0):
            raise ValueProblem("a date without a time can only be moved by whole days.")
        return result.date().isoformat()
    precision = "seconds" if result.second or original.count(":") > 1 + (original[-6:-5] in ("+", "-")) else "minutes"
    return result.isoformat("T", precision)


def date_add(value: Json, length: Json) -> str:
    start, by = moment(value, "date_add"), text(length, "date_add")
    try:
        size = microseconds(by.removeprefix("-"))
        return _like(start + timedelta(microseconds=-size if by.startswith("-") else size), text(value, "date_add"))
    except DurationError as error:
        raise ValueProblem(str(error)) from None
    except OverflowError:
        raise ValueProblem("the date is beyond the calendar.") from None


def workday_add(value: Json, count: Json, spend: Spend) -> str:
    """The n-th Monday to Friday after (or, negative, before) a day. Holidays are records, not calendar."""
    day, left = moment(value, "workday_add"), number(count, "workday_add")
    if not isinstance(left, int) or abs(left) > 10_000:
        raise ValueProblem("workday_add needs a whole number of at most 10000 days.")
    step = timedelta(days=1 if left > 0 else -1)
    spend(abs(left))
    left = abs(left)
    try:
        while left:
            day += step
            left -= day.weekday() < 5
    except OverflowError:
        raise ValueProblem("the date is beyond the calendar.") from None
    return _like(day, text(value, "workday_add"))


def zone(name: str) -> ZoneInfo:
    """A time zone of the IANA database. Raises `ValueProblem`."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueProblem(f"{name!r} is not a time zone; write it like Europe/Berlin or UTC.") from None


def placed(local: datetime, name: str) -> datetime:
    """A local time in its zone. Raises `ValueProblem` for one that the clocks skip or show twice."""
    early = local.replace(tzinfo=zone(name), fold=0)
    late = early.replace(fold=1)
    before, after = early.utcoffset(), late.utcoffset()
    assert before is not None
    assert after is not None
    if before == after:
        return early
    says = "is skipped" if after > before else "comes twice"
    raise ValueProblem(f"{local.isoformat('T', 'minutes')} {says} in {name}, where the clocks change then.")


def check_bounds(local: datetime, length: timedelta) -> None:
    """Raises `ValueProblem` if what begins at `local` and takes `length` comes within a year of the calendar's ends.

    So no zone, and no week that somebody looks ahead, leads out of the calendar.
    """
    if local < FIRST or length > LAST - local:
        raise ValueProblem(
            f"{local.isoformat('T', 'minutes')} is too near the end of the calendar; from the start to the deadline "
            f"all must lie between {FIRST.date()} and {LAST.date()}."
        )


def in_zone(value: Json, before: Json, after: Json) -> str:
    local = moment(value, "in_zone")
    if local.tzinfo is not None:
        raise ValueProblem("in_zone needs a local time, without an offset.")
    try:
        moved = placed(local, text(before, "in_zone")).astimezone(zone(text(after, "in_zone")))
    except OverflowError:
        raise ValueProblem("the date is beyond the calendar.") from None
    return moved.replace(tzinfo=None).isoformat("T", "seconds" if moved.second else "minutes")


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def at_time(day: Json, clock: Json) -> str:
    joined_up = f"{moment(day, 'at_time').date().isoformat()}T{text(clock, 'at_time')}"
    moment(joined_up, "at_time")
    return joined_up


def difference(later: Json, earlier: Json, unit: timedelta, what: str) -> Json:
    end, start = moment(later, what), moment(earlier, what)
    if (end.tzinfo is None) != (start.tzinfo is None):
        raise ValueProblem(f"{what} needs two times with an offset or two without.")
    if unit.days:
        return (end.date() - start.date()).days
    seconds = (end - start) // timedelta(seconds=1)
    return seconds // 60 if seconds % 60 == 0 else NUMBERS.divide(Decimal(seconds), Decimal(60))


def time_of(value: Json) -> str:
    when = moment(value, "time_of")
    return when.strftime("%H:%M:%S" if when.second else "%H:%M")
