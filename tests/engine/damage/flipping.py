"""One changed byte: in a value of a table, in the file, in an export; and whether `verify` sees it.

Knows which stored values belong to a stream, how one byte of each is changed behind the log's back, and what can be
said of a byte whose change is not seen: that every value which can be read is the same.
"""

from __future__ import annotations

import hashlib
import io
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec

from coworkenv.engine.replay import verify
from coworkenv.events.errors import LogError
from coworkenv.events.exchange import export_episode, import_episode
from coworkenv.events.log import Log
from coworkenv.events.memory import MemoryLog
from coworkenv.events.sqlite import SqliteLog
from coworkenv.events.verify import verify_stream

BY_STREAM = {"event": "stream", "observation": "stream", "blob_use": "stream", "grade": "stream", "stream": "key"}
OPEN = ("lease", "holder", "until")
"""Columns of `stream` that say who has it open just now, and nothing of the episode: no digest covers them."""


class Cell(msgspec.Struct, frozen=True):
    """One stored value: where it is, and what it is."""

    table: str
    column: str
    keys: dict[str, Any]
    """The row's key, by column."""
    value: Any

    @property
    def size(self) -> int:
        return len(_bytes(self.value))

    @property
    def kind(self) -> str:
        return f"{self.table}.{self.column}"


class Impossible(Exception):
    """SQLite does not take the changed value: two rows would have the same key, say."""


async def damaged(log: Log, stream: str) -> bool:
    """Whether `verify --all` ends with anything but 0; the stream concerned is looked at first, to be quick."""
    try:
        if not (await verify(log, stream)).good or log.file_damage():
            return True
        return not all([(await verify(log, row.id)).good for row in log.rows()])
    except LogError:
        return True


# --- values in tables --------------------------------------------------------------------------------------


def cells(conn: sqlite3.Connection, stream: str) -> list[Cell]:
    """Every stored value of a stream, of what was observed in it, of its large values, and of its grades."""
    (key,) = conn.execute("SELECT key FROM stream WHERE id = ?", (stream,)).fetchone()
    found = [cell for table, column in BY_STREAM.items() for cell in _of(conn, table, column, key)]
    for (digest,) in conn.execute("SELECT digest FROM blob_use WHERE stream = ?", (key,)).fetchall():
        found += _of(conn, "blob", "digest", digest)
    return [cell for cell in found if not (cell.table == "stream" and cell.column in OPEN)]


def _of(conn: sqlite3.Connection, table: str, column: str, value: Any) -> Iterator[Cell]:
    info = conn.execute(f"PRAGMA table_info({table})").fetchall()
    names = [name for _, name, *_ in info]
    keys = [name for _, name, _, _, _, place in info if place]
    columns = ", ".join(f'"{name}"' for name in names)
    for row in conn.execute(f'SELECT {columns} FROM {table} WHERE "{column}" = ?', (value,)).fetchall():
        named = dict(zip(names, row, strict=True))
        for name in names:
            if named[name] is not None:
                yield Cell(table, name, {key: named[key] for key in keys}, named[name])


def _bytes(value: Any) -> bytes:
    match value:
        case bytes():
            return value
        case str():
            return value.encode()
        case int():
            return value.to_bytes(8, "big", signed=True)
    return struct.pack(">d", value)


def _changed(value: Any, place: int, mask: int) -> tuple[str, Any]:
    """The value with one byte changed, as an SQL expression with one parameter, and that parameter."""
    data = bytearray(_bytes(value))
    data[place] ^= mask
    match value:
        case bytes():
            return "?", bytes(data)
        case str():
            return "CAST(? AS TEXT)", bytes(data)
        case int():
            return "?", int.from_bytes(data, "big", signed=True)
    return "?", struct.unpack(">d", data)[0]


def _put(conn: sqlite3.Connection, cell: Cell, now: tuple[str, Any], then: tuple[str, Any]) -> None:
    """Write `then` where `now` is. A key that is changed itself is found by what it is now."""
    where = {name: ("?", value) for name, value in cell.keys.items()}
    if cell.column in where:
        where[cell.column] = now
    conditions = " AND ".join(f'"{name}" IS {expression}' for name, (expression, _) in where.items())
    with conn:
        conn.execute(
            f'UPDATE {cell.table} SET "{cell.column}" = {then[0]} WHERE {conditions}',
            (then[1], *(value for _, value in where.values())),
        )


