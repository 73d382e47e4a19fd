"""Durations as people write them: `90s`, `4m`, `1h30m`, `2d`.

Knows the notation. Does not know what a duration is for. In memory a duration is an integer of microseconds.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Microseconds: TypeAlias = int

_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_PART = re.compile(r"([0-9]{1,9})(ms|us|[dhms])")
LONGEST = 100 * 366 * _UNITS["d"]
"""A hundred years: virtual time stays far from the end of the calendar and of 64 bits."""


class DurationError(ValueError):
    """A text that is no duration."""


def microseconds(text: str) -> int:
    """The length of a duration text. Raises `DurationError`."""
    total, position, previous = 0, 0, ""
    order = list(_UNITS)
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or (previous and order.index(part[2]) <= order.index(previous)):
            break
        total += int(part[1]) * _UNITS[part[2]]
        previous, position = part[2], part.end()
    if not text or position < len(text):
        raise DurationError(f"{text!r} is not a duration; write it like 90s, 4m, 1h30m or 2d.")
    if total > LONGEST:
        raise DurationError(f"{text!r} is longer than a hundred years.")
    return total


def duration(length: int) -> str:
    """The shortest text for so many microseconds (not negative)."""
    if length < 0:
        raise DurationError("A duration cannot be negative.")
    parts = []
    for unit, size in _UNITS.items():
        count, length = divmod(length, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
