"""Taking the lease of a stream, also from a process of this machine that died with it.

Knows who is alive. Does not know what is appended. The log checks the lease at each commit, so that a wrong guess here
costs a writer its lease and never an event.
"""

from __future__ import annotations

from ..events.appender import Appender
from ..events.errors import LeaseHeld
from ..events.log import Log
from . import wall


def take(log: Log, stream: str) -> Appender:
    """Open a stream to append to it. Raises LeaseHeld if somebody has it who may be alive, and StreamEnded."""
    try:
        return log.open(stream, wall.holder(), wall.now())
    except LeaseHeld as held:
        if not wall.is_gone(held.holder):
            raise
        return log.open(stream, wall.holder(), wall.now(), steal=held.holder)
