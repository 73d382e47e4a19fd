"""Dates as Claw-Eval's fixtures write them.

Knows ISO 8601 texts with `Z`, an offset or nothing. Knows no clock.
"""

from __future__ import annotations

from datetime import UTC, datetime


def as_written(text: str) -> datetime:
    """The moment with the offset it was written with, or none. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def moment(text: str) -> datetime:
    """The same, without an offset counting as UTC. Raises ValueError."""
    written = as_written(text)
    return written if written.tzinfo else written.replace(tzinfo=UTC)


def stamp(when: datetime) -> str:
    """Wall time of `when` with a `Z` behind it, whatever its offset is: upstream's bug, kept for its mode."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
