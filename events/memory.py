"""A log in memory, for runs whose events nobody will look for tomorrow, and for tests.

Knows how to keep streams in dictionaries. Promises all that other logs promise, except to be there after the process:
same bytes, same digests, same leases, same errors; an append is committed at once.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Unpack

import msgspec
import trio

from .appender import Appender
from .chain import GENESIS, Finding, RawEvent
from .codec import Blob, blob_of, decode
from .errors import Closed, LogLocked, MissingBlob, NotWriting
from .event import Event, Json
from .log import (
    LEASE,
    PREFIX,
    Filters,
    Grade,
    Log,
    Observation,
    Piece,
    StreamRow,
    begun_elsewhere,
    check_lease,
    check_observed,
    checked_pieces,
    lease_lost,
    new_row,
    the_one,
    writing_over,
)
from .normalise import normalise


class _Stream:
    """All that is kept of one stream. `lease` counts how often it was opened, as a file would."""

    def __init__(self, key: int, row: StreamRow) -> None:
        self.key = key
        self.row = row
        self.events: list[RawEvent] = []
        self.observations: dict[tuple[int, str], str] = {}
        self.used: dict[str, None] = {}
        self.lease = 0
        self.holder: str | None = None
        self.clocks = 0.0
        """Wall clock less trio's, when it was opened."""

    def until(self) -> float:
        """When the lease runs out: it counts as renewed now, because a writer here is alive while it is open."""
        return self.clocks + trio.current_time() + LEASE

    def change(self, **fields: object) -> None:
        self.row = msgspec.structs.replace(self.row, **fields)


