"""Logs that break off in the middle of an episode."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from coworkenv.engine.recording import Unrecorded
from coworkenv.events.event import Event
from coworkenv.events.memory import MemoryLog


class Steps(Unrecorded):
    """Remembers where steps end: only there can a log break off."""

    handful = 1

    def __init__(self) -> None:
        self.ends: list[int] = []

    def append(self, events: Sequence[Event]) -> None:
        self.ends.append(events[-1].seq + 1)


async def broken_off(whole: MemoryLog, stream: str, count: int) -> MemoryLog:
    """A log that holds the first events of an episode."""
    log = MemoryLog()
    row = msgspec.structs.replace(whole.row(stream), status="suspended", count=0, digest="")
    async with log.writing():
        appender = log.begin(row, "t", 0.0)
        appender.append(list(whole.read(stream))[:count])
        await appender.close("suspended", "a test")
    return log
