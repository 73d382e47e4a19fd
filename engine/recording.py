"""Where a kernel's steps go: into a log, nowhere, or against what a log already holds.

Knows bytes and their order. Does not know why an event is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import trio

from ..events.appender import Appender
from ..events.codec import encode
from ..events.event import Event

HANDFUL = 256


class Recorder(Protocol):
    """Takes steps."""

    @property
    def handful(self) -> int:
        """Events of complete steps that may be given at once, as long as nobody waits for them."""
        ...

    @property
    def replaying(self) -> bool:
        """Whether the steps are still ones that a log already holds."""
        ...

    def append(self, events: Sequence[Event]) -> object:
        """Take the events of one step or of several, all or none."""
        ...

    def observe(self, seq: int, content: bytes, name: str = "response") -> object:
        """Keep what was seen beside the chain."""
        ...

    async def barrier(self) -> None:
        """Return when all that was appended is durable."""
        ...


class Unrecorded:
    """For runs whose only result is their events in memory."""

    handful = 1000
    replaying = False

    def append(self, events: Sequence[Event]) -> None:
        pass

    def observe(self, seq: int, content: bytes, name: str = "response") -> None:
        pass

    async def barrier(self) -> None:
        await trio.lowlevel.checkpoint()


class Recording:
    """Into a log."""

    replaying = False

    def __init__(self, appender: Appender, copied: Sequence[Event] = ()) -> None:
        """`copied` are events that come before the first step, and are committed with it or not at all."""
        self.handful = 1 if appender.eager else HANDFUL
        self._appender = appender
        self._copied = copied
        self.observe = appender.observe
        self.barrier = appender.barrier

    def append(self, events: Sequence[Event]) -> None:
        self._appender.append([*self._copied, *events] if self._copied else events)
        self._copied = ()


class Divergence(Exception):
    """Re-execution gave another event than the log holds. Either side is None where one of them goes on alone."""

    def __init__(self, seq: int, stored: bytes | None, executed: bytes | None) -> None:
        super().__init__(f"event {seq} differs from the log")
        self.seq = seq
        self.stored = stored
        self.executed = executed


class Exhausted(Exception):
    """Re-execution needs an answer of the outside world that the log does not have."""


class Comparing:
    """Requires the steps to be, byte for byte, what `stored` holds; then goes on into `then`, if there is one."""

    def __init__(self, stored: Sequence[bytes], then: Recorder | None = None) -> None:
        self._stored = stored
        self._position = 0
        self._then = then

    @property
    def handful(self) -> int:
        return HANDFUL if self._then is None else self._then.handful

    @property
    def replaying(self) -> bool:
        return self._then is None or self._position < len(self._stored)

    def go_on_into(self, then: Recorder) -> None:
        """Compare no more: whatever comes now is new."""
        self._stored = self._stored[: self._position]
        self._then = then

    def append(self, events: Sequence[Event]) -> None:
        for index, event in enumerate(events):
            if self._position >= len(self._stored):
                self._go_on(events[index:])
                return
            data = encode(event).data
            if data != self._stored[self._position]:
                raise Divergence(event.seq, self._stored[self._position], data)
            self._position += 1

    def _go_on(self, events: Sequence[Event]) -> None:
        if self._then is not None:
            self._then.append(events)
        else:
            raise Divergence(events[0].seq, None, encode(events[0]).data)

    def finish(self) -> None:
        """Raises `Divergence` if the log holds more than was executed."""
        if self._position < len(self._stored):
            raise Divergence(self._position, self._stored[self._position], None)

    def observe(self, seq: int, content: bytes, name: str = "response") -> None:
        if self._then is not None and not self.replaying:
            self._then.observe(seq, content, name)

    async def barrier(self) -> None:
        if self._then is not None and not self.replaying:
            await self._then.barrier()
