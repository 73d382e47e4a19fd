"""The log that people use: one SQLite file, one writer, any number of readers beside it.

Knows how streams are read, and who may write. Does not know what a transaction writes (`transaction`), when to commit
(`writer`), nor how a step becomes bytes (`appender`). Every commit checks, in the same transaction, that the lease is
still ours and that the stream is as long as we think, and writes the stream's new length and digest: a file always
holds whole steps, and rows that agree with them.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import msgspec

from . import schema, seals
from .appender import Appender, Part
from .chain import GENESIS, Finding, RawEvent
from .codec import BAD_JSON, blob_of, decode_many, from_json
from .errors import (
    Closed,
    LogCorrupt,
    LogError,
    LogLocked,
    LogMissing,
    MissingBlob,
    NotWriting,
    StreamExists,
)
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
)
from .transaction import Transaction
from .writer import Writer

UNKNOWN = -1
"""The key of a stream that is not committed yet."""
RECENT = 32
"""Blobs that are kept at hand for reading."""
PAGE = 2000
"""Events read at a time. Between two pages no transaction is open, so a slow reader holds nothing up."""


class _Begun(NamedTuple):
    """A stream whose row is written with its first events."""

    appender: Appender
    row: StreamRow
    holder: str
    until: float


class SqliteLog(Log):
    """A log in the SQLite file `path`, made if there is none unless `create` is False.

    With `batch`, the default, commits survive the death of the process; a loss of power may take the last of them.
    With `each`, every append is committed and on the disk before it returns. `wait` is how many seconds to wait for
    another process that writes. Reading needs no trio, and works from any thread.
    Raises LogMissing, NotALog, NewerFormat, LogLocked, LogReadOnly, LogCorrupt, LogUnusable.
    """

    def __init__(
        self,
        path: str | Path,
        durability: Literal["batch", "each"] = "batch",
        *,
        create: bool = True,
        wait: float = 5.0,
    ) -> None:
        self.path = Path(path)
        self._durability = durability
        self._wait = wait
        self._lock = threading.RLock()
        self._closed = False
        self._recent = lru_cache(maxsize=RECENT)(self.blob)
        self._begun: dict[str, _Begun] = {}
        """Streams that are begun and not committed yet, by id. Nobody else sees them."""
        self._writer: Writer | None = None
        self._writes: sqlite3.Connection | None = None
        self._reads: sqlite3.Connection | None = self._to_read(create)

    # --- writing ---------------------------------------------------------------------------------------------------

    def create(self, row: StreamRow) -> None:
        with self._transaction() as written:
            written.add_row(new_row(row))

    def begin(self, row: StreamRow, holder: str, now: float) -> Appender:
        row = new_row(row)
        writer = self._writing()
        begun = self._begun.get(row.id)
        if begun is not None and not begun.appender.failed:
            check_lease(row, begun.holder, begun.until, now, False)
        if self._query("SELECT 1 FROM stream WHERE id = ?", row.id):
            raise begun_elsewhere(row.id, self.path)
        appender = Appender(writer, row.id, UNKNOWN, 1, 0, GENESIS)
        self._begun[row.id] = _Begun(appender, msgspec.structs.replace(row, status="running"), holder, now + LEASE)
        writer.opened(appender, now)
        return appender

    def open(self, stream: str, holder: str, now: float, *, steal: bool | str = False) -> Appender:
        writer = self._writing()
        with self._transaction() as written:
            row = self.row(stream)
            key, lease, held_by, until = written.lease(row)
            check_lease(row, held_by, until, now, steal)
            written.check_tail(key, row)
            written.give_lease(key, lease + 1, holder, now + LEASE)
        digest = bytes.fromhex(row.digest) if row.count else GENESIS
        appender = Appender(writer, row.id, key, lease + 1, row.count, digest)
        writer.opened(appender, now)
        return appender

    def _writing(self) -> Writer:
        if self._writer is None:
            raise NotWriting(f"open streams of {self.path} inside `async with log.writing():`")
        return self._writer

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        if self._writer is not None:
            raise LogLocked(f"{self.path} is being written by this process already; share that `writing()`")
        self._to_write()
        writer = self._writer = Writer(self._commit, self._renew, self._durability == "each")
        try:
            async with writer.running():
                yield
        finally:
            self._writer = None
            # Where that fails, as on a full disk, the lease runs out by itself; the first error is the one to see.
            with suppress(LogError):
                self._give_up(writer.abandoned())

    def _commit(self, parts: Sequence[Part]) -> None:
        kept: list[Part] = []
        lost: list[Part] = []
        with self._transaction() as written:
            for part in parts:
                if part.appender.key == UNKNOWN:
                    self._add_begun(written, part.appender)
                (kept if written.advance(part) else lost).append(part)
            written.add_parts(kept)
        for part in kept:
            self._begun.pop(part.appender.stream, None)
        for part in lost:
            stream = part.appender.stream
            begun = self._begun.pop(stream, None) is not None
            part.appender.fail(begun_elsewhere(stream, self.path) if begun else lease_lost(stream))

    def _add_begun(self, written: Transaction, appender: Appender) -> None:
        """Write the row of a stream with its first events, unless somebody has made it meanwhile."""
        begun = self._begun[appender.stream]
        with suppress(StreamExists):
            key = written.add_row(begun.row)
            written.give_lease(key, appender.lease, begun.holder, begun.until)
            appender.key = key

    def _renew(self, leases: Sequence[tuple[Appender, float]]) -> None:
        with self._transaction() as written:
            for appender, until in leases:
                if appender.key != UNKNOWN and not written.renew_lease(appender, until):
                    appender.fail(lease_lost(appender.stream))

    def _give_up(self, appenders: Sequence[Appender]) -> None:
        if not appenders:
            return
        with self._transaction() as written:
            for appender in appenders:
                written.give_up_lease(appender)

    def put_observation(self, stream: str, seq: int, name: str, content: bytes) -> None:
        with self._transaction() as written:
            key, row = self._keyed(stream)
            check_observed(row, seq)
            written.add_observation(key, seq, name, blob_of(content))

    def restore(self, pieces: Iterable[Piece]) -> None:
        with self._transaction() as written:
            written.add_pieces(checked_pieces(pieces))

    def delete(self, stream: str) -> None:
        with self._transaction() as written:
            written.delete(self.row(stream).id)

    def put_grade(self, stream: str, grader: str, row: Json) -> None:
        name = self.row(stream).id
        with self._transaction() as written:
            written.add_grade(name, grader, row)

    def clear_grades(self) -> None:
        with self._transaction() as written:
            written.clear_grades()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        """A transaction of the connection that writes: all of it happens, or nothing."""
        with self._lock, schema.translated(self.path):
            conn = self._to_write()
            conn.execute("BEGIN IMMEDIATE")
            try:
                written = Transaction(conn, self.path)
                yield written
                written.seal()
            except BaseException:
                if conn.in_transaction:  # SQLite has rolled back some errors itself
                    conn.execute("ROLLBACK")
                raise
            conn.execute("COMMIT")

    def _to_read(self, create: bool) -> sqlite3.Connection:
        try:
            return schema.open_to_read(self.path, self._wait).conn
        except LogMissing:
            if not create:
                raise
        # Another process may be making it just now: only with its lock held can one know.
        self._to_write()
        return schema.open_to_read(self.path, self._wait).conn

    def _to_write(self) -> sqlite3.Connection:
        if self._closed:
            raise Closed(f"{self.path} was closed")
        if self._writes is None:
            level = "FULL" if self._durability == "each" else "NORMAL"
            self._writes = schema.open_to_write(self.path, self._wait, level).conn
        return self._writes

    # --- reading ---------------------------------------------------------------------------------------------------

    def rows(self, **filters: Unpack[Filters]) -> list[StreamRow]:
        given = {name: value for name, value in filters.items() if value is not None}
        where = "".join(f' AND "{name}" = ?' for name in given)
        found = self._query(
            f"SELECT key, {schema.ROW} FROM stream WHERE true{where} ORDER BY created, key", *given.values()
        )
        return [_row(cells) for cells in found]

    def row(self, stream: str) -> StreamRow:
        return self._keyed(stream)[1]

    def _key(self, stream: str) -> int:
        found = self._query("SELECT key FROM stream WHERE id = ?", stream) if PREFIX.fullmatch(stream) else []
        return found[0][0] if found else self._keyed(stream)[0]

    def _keyed(self, stream: str) -> tuple[int, StreamRow]:
        sql = f"SELECT key, {schema.ROW} FROM stream WHERE id >= ? AND id < ? ORDER BY id LIMIT 6"
        found = self._query(sql, stream, f"{stream}g") if PREFIX.fullmatch(stream) else []
        by_id = {cells[1]: cells for cells in found}
        cells = by_id[the_one(stream, list(by_id))]
        return cells[0], _row(cells)

    def read(self, stream: str, start: int = 0, stop: int | None = None) -> Iterator[Event]:
        # The casts give the stored bytes, even where damage has made them no text or no bytes.
        pages = self._pages("seq, CAST(data AS BLOB)", self._key(stream), start, stop)
        return (event for page in pages for event in decode_many([data for _, data in page], self._recent))

    def read_raw(self, stream: str, start: int = 0, stop: int | None = None) -> Iterator[RawEvent]:
        pages = self._pages("seq, CAST(data AS BLOB), CAST(digest AS BLOB)", self._key(stream), start, stop)
        return (row for page in pages for row in page)

    def _pages(self, columns: str, key: int, start: int, stop: int | None) -> Iterator[list[Any]]:
        """The events of a stream in order, page by page; the first of the columns is `seq`."""
        sql = f"SELECT {columns} FROM event WHERE stream = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT {PAGE}"
        end = 2**63 - 1 if stop is None else stop
        while page := self._query(sql, key, start, end):
            yield page
            if len(page) < PAGE:
                return
            start = page[-1][0] + 1

    def blob(self, digest: str) -> bytes:
        found = self._query("SELECT content FROM blob WHERE digest = ?", digest)
        if not found:
            raise MissingBlob(f"the large value {digest[:12]} is not in {self.path}", digest=digest)
        content = _unpacked(found[0][0])
        if content is None or blob_of(content).digest != digest:
            raise MissingBlob(f"the large value {digest[:12]} in {self.path} is damaged", digest=digest)
        return content

    def recent(self, digest: str) -> bytes:
        return self._recent(digest)

    def observations(self, stream: str) -> Iterator[Observation]:
        found = self._query(
            "SELECT o.seq, o.name, o.digest, b.content FROM observation o LEFT JOIN blob b ON b.digest = o.digest "
            "WHERE o.stream = ? ORDER BY o.seq, o.name",
            self._keyed(stream)[0],
        )
        return (Observation(seq, name, digest, _unpacked(content) or b"") for seq, name, digest, content in found)

    def grades(self, stream: str | None = None, grader: str | None = None) -> list[Grade]:
        sql = "SELECT s.id, g.grader, g.row FROM grade g JOIN stream s ON s.key = g.stream WHERE true"
        given: list[Any] = []
        if stream is not None:
            sql, given = f"{sql} AND s.id = ?", [*given, self.row(stream).id]
        if grader is not None:
            sql, given = f"{sql} AND g.grader = ?", [*given, grader]
        return [_grade(*cells) for cells in self._query(f"{sql} ORDER BY s.key, g.grader", *given)]

    def damage(self, stream: str) -> tuple[Finding, ...]:
        key = self._keyed(stream)[0]
        with schema.translated(self.path):
            return tuple(seals.broken(self._reading(), key))

    def file_damage(self) -> tuple[str, ...]:
        with schema.translated(self.path):
            return tuple(seals.file_damage(self._reading()))

    def close(self) -> None:
        """Close the file. Iterators that are still reading it raise Closed."""
        with self._lock:
            for conn in (self._reads, self._writes):
                if conn is not None:
                    conn.close()
            self._reads = self._writes = None
            self._closed = True

    def _query(self, sql: str, *values: Any) -> list[Any]:
        with schema.translated(self.path):
            return self._reading().execute(sql, values).fetchall()

    def _reading(self) -> sqlite3.Connection:
        if self._reads is None:
            raise Closed(f"{self.path} was closed")
        return self._reads


def _row(cells: Sequence[Any]) -> StreamRow:
    named = dict(zip(StreamRow.__struct_fields__, cells[1:], strict=True))
    try:
        named["versions"], named["meta"] = from_json(named["versions"]), from_json(named["meta"])
        return msgspec.convert(named, StreamRow)
    except (*BAD_JSON, TypeError) as error:
        raise LogCorrupt(f"the row of stream {named['id']!r:.80} is damaged: {error}") from error


def _grade(stream: str, grader: str, text: str) -> Grade:
    try:
        return Grade(stream, grader, from_json(text))
    except (*BAD_JSON, TypeError) as error:
        raise LogCorrupt(f"a grade that is kept of stream {stream} is damaged: {error}") from error


def _unpacked(content: bytes | None) -> bytes | None:
    try:
        return None if content is None else zlib.decompress(content)
    except zlib.error:
        return None
