"""Appending: how a step becomes bytes, digests and blobs that wait to be committed.

Knows the order and the chain of one stream. Does not know how a store commits, nor when: that is its `Sink`. The same
appender serves every store, so that no store can chain or check differently.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from .chain import RawEvent
from .codec import Blob, blob_of, encode_into
from .errors import Closed, LogError, WrongSeq
from .event import Event, Json

Observed: TypeAlias = tuple[int, str, Blob]
"""The `seq` of the event at which it was observed, its name, its content."""


class Part(msgspec.Struct):
    """What one commit does to one stream: all of it, or nothing."""

    appender: Appender
    before: int
    """Events that the stream must have, for the commit to be in order."""
    rows: list[RawEvent]
    blobs: list[Blob]
    observations: list[Observed]
    closing: tuple[str, str] | None
    """The status and reason with which the lease is given up."""
    grade: tuple[str, str, Json] | None
    """What is put into the table of grades: an episode's id, the grader, the row."""
    count: int
    digest: bytes


class Sink(Protocol):
    """What a store does with what appenders have waiting."""

    @property
    def eager(self) -> bool: ...

    def arrived(self, appender: Appender, events: int, size: int) -> None:
        """Something new waits in `appender`: so many events, about so many bytes."""
        ...

    async def barrier(self, appender: Appender) -> None:
        """Wait until all that waits in `appender` is committed, or has failed. Always a checkpoint."""
        ...


class Appender:
    """Who may append to a stream. `key` and `lease` are the store's names for the stream and for the right to it."""

    def __init__(self, sink: Sink, stream: str, key: int, lease: int, count: int, digest: bytes) -> None:
        self.stream = stream
        self.key = key
        self.lease = lease
        self.count = count
        """Events appended, committed or not."""
        self.digest = digest
        """Digest (32 bytes) of the last of them; GENESIS before the first."""
        self._sink = sink
        self._rows: list[RawEvent] = []
        self._blobs: list[Blob] = []
        self._observations: list[Observed] = []
        self._closing: tuple[str, str] | None = None
        self._grade: tuple[str, str, Json] | None = None
        self._closed = False
        self._error: LogError | None = None
        self._told = False

    @property
    def eager(self) -> bool:
        """Whether each append is on the disk before it returns, so that appending step by step makes a difference."""
        return self._sink.eager

    def append(self, events: Sequence[Event]) -> None:
        """Append one step: all its events are committed together, or none.

        Cheap, and does not wait for the disk, unless far too much waits already, or the log's durability is `each`.
        Raises WrongSeq or NotJson, and appends nothing; raises what went wrong in an earlier commit, as LogFull.
        """
        self._check()
        count, digest, size = self.count, self.digest, 0
        sha256 = hashlib.sha256
        rows: list[RawEvent] = []
        blobs: list[Blob] = []
        for event in events:
            if event.seq != count:
                raise WrongSeq(f"stream {self.stream}: the next event is {count}, but event {event.seq} was appended")
            data = encode_into(event, blobs)
            digest = sha256(digest + data).digest()
            rows.append((count, data, digest))
            size += len(data)
            count += 1
        size += sum(len(blob.content) for blob in blobs)
        self._rows += rows
        self._blobs += blobs
        self.count, self.digest = count, digest
        self._sink.arrived(self, len(rows), size)
        self._tell()

    def observe(self, seq: int, content: bytes, name: str = "response") -> None:
        """Keep `content`, seen at event `seq`, outside the chain; committed with the event, if that is still waiting.

        May come before its event is appended. A second one of the same name at the same event replaces the first.
        """
        self._check()
        self._observations.append((seq, name, blob_of(content)))
        if seq < self.count:
            self._sink.arrived(self, 0, len(content))

    async def barrier(self) -> None:
        """Return when everything appended and observed so far is committed. Raises what went wrong instead."""
        await self._sink.barrier(self)
        self._tell()

    async def close(
        self,
        status: Literal["suspended", "ended"] = "suspended",
        reason: str = "",
        grade: tuple[str, str, Json] | None = None,
    ) -> None:
        """Commit everything, write `status` and `reason` into the stream's row, and give up the lease.

        `grade` (an episode's id, the grader, the row) is kept in the table of grades in the same commit.
        """
        self._check()
        self._closing, self._grade = (status, reason), grade
        self._closed = True
        self._sink.arrived(self, 0, 0)
        await self.barrier()

    def take(self) -> Part:
        """What waits, for a commit that begins now. Observations of events to come stay."""
        now = [seen for seen in self._observations if seen[0] < self.count]
        before, closing, grade = self.count - len(self._rows), self._closing, self._grade
        part = Part(self, before, self._rows, self._blobs, now, closing, grade, self.count, self.digest)
        self._observations = [seen for seen in self._observations if seen[0] >= self.count]
        self._rows, self._blobs, self._closing, self._grade = [], [], None, None
        return part

    def fail(self, error: LogError) -> None:
        """From now on everything here raises `error`, and nothing more is committed: the first one stays."""
        if self._error is None:
            self._error = error

    @property
    def failed(self) -> bool:
        return self._error is not None

    @property
    def untold(self) -> LogError | None:
        """What went wrong, if nobody has been told yet."""
        return None if self._told else self._error

    def _tell(self) -> None:
        if self._error is not None:
            self._told = True
            raise self._error

    def _check(self) -> None:
        self._tell()
        if self._closed:
            raise Closed(f"stream {self.stream}: the appender was closed; open the stream again to append more")
