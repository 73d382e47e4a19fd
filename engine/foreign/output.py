"""What a worker prints: its beginning and its end, however much there is.

Knows a pipe. Does not know who writes into it. The parent reads it apart from the protocol, so prints disturb nothing.
"""

from __future__ import annotations

import os

import trio

from ..printable import printable_lines

_CHUNK = 1 << 16
_AT_ONCE = 16
"""Chunks that are read before others have their turn."""

_END = 8_000
"""Bytes of the end that a failure carries."""


class Output:
    """At most `kept` bytes of what comes through the pipe `descriptor`, which this owns."""

    def __init__(self, descriptor: int, kept: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._half = kept // 2
        self._beginning = bytearray()
        self._ending = bytearray()
        self._dropped = 0

    async def collect(self) -> None:
        """Reads until nobody can write any more."""
        while self.drain():
            await trio.lowlevel.wait_readable(self._descriptor)
            # A worker that never stops printing must not keep the others waiting.
            await trio.lowlevel.checkpoint()

    def drain(self) -> bool:
        """Takes what is there now. False where nobody can write any more."""
        try:
            for _ in range(_AT_ONCE):
                if not (data := os.read(self._descriptor, _CHUNK)):
                    return False
                self._keep(data)
        except BlockingIOError:
            pass
        return True

    def _keep(self, data: bytes) -> None:
        room = self._half - len(self._beginning)
        self._beginning += data[:room]
        self._ending += data[room:]
        if (over := len(self._ending) - self._half) > 0:
            del self._ending[:over]
            self._dropped += over

    def text(self) -> str:
        """All that was kept, fit for a screen."""
        if not self._dropped:
            return _readable(self._beginning + self._ending)
        dropped = f"\n… {self._dropped:,} bytes dropped …\n"
        return _readable(self._beginning) + dropped + _readable(self._ending)

    def end(self) -> str:
        """The last of it, in short."""
        kept = self._beginning + self._ending
        before = len(kept) - _END + self._dropped
        note = f"… {before:,} bytes before …\n" if before > 0 else ""
        return note + _readable(kept[-_END:])

    def close(self) -> None:
        os.close(self._descriptor)


def _readable(data: bytes | bytearray) -> str:
    return "\n".join(printable_lines(data.decode(errors="replace")))