class MemoryLog(Log):
    """A log that ends with the process, for use in one thread."""

    eager = False

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}
        self._keys = itertools.count(1)
        self._blobs: dict[str, bytes] = {}
        self._grades: dict[tuple[int, str], Grade] = {}
        self._writing = False
        self._opened: dict[Appender, None] = {}
        self._closed = False

    # --- writing ---------------------------------------------------------------------------------------------------

    def create(self, row: StreamRow) -> None:
        self._add(new_row(row))

    def _add(self, row: StreamRow) -> _Stream:
        self._check()
        if row.id in self._streams:
            raise begun_elsewhere(row.id, "this log")
        stream = self._streams[row.id] = _Stream(next(self._keys), row)
        return stream

    def begin(self, row: StreamRow, holder: str, now: float) -> Appender:
        self._check_writing()
        self.create(row)
        return self.open(row.id, holder, now)

    def open(self, stream: str, holder: str, now: float, *, steal: bool | str = False) -> Appender:
        self._check_writing()
        found = self._find(stream)
        check_lease(found.row, found.holder, found.until(), now, steal)
        found.lease += 1
        found.holder, found.clocks = holder, now - trio.current_time()
        found.change(status="running", reason="")
        digest = found.events[-1][2] if found.events else GENESIS
        appender = Appender(self, found.row.id, found.key, found.lease, found.row.count, digest)
        self._opened[appender] = None
        return appender

    def _check_writing(self) -> None:
        if not self._writing:
            raise NotWriting("open streams inside `async with log.writing():`")

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        self._check()
        if self._writing:
            raise LogLocked("this log is being written already; share that `writing()`")
        self._writing = True
        try:
            yield
        finally:
            for appender in self._opened:
                appender.fail(writing_over(appender.stream))
                stream = self._held(appender)
                if stream is not None:
                    stream.holder = None
                    stream.change(status="suspended")
            self._opened.clear()
            self._writing = False

    def arrived(self, appender: Appender, events: int, size: int) -> None:
        """Commit it: part of the protocol between a log and its appenders."""
        part = appender.take()
        stream = self._held(appender)
        if stream is None or stream.row.count != part.before:
            appender.fail(lease_lost(appender.stream))
            return
        stream.events += part.rows
        for blob in part.blobs:
            self._keep(stream, blob)
        for seq, name, blob in part.observations:
            self._observe(stream, seq, name, blob)
        if part.rows:
            stream.change(count=part.count, digest=part.digest.hex())
        if part.closing is not None:
            del self._opened[appender]
            stream.holder = None
            stream.change(status=part.closing[0], reason=part.closing[1])
        if part.grade is not None:
            self.put_grade(*part.grade)

    async def barrier(self, appender: Appender) -> None:
        await trio.lowlevel.checkpoint()

    def _held(self, appender: Appender) -> _Stream | None:
        """The stream, if the lease that `appender` took is still the one that counts."""
        stream = self._streams.get(appender.stream)
        if stream is None or (stream.key, stream.lease) != (appender.key, appender.lease) or stream.holder is None:
            return None
        return stream

    def recent(self, digest: str) -> bytes:
        return self.blob(digest)

    def put_observation(self, stream: str, seq: int, name: str, content: bytes) -> None:
        found = self._find(stream)
        check_observed(found.row, seq)
        self._observe(found, seq, name, blob_of(content))

    def _observe(self, stream: _Stream, seq: int, name: str, blob: Blob) -> None:
        self._keep(stream, blob)
        stream.observations[seq, name] = blob.digest

    def _keep(self, stream: _Stream, blob: Blob) -> None:
        self._blobs.setdefault(blob.digest, blob.content)
        stream.used[blob.digest] = None

    def restore(self, pieces: Iterable[Piece]) -> None:
        # All are looked at before the first is written, so that nothing has to be taken back.
        checked = list(checked_pieces(pieces))
        names = [piece.id for piece in checked if isinstance(piece, StreamRow)]
        for name in names:
            if name in self._streams or names.count(name) > 1:
                raise begun_elsewhere(name, "this log")
        stream: _Stream | None = None
        for piece in checked:
            if isinstance(piece, StreamRow):
                stream = self._add(piece)
                continue
            assert stream is not None
            match piece:
                case Blob():
                    self._keep(stream, piece)
                case Observation():
                    self._observe(stream, piece.seq, piece.name, Blob(piece.digest, piece.content))
                case _:
                    stream.events.append(piece)

    def delete(self, stream: str) -> None:
        name = self._find(stream).row.id
        doomed = [found for found in self._streams.values() if name in (found.row.id, found.row.of)]
        for found in doomed:
            del self._streams[found.row.id]
            for key in [key for key in self._grades if key[0] == found.key]:
                del self._grades[key]
        used = {digest for found in self._streams.values() for digest in found.used}
        for digest in [digest for found in doomed for digest in found.used if digest not in used]:
            self._blobs.pop(digest, None)

    def put_grade(self, stream: str, grader: str, row: Json) -> None:
        found = self._find(stream)
        self._grades[found.key, grader] = Grade(found.row.id, grader, normalise(row)[0])

    def clear_grades(self) -> None:
        self._check()
        self._grades.clear()

    # --- reading ---------------------------------------------------------------------------------------------------

    def rows(self, **filters: Unpack[Filters]) -> list[StreamRow]:
        self._check()
        given = [(name, value) for name, value in filters.items() if value is not None]
        rows = sorted((stream.row for stream in self._streams.values()), key=lambda row: row.created)
        return [row for row in rows if all(getattr(row, name) == value for name, value in given)]

    def row(self, stream: str) -> StreamRow:
        return self._find(stream).row

    def _find(self, stream: str) -> _Stream:
        self._check()
        if stream in self._streams:
            return self._streams[stream]
        candidates = sorted(name for name in self._streams if PREFIX.fullmatch(stream) and name.startswith(stream))
        return self._streams[the_one(stream, candidates)]

    def read(self, stream: str, start: int = 0, stop: int | None = None) -> Iterator[Event]:
        return (decode(data, self.blob) for _, data, _ in self.read_raw(stream, start, stop))

    def read_raw(self, stream: str, start: int = 0, stop: int | None = None) -> Iterator[RawEvent]:
        events = self._find(stream).events
        return itertools.islice(events, max(start, 0), len(events) if stop is None else min(max(stop, 0), len(events)))

    def blob(self, digest: str) -> bytes:
        self._check()
        if digest not in self._blobs:
            raise MissingBlob(f"the large value {digest[:12]} is not in this log", digest=digest)
        return self._blobs[digest]

    def observations(self, stream: str) -> Iterator[Observation]:
        kept = sorted(self._find(stream).observations.items())
        return iter([Observation(seq, name, digest, self._blobs[digest]) for (seq, name), digest in kept])

    def grades(self, stream: str | None = None, grader: str | None = None) -> list[Grade]:
        key = None if stream is None else self._find(stream).key
        found = sorted(self._grades.items())
        return [grade for (of, by), grade in found if key in (None, of) and grader in (None, by)]

    def damage(self, stream: str) -> tuple[Finding, ...]:
        self._find(stream)
        return ()  # nobody else can reach it

    def file_damage(self) -> tuple[str, ...]:
        self._check()
        return ()

    def close(self) -> None:
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise Closed("this log was closed")
