"""The log that people use: one SQLite file, one writer, any number of readers beside it.

Knows how streams lie in the tables of `schema`. Does not know when to commit (`writer`) nor how a step becomes bytes
(`appender`). Every commit checks, in the same transaction, that the lease is still ours and that the stream is as long
as we think, and writes the stream's new length and digest: a file always holds whole steps, and rows that agree with
them.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from . import schema, seals
from .appender import Appender, Part
from .chain import GENESIS, Finding, RawEvent
from .codec import Blob, blob_of, decode_many, from_json, to_json
from .errors import (
    Closed,
    DamagedStream,
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
    Grade,
    Log,
    Observation,
    Piece,
    StreamRow,
    check_lease,
    check_observed,
    checked_pieces,
    lease_lost,
    new_row,
    the_one,
)
from .normalise import normalise
from .writer import Writer

UNKNOWN = -1
"""The key of a stream that is not committed yet."""
RECENT = 32
"""Blobs that are kept at hand for reading."""
PAGE = 2000
"""Events read at a time. Between two pages no transaction is open, so a slow reader holds nothing up."""

_COLUMNS = StreamRow.__struct_fields__
_ROW = ", ".join(f'"{column}"' for column in _COLUMNS)


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
        self._changed: dict[int, int] = {}
        """Streams that the transaction under way changes, with the marks that came or went beside their events."""
        self._recent = lru_cache(maxsize=RECENT)(self.blob)
        self._begun: dict[str, _Begun] = {}
        """Streams that are begun and not committed yet, by id. Nobody else sees them."""
        self._writer: Writer | None = None
        self._writes: sqlite3.Connection | None = None
        self._reads: sqlite3.Connection | None = self._to_read(create)

    # --- writing ---------------------------------------------------------------------------------------------------

    def create(self, row: StreamRow) -> None:
        with self._transaction() as conn:
            self._insert_row(conn, new_row(row))

    def begin(self, row: StreamRow, holder: str, now: float) -> Appender:
        row = new_row(row)
        writer = self._writing()
        begun = self._begun.get(row.id)
        if begun is not None and not begun.appender.failed:
            check_lease(row, begun.holder, begun.until, now, False)
        if self._query("SELECT 1 FROM stream WHERE id = ?", row.id):
            raise StreamExists(f"stream {row.id} is already in {self.path}")
        appender = Appender(writer, row.id, UNKNOWN, 1, 0, GENESIS)
        self._begun[row.id] = _Begun(appender, msgspec.structs.replace(row, status="running"), holder, now + LEASE)
        writer.opened(appender, now)
        return appender

    def open(self, stream: str, holder: str, now: float, *, steal: bool | str = False) -> Appender:
        writer = self._writing()
        with self._transaction() as conn:
            row = self.row(stream)
            key, lease, held_by, until = conn.execute(
                "SELECT key, lease, holder, until FROM stream WHERE id = ?", (row.id,)
            ).fetchone()
            check_lease(row, held_by, until or 0.0, now, steal)
            self._check_tail(conn, key, row)
            conn.execute(
                "UPDATE stream SET lease = ?, holder = ?, until = ?, status = 'running', reason = '' WHERE key = ?",
                (lease + 1, holder, now + LEASE, key),
            )
            self._touch(key)
        digest = bytes.fromhex(row.digest) if row.count else GENESIS
        appender = Appender(writer, row.id, key, lease + 1, row.count, digest)
        writer.opened(appender, now)
        return appender

    def _writing(self) -> Writer:
        if self._writer is None:
            raise NotWriting(f"open streams of {self.path} inside `async with log.writing():`")
        return self._writer

    def _check_tail(self, conn: sqlite3.Connection, key: int, row: StreamRow) -> None:
        last = conn.execute(
            "SELECT seq, digest FROM event WHERE stream = ? ORDER BY seq DESC LIMIT 1", (key,)
        ).fetchone()
        found = (last[0] + 1, last[1].hex()) if last else (0, "")
        if found != (row.count, row.digest):
            raise DamagedStream(
                f"stream {row.id} should end after {row.count} events, but its last is not the one that its row names; "
                "verify it, and go on from a fork before the damage",
                seq=min(found[0], row.count),
            )

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
        with self._transaction() as conn:
            for part in parts:
                if part.appender.key == UNKNOWN:
                    self._insert_begun(conn, part.appender)
                (kept if self._advance(conn, part) else lost).append(part)
            conn.executemany(
                "INSERT INTO event VALUES (?, ?, ?, ?)",
                ((part.appender.key, seq, data.decode(), digest) for part in kept for seq, data, digest in part.rows),
            )
            for part in kept:
                self._touch(part.appender.key)
                for blob in part.blobs:
                    self._insert_blob(conn, part.appender.key, blob)
                for seq, name, blob in part.observations:
                    self._insert_observation(conn, part.appender.key, seq, name, blob)
                if part.grade is not None:
                    self._insert_grade(conn, *part.grade)
        for part in kept:
            self._begun.pop(part.appender.stream, None)
        for part in lost:
            part.appender.fail(lease_lost(part.appender.stream))

    def _advance(self, conn: sqlite3.Connection, part: Part) -> bool:
        """Make the row say what the commit will have done; whether the lease and the length were what we think."""
        appender = part.appender
        digest = part.digest.hex() if part.count else ""
        changes: list[Any] = [part.count, digest]
        sql = "count = ?, digest = ?"
        if part.closing is not None:
            sql += ", status = ?, reason = ?, holder = NULL, until = NULL"
            changes += part.closing
        return bool(
            conn.execute(
                f"UPDATE stream SET {sql} WHERE key = ? AND lease = ? AND holder IS NOT NULL AND count = ?",
                (*changes, appender.key, appender.lease, part.before),
            ).rowcount
        )

    def _renew(self, leases: Sequence[tuple[Appender, float]]) -> None:
        with self._transaction() as conn:
            for appender, until in leases:
                if appender.key == UNKNOWN:
                    continue
                sql = "UPDATE stream SET until = ? WHERE key = ? AND lease = ? AND holder IS NOT NULL"
                if not conn.execute(sql, (until, appender.key, appender.lease)).rowcount:
                    appender.fail(lease_lost(appender.stream))

    def _give_up(self, appenders: Sequence[Appender]) -> None:
        if not appenders:
            return
        with self._transaction() as conn:
            conn.executemany(
                "UPDATE stream SET status = 'suspended', holder = NULL, until = NULL WHERE key = ? AND lease = ?",
                [(appender.key, appender.lease) for appender in appenders],
            )
            for appender in appenders:
                self._touch(appender.key)

    def put_observation(self, stream: str, seq: int, name: str, content: bytes) -> None:
        with self._transaction() as conn:
            key, row = self._keyed(stream)
            check_observed(row, seq)
            self._insert_observation(conn, key, seq, name, blob_of(content))

    def restore(self, pieces: Iterable[Piece]) -> None:
        key = 0
        with self._transaction() as conn:
            for piece in checked_pieces(pieces):
                match piece:
                    case StreamRow():
                        key = self._insert_row(conn, piece)
                    case Blob():
                        self._insert_blob(conn, key, piece)
                    case Observation():
                        content = Blob(piece.digest, piece.content)
                        self._insert_observation(conn, key, piece.seq, piece.name, content)
                    case (seq, data, digest):
                        conn.execute("INSERT INTO event VALUES (?, ?, ?, ?)", (key, seq, data.decode(), digest))

    def delete(self, stream: str) -> None:
        with self._transaction() as conn:
            row = self.row(stream)
            doomed = conn.execute("SELECT key FROM stream WHERE id = ? OR of = ?", (row.id, row.id)).fetchall()
            for table in ("event", "observation", "grade"):
                conn.executemany(f"DELETE FROM {table} WHERE stream = ?", doomed)
            for key in doomed:
                used = conn.execute("SELECT digest FROM blob_use WHERE stream = ?", key).fetchall()
                conn.execute("DELETE FROM blob_use WHERE stream = ?", key)
                conn.executemany(
                    "DELETE FROM blob WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_use WHERE digest = ?1)", used
                )
            conn.executemany("DELETE FROM stream WHERE key = ?", doomed)

    def put_grade(self, stream: str, grader: str, row: Json) -> None:
        name = self.row(stream).id
        with self._transaction() as conn:
            self._insert_grade(conn, name, grader, row)

    def _insert_grade(self, conn: sqlite3.Connection, stream: str, grader: str, row: Json) -> None:
        sql = "INSERT OR REPLACE INTO grade SELECT key, ?, ? FROM stream WHERE id = ?"
        conn.execute(sql, (grader, to_json(normalise(row)[0]).decode(), stream))

    def clear_grades(self) -> None:
        with self._transaction() as conn:
            conn.execute("DELETE FROM grade")

    def _insert_row(self, conn: sqlite3.Connection, row: StreamRow) -> int:
        values = {**msgspec.structs.asdict(row), "versions": to_json(row.versions), "meta": to_json(row.meta)}
        places = ", ".join("?" * len(values))
        cells = [value.decode() if isinstance(value, bytes) else value for value in values.values()]
        try:
            added = conn.execute(
                f"INSERT INTO stream ({_ROW}, lease, beside, seal) VALUES ({places}, 0, ?, '')", (*cells, seals.NOTHING)
            )
        except sqlite3.IntegrityError as error:
            raise StreamExists(f"stream {row.id} is already in {self.path}") from error
        assert added.lastrowid is not None
        self._touch(added.lastrowid)
        return added.lastrowid

    def _insert_begun(self, conn: sqlite3.Connection, appender: Appender) -> None:
        """Write the row of a stream with its first events. If somebody has made it meanwhile, the lease is lost."""
        begun = self._begun[appender.stream]
        with suppress(StreamExists):
            key = self._insert_row(conn, begun.row)
            sql = "UPDATE stream SET lease = ?, holder = ?, until = ? WHERE key = ?"
            conn.execute(sql, (appender.lease, begun.holder, begun.until, key))
            appender.key = key

    def _insert_blob(self, conn: sqlite3.Connection, key: int, blob: Blob) -> None:
        if conn.execute("SELECT 1 FROM blob WHERE digest = ?", (blob.digest,)).fetchone() is None:
            conn.execute("INSERT INTO blob VALUES (?, ?)", (blob.digest, zlib.compress(blob.content)))
        if conn.execute("INSERT OR IGNORE INTO blob_use VALUES (?, ?)", (key, blob.digest)).rowcount:
            self._touch(key, seals.mark("blob", blob.digest))

    def _insert_observation(self, conn: sqlite3.Connection, key: int, seq: int, name: str, blob: Blob) -> None:
        self._insert_blob(conn, key, blob)
        sql = "SELECT digest FROM observation WHERE stream = ? AND seq = ? AND name = ?"
        for (before,) in conn.execute(sql, (key, seq, name)).fetchall():
            self._touch(key, seals.mark("observation", seq, name, before))
        conn.execute("INSERT OR REPLACE INTO observation VALUES (?, ?, ?, ?)", (key, seq, name, blob.digest))
        self._touch(key, seals.mark("observation", seq, name, blob.digest))

    def _touch(self, key: int, mark: int = 0) -> None:
        """Note that the transaction under way changes a stream's row, or what lies beside its events."""
        self._changed[key] = self._changed.get(key, 0) ^ mark

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes, inside a transaction: all of it happens, or nothing."""
        with self._lock, schema.translated(self.path):
            conn = self._to_write()
            conn.execute("BEGIN IMMEDIATE")
            self._changed = {}
            try:
                yield conn
                seals.renew(conn, self._changed)
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

    def rows(
        self,
        *,
        kind: str | None = None,
        status: str | None = None,
        environment: str | None = None,
        agent: str | None = None,
        parent: str | None = None,
        of: str | None = None,
    ) -> list[StreamRow]:
        wanted = {
            "kind": kind,
            "status": status,
            "environment": environment,
            "agent": agent,
            "parent": parent,
            "of": of,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        where = "".join(f' AND "{name}" = ?' for name in given)
        found = self._query(f"SELECT key, {_ROW} FROM stream WHERE true{where} ORDER BY key", *given.values())
        return [_row(cells) for cells in found]

    def row(self, stream: str) -> StreamRow:
        return self._keyed(stream)[1]

    def _key(self, stream: str) -> int:
        found = self._query("SELECT key FROM stream WHERE id = ?", stream) if PREFIX.fullmatch(stream) else []
        return found[0][0] if found else self._keyed(stream)[0]

    def _keyed(self, stream: str) -> tuple[int, StreamRow]:
        sql = f"SELECT key, {_ROW} FROM stream WHERE id >= ? AND id < ? ORDER BY id LIMIT 6"
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
    named = dict(zip(_COLUMNS, cells[1:], strict=True))
    try:
        named["versions"], named["meta"] = from_json(named["versions"]), from_json(named["meta"])
        return msgspec.convert(named, StreamRow)
    except (msgspec.MsgspecError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise LogCorrupt(f"the row of stream {named['id']!r:.80} is damaged: {error}") from error


def _grade(stream: str, grader: str, text: str) -> Grade:
    try:
        return Grade(stream, grader, from_json(text))
    except (msgspec.MsgspecError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise LogCorrupt(f"a grade that is kept of stream {stream} is damaged: {error}") from error


def _unpacked(content: bytes | None) -> bytes | None:
    try:
        return None if content is None else zlib.decompress(content)
    except zlib.error:
        return None
