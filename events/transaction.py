"""One transaction of the log in a file: what can be written in it, and how that lies in the tables.

Knows the tables of `schema`, and keeps the `seals` of the streams that it writes to. Does not know when it is committed
(`sqlite`), nor how rows are read. Lengths and leases are checked where they are written, so that what another process
did meanwhile is never written over.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from . import schema, seals
from .appender import Appender, Part
from .codec import Blob, to_json
from .errors import DamagedStream
from .event import Json
from .log import Piece, StreamRow, begun_elsewhere
from .normalise import normalise


class Transaction:
    """What `conn` writes between two commits. `key` is a stream's number in the table of streams."""

    def __init__(self, conn: sqlite3.Connection, path: Path) -> None:
        self.conn = conn
        self._path = path
        self._touched: dict[int, int] = {}
        """Streams that are changed, with the marks that came or went beside their events."""

    def touch(self, key: int, mark: int = 0) -> None:
        """Note that a stream's row is changed, or what lies beside its events."""
        self._touched[key] = self._touched.get(key, 0) ^ mark

    def seal(self) -> None:
        """Bring the seals up to date: the last thing before the commit."""
        seals.renew(self.conn, self._touched)

    # --- rows and leases -------------------------------------------------------------------------------------------

    def add_row(self, row: StreamRow) -> int:
        """A new stream; its key. Raises StreamExists."""
        values = {**msgspec.structs.asdict(row), "versions": to_json(row.versions), "meta": to_json(row.meta)}
        places = ", ".join("?" * len(values))
        cells = [value.decode() if isinstance(value, bytes) else value for value in values.values()]
        try:
            added = self.conn.execute(
                f"INSERT INTO stream ({schema.ROW}, lease, beside, seal) VALUES ({places}, 0, ?, '')",
                (*cells, seals.NOTHING),
            )
        except sqlite3.IntegrityError as error:
            raise begun_elsewhere(row.id, self._path) from error
        assert added.lastrowid is not None
        self.touch(added.lastrowid)
        return added.lastrowid

    def lease(self, row: StreamRow) -> tuple[int, int, str | None, float]:
        """A stream's key, how often it was opened, who has it open, and until when."""
        key, lease, holder, until = self.conn.execute(
            "SELECT key, lease, holder, until FROM stream WHERE id = ?", (row.id,)
        ).fetchone()
        return key, lease, holder, until or 0.0

    def check_tail(self, key: int, row: StreamRow) -> None:
        """Raises DamagedStream if the last event is not the one that the row names."""
        last = self.conn.execute(
            "SELECT seq, digest FROM event WHERE stream = ? ORDER BY seq DESC LIMIT 1", (key,)
        ).fetchone()
        found = (last[0] + 1, last[1].hex()) if last else (0, "")
        if found != (row.count, row.digest):
            raise DamagedStream(
                f"stream {row.id} should end after {row.count} events, but its last is not the one that its row names; "
                "verify it, and go on from a fork before the damage",
                seq=min(found[0], row.count),
            )

    def give_lease(self, key: int, lease: int, holder: str, until: float) -> None:
        self.conn.execute(
            "UPDATE stream SET lease = ?, holder = ?, until = ?, status = 'running', reason = '' WHERE key = ?",
            (lease, holder, until, key),
        )
        self.touch(key)

    def renew_lease(self, appender: Appender, until: float) -> bool:
        """Whether the lease is still the appender's."""
        sql = "UPDATE stream SET until = ? WHERE key = ? AND lease = ? AND holder IS NOT NULL"
        return bool(self.conn.execute(sql, (until, appender.key, appender.lease)).rowcount)

    def give_up_lease(self, appender: Appender) -> None:
        self.conn.execute(
            "UPDATE stream SET status = 'suspended', holder = NULL, until = NULL WHERE key = ? AND lease = ?",
            (appender.key, appender.lease),
        )
        self.touch(appender.key)

    # --- events, and what lies beside them -------------------------------------------------------------------------

    def advance(self, part: Part) -> bool:
        """Make the row say what the commit will have done; whether the lease and the length were what we think."""
        appender = part.appender
        digest = part.digest.hex() if part.count else ""
        changes: list[Any] = [part.count, digest]
        sql = "count = ?, digest = ?"
        if part.closing is not None:
            sql += ", status = ?, reason = ?, holder = NULL, until = NULL"
            changes += part.closing
        return bool(
            self.conn.execute(
                f"UPDATE stream SET {sql} WHERE key = ? AND lease = ? AND holder IS NOT NULL AND count = ?",
                (*changes, appender.key, appender.lease, part.before),
            ).rowcount
        )

    def add_parts(self, parts: Sequence[Part]) -> None:
        """All that waits in these parts, whose rows have advanced."""
        self.conn.executemany(
            "INSERT INTO event VALUES (?, ?, ?, ?)",
            ((part.appender.key, seq, data.decode(), digest) for part in parts for seq, data, digest in part.rows),
        )
        for part in parts:
            key = part.appender.key
            self.touch(key)
            for blob in part.blobs:
                self.add_blob(key, blob)
            for seq, name, blob in part.observations:
                self.add_observation(key, seq, name, blob)
            if part.grade is not None:
                self.add_grade(*part.grade)

    def add_pieces(self, pieces: Iterable[Piece]) -> None:
        """Whole streams as they are, each beginning with its row."""
        key = 0
        for piece in pieces:
            match piece:
                case StreamRow():
                    key = self.add_row(piece)
                case Blob():
                    self.add_blob(key, piece)
                case (seq, data, digest):
                    self.conn.execute("INSERT INTO event VALUES (?, ?, ?, ?)", (key, seq, data.decode(), digest))
                case _:
                    self.add_observation(key, piece.seq, piece.name, Blob(piece.digest, piece.content))

    def add_blob(self, key: int, blob: Blob) -> None:
        if self.conn.execute("SELECT 1 FROM blob WHERE digest = ?", (blob.digest,)).fetchone() is None:
            self.conn.execute("INSERT INTO blob VALUES (?, ?)", (blob.digest, zlib.compress(blob.content)))
        if self.conn.execute("INSERT OR IGNORE INTO blob_use VALUES (?, ?)", (key, blob.digest)).rowcount:
            self.touch(key, seals.mark("blob", blob.digest))

    def add_observation(self, key: int, seq: int, name: str, blob: Blob) -> None:
        """Keep it, or replace the one of this name at this event."""
        self.add_blob(key, blob)
        sql = "SELECT digest FROM observation WHERE stream = ? AND seq = ? AND name = ?"
        for (before,) in self.conn.execute(sql, (key, seq, name)).fetchall():
            self.touch(key, seals.mark("observation", seq, name, before))
        self.conn.execute("INSERT OR REPLACE INTO observation VALUES (?, ?, ?, ?)", (key, seq, name, blob.digest))
        self.touch(key, seals.mark("observation", seq, name, blob.digest))

    def add_grade(self, stream: str, grader: str, row: Json) -> None:
        """Keep a grade, or replace the one by this grader. `stream` is a whole id."""
        sql = "INSERT OR REPLACE INTO grade SELECT key, ?, ? FROM stream WHERE id = ?"
        self.conn.execute(sql, (grader, to_json(normalise(row)[0]).decode(), stream))

    def clear_grades(self) -> None:
        self.conn.execute("DELETE FROM grade")

    def delete(self, stream: str) -> None:
        """Remove a stream (a whole id), the gradings of it, and what only they refer to."""
        doomed = self.conn.execute("SELECT key FROM stream WHERE id = ? OR of = ?", (stream, stream)).fetchall()
        for table in ("event", "observation", "grade"):
            self.conn.executemany(f"DELETE FROM {table} WHERE stream = ?", doomed)
        for key in doomed:
            used = self.conn.execute("SELECT digest FROM blob_use WHERE stream = ?", key).fetchall()
            self.conn.execute("DELETE FROM blob_use WHERE stream = ?", key)
            self.conn.executemany(
                "DELETE FROM blob WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_use WHERE digest = ?1)", used
            )
        self.conn.executemany("DELETE FROM stream WHERE key = ?", doomed)