async def flip(log: Log, conn: sqlite3.Connection, stream: str, cell: Cell, place: int, mask: int) -> bool | None:
    """Change one byte, look whether that is seen, and put it back. None if what is read is the same as before.

    Raises Impossible.
    """
    before, after = ("?", cell.value), _changed(cell.value, place, mask)
    try:
        _put(conn, cell, before, after)
    except sqlite3.IntegrityError as error:
        raise Impossible from error
    try:
        seen = await damaged(log, stream)
        return seen if seen or unpacked(after[1]) != unpacked(cell.value) else None
    finally:
        _put(conn, cell, after, before)


# --- the file ----------------------------------------------------------------------------------------------


async def file_damaged(path: Path, execute: bool) -> bool:
    """Whether `verify --all` ends with anything but 0; with `execute` False without executing anything, to be quick."""
    try:
        with closing(SqliteLog(path, create=False, wait=0.1)) as log:
            rows = log.rows()
            if log.file_damage() or any(verify_stream(log, row.id) for row in rows):
                return True
            return execute and not all([(await verify(log, row.id)).good for row in rows])
    except LogError:
        return True


def unpacked(value: Any) -> Any:
    """A stored value as it is read: large texts are packed, and two packings can be of the same text."""
    if isinstance(value, bytes):
        with suppress(zlib.error):
            return zlib.decompress(value)
    return value


def content(path: Path) -> str | None:
    """A digest of every value that can be read from a log's tables; None if they cannot be read."""
    total = hashlib.sha256()
    try:
        with closing(sqlite3.connect(path)) as conn:
            for table in ("stream", "event", "blob", "blob_use", "observation", "grade"):
                names = [name for _, name, *_ in conn.execute(f"PRAGMA table_info({table})")]
                columns = ", ".join(f'"{name}"' for name in names if name not in OPEN)
                for row in conn.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall():
                    total.update(repr([unpacked(value) for value in row]).encode())
    except (sqlite3.Error, UnicodeDecodeError):
        return None
    return total.hexdigest()


HEADER = (
    (18, "header: which journal SQLite uses"),
    (20, "header: bytes kept free at the end of pages"),
    (24, "header: constants"),
    (28, "header: counter of changes"),
    (40, "header: lists of free pages"),
    (48, "header: counters of the schema"),
    (60, "header: sizes of caches"),
    (64, "header: version of the user"),
    (100, "header: counters, and which SQLite wrote last"),
)
"""Up to which byte of the file what stands there."""


def place_of(data: bytes, offset: int) -> str:
    """What a byte of a database file is for, as far as its position says."""
    if offset < 100:
        return next(name for end, name in HEADER if offset < end)
    size = int.from_bytes(data[16:18], "big") or 65536
    page, inside = offset // size, offset % size
    start = page * size + (100 if page == 0 else 0)
    kind = data[start]
    if kind not in (2, 5, 10, 13):
        return "page: an overflow page, or a free one"
    head = 12 if kind in (2, 5) else 8
    count = int.from_bytes(data[start + 3 : start + 5], "big")
    cells_end = start - page * size + head + 2 * count
    first = int.from_bytes(data[start + 5 : start + 7], "big") or 65536
    if inside < start - page * size + head:
        return "page: its head"
    if cells_end <= inside < first:
        return "page: free space between the list of cells and the cells"
    return "page: among the cells" if page else "page: the definitions of tables and views"


# --- exports -----------------------------------------------------------------------------------------------


def exported(log: Log, stream: str) -> bytes:
    file = io.BytesIO()
    export_episode(log, stream, file)
    return file.getvalue()


def import_refused(data: bytes) -> bool | str:
    """True if an export is refused; otherwise a digest of what was imported."""
    log = MemoryLog()
    try:
        rows = import_episode(log, io.BytesIO(data))
    except LogError:
        return not log.rows() or "something was imported all the same"
    total = hashlib.sha256()
    for row in rows:
        total.update(repr((row, list(log.read_raw(row.id)), list(log.observations(row.id)))).encode())
    return total.hexdigest()
