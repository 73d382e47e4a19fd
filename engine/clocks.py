"""Virtual time as people read it.

Knows clocks and lengths of time. Does not know events. Lengths and moments are integers of microseconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def clock_time(start: datetime, at: int) -> str:
    """The time of day `at` after `start`, as `09:04:21`; `+1d 09:04:21` on the day after the first."""
    moment = start + timedelta(microseconds=at)
    days = (moment.date() - start.date()).days
    text = moment.strftime("%H:%M:%S")
    return f"+{days}d {text}" if days else text


def day(start: datetime, at: int = 0) -> str:
    """The date, as `Tue 2026-03-03`."""
    return (start + timedelta(microseconds=at)).strftime("%a %Y-%m-%d")


def length(duration: int) -> str:
    """A length of time in its two largest units, as `1 h 12 m`, `55 m`, `18.2 s` or `40 ms`."""
    if duration < 0:
        return f"-{length(-duration)}"
    if duration < SECOND:
        return f"{duration // 1000} ms" if duration >= 1000 else f"{duration} µs"
    if duration < MINUTE:
        tenths = duration * 10 // SECOND
        return f"{tenths // 10}.{tenths % 10} s" if tenths % 10 else f"{tenths // 10} s"
    for size, unit, part, below in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "m"), (MINUTE, "m", SECOND, "s")):
        if duration >= size:
            whole, rest = divmod(duration, size)
            rest //= part
            return f"{whole} {unit} {rest} {below}" if rest else f"{whole} {unit}"
    raise AssertionError(duration)
