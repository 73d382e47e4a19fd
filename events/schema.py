"""A log as an SQLite file: its tables and views, how it is opened, and what its errors mean.

Knows files, formats and SQL definitions. Does not know how streams are read or written (`sqlite`, `transaction`).
Tables and views are made with sqlite-utils, and the views are made from the definitions of the events, so that
sqlite-utils, Datasette and DuckDB read a log without knowing coworkenv.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import msgspec
from sqlite_utils import Database

from .errors import (
    LogCorrupt,
    LogError,
    LogFull,
    LogLocked,
    LogMissing,
    LogReadOnly,
    LogUnusable,
    NewerFormat,
    NotALog,
)
from .event import AnyBody
from .log import StreamRow

APPLICATION = 0x636F776B
"""`PRAGMA application_id` of a log: "cowk"."""

FORMAT = 1
"""`PRAGMA user_version`; raised when older releases could no longer read what newer ones write."""

ROW = ", ".join(f'"{column}"' for column in StreamRow.__struct_fields__)
"""The columns of a stream's row, as SQL names them, in the order of the fields of `StreamRow`."""

_PAUSE = 0.02
"""Seconds between two attempts to change a file's journal mode."""
_SMALLEST = 512
"""Bytes of the smallest page that an SQLite database can have."""

_ENVELOPE = ("episode", "seq", "at", "actor", "cause", "type")


def open_to_read(path: Path, wait: float) -> Database:
    """A connection to an existing log. `wait` is in seconds. Raises LogMissing, NotALog, NewerFormat, LogLocked …"""
    if not path.exists():
        raise LogMissing(f"there is no log at {path}")
    modes = ["mode=rw"] if os.access(path, os.W_OK) else ["mode=ro", "mode=ro&immutable=1"]
    try:
        return _open_log(path, wait, modes[0])
    except (LogReadOnly, LogUnusable):
        # In a folder that cannot be written, SQLite reads a log only if it may take it for unchangeable, which it is
        # not while somebody's latest commits are still beside it.
        beside = path.with_name(f"{path.name}-wal")
        if len(modes) == 1 or (beside.exists() and beside.stat().st_size):
            raise
        return _open_log(path, wait, modes[1])


def _open_log(path: Path, wait: float, mode: str) -> Database:
    db = _connect(path, wait, mode)
    try:
        if not is_log(db, path):
            raise LogMissing(f"{path} is empty; a log is made by the first run that writes to it")
    except LogError:
        db.close()
        raise
    return db


def open_to_write(path: Path, wait: float, synchronous: str) -> Database:
    """A connection to a log, which is made if there is none. Raises like `open_to_read`, and LogReadOnly."""
    db = _connect(path, wait, "mode=rwc")
    try:
        is_log(db, path)
        _initialise(db, path, synchronous, wait)
    except LogError:
        db.close()
        raise
    return db


def _connect(path: Path, wait: float, mode: str) -> Database:
    if path.is_dir():
        raise NotALog(f"{path} is a folder, not a coworkenv log")
    # SQLite takes a file of a few bytes for an empty database, and would write over it. Only its size may be asked for:
    # to open and close the file ourselves would take away the locks of every connection that this process has to it.
    if path.is_file() and 0 < path.stat().st_size < _SMALLEST:
        raise NotALog(f"{path} is not a coworkenv log, nor any SQLite database; give another path")
    with translated(path):
        uri = f"{path.absolute().as_uri()}?{mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=wait, check_same_thread=False)
        # Damaged text is text that differs; what it means to whom is for the chain and the rows' checks to say.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        return Database(connection, execute_plugins=False)


def is_log(db: Database, path: Path) -> bool:
    """True for a log, False for an empty database. Raises NotALog, NewerFormat, or what is wrong with the file."""
    with translated(path):
        # In one statement, because another process may be making it a log at this moment.
        application, version, tables = db.conn.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
            "FROM pragma_application_id, pragma_user_version"
        ).fetchone()
    if application != APPLICATION:
        if not tables and application == 0:
            return False
        raise NotALog(f"{path} is an SQLite database, but not a coworkenv log; give another path")
    if version > FORMAT:
        raise NewerFormat(
            f"{path} has format {version}, this release of coworkenv knows up to {FORMAT}: upgrade to read it"
        )
    return True


def _enable_wal(db: Database, wait: float) -> None:
    """SQLite does not always wait for the lock that this needs, so several who make one log must ask again."""
    for _ in range(int(wait / _PAUSE)):
        try:
            if db.journal_mode != "wal":
                db.enable_wal()
            return
        except sqlite3.OperationalError:
            threading.Event().wait(_PAUSE)
    db.enable_wal()


def _initialise(db: Database, path: Path, synchronous: str, wait: float) -> None:
    """Make an empty database a log, or leave a log as it is; bring its views up to this release."""
    with translated(path):
        _enable_wal(db, wait)
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.conn.execute("BEGIN IMMEDIATE")
        try:
            # Looked at again with the lock held: two processes may have found the same empty file.
            if not is_log(db, path):
                _tables(db)
            db.create_view("events", _events_view(), replace=True)
            db.create_view("episodes", _EPISODES_VIEW, replace=True)
        except BaseException:
            db.conn.execute("ROLLBACK")
            raise
        db.conn.execute("COMMIT")


def _tables(db: Database) -> None:
    db.conn.execute(f"PRAGMA application_id = {APPLICATION}")
    db.conn.execute(f"PRAGMA user_version = {FORMAT}")
    stream = {
        "key": int, "id": str, "kind": str, "parent": str, "of": str, "environment": str, "twin": str, "agent": str,
        "seed": int, "trial": int, "status": str, "reason": str, "count": int, "digest": str, "created": float,
        "host": str, "versions": str, "meta": str, "lease": int, "holder": str, "until": float,
        "beside": str, "seal": str,
    }  # fmt: skip
    sql = db.create_table_sql(
        "stream", stream, pk="key", not_null=("id", "kind", "status", "count", "lease", "beside", "seal")
    )
    # A key must not come back after a delete: whoever still holds a lease of the old stream would write into the new.
    db.execute(sql.replace("PRIMARY KEY", "PRIMARY KEY AUTOINCREMENT"))
    db.table("stream").create_index(["id"], unique=True)
    db.table("stream").create_index(["of"])
    event = {"stream": int, "seq": int, "data": str, "digest": bytes}
    _create_without_rowid(db, "event", event, ("stream", "seq"))
    db.table("blob").create({"digest": str, "content": bytes}, pk="digest", not_null={"content"})
    _create_without_rowid(db, "blob_use", {"stream": int, "digest": str}, ("stream", "digest"))
    db.table("blob_use").create_index(["digest"])
    observation = {"stream": int, "seq": int, "name": str, "digest": str}
    _create_without_rowid(db, "observation", observation, ("stream", "seq", "name"))
    _create_without_rowid(db, "grade", {"stream": int, "grader": str, "row": str}, ("stream", "grader"))


def _create_without_rowid(db: Database, name: str, columns: dict[str, type], pk: tuple[str, ...]) -> None:
    # Rows lie in the order of their key, which is the order in which they are written and read.
    sql = db.create_table_sql(name, columns, pk=pk, not_null=columns)
    db.execute(f"{sql.strip().removesuffix(';')} WITHOUT ROWID")


def _events_view() -> str:
    """One column for each field that any body has, empty where an event has none of that name."""
    fields = dict.fromkeys(field.encode_name for body in get_args(AnyBody) for field in msgspec.structs.fields(body))
    columns = [
        "stream.id AS episode",
        "event.seq AS seq",
        *(
            f"json_extract(event.data, '$[{place}]') AS {name}"
            for place, name in ((1, "at"), (2, "actor"), (3, "cause"))
        ),
        "json_extract(event.data, '$[4].type') AS type",
        *(f"json_extract(event.data, '$[4].{field}') AS {_column(field)}" for field in fields),
        "json_extract(event.data, '$[4]') AS body",
    ]
    return f"SELECT {', '.join(columns)} FROM event JOIN stream ON stream.key = event.stream"


def _column(field: str) -> str:
    return f'"its_{field}"' if field in (*_ENVELOPE, "body") else f'"{field}"'


_EPISODES_VIEW = """
SELECT id, environment, twin, agent, seed, trial, status, reason, count AS events,
  datetime(created, 'unixepoch') AS created_utc, parent, host, digest
FROM stream WHERE kind = 'episode' ORDER BY key
""".strip()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, which name the file and say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _named(path, error) from error
    except UnicodeDecodeError as error:
        # Python could not even read what SQLite has to say about the damage.
        raise LogCorrupt(f"{path} is damaged, in the definitions of its tables") from error


def _named(path: Path, error: sqlite3.Error) -> LogError:
    # The low byte is the primary result code, without SQLite's details.
    match (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LogLocked(f"{path} is locked by another process; wait for it to finish, or write to another log")
        case sqlite3.SQLITE_FULL:
            return LogFull(f"no space left to write {path}; free some, then resume the episode")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return LogReadOnly(f"{path} cannot be written; change its permissions, or write to another log")
        case sqlite3.SQLITE_NOTADB:
            return NotALog(f"{path} is not a coworkenv log, nor any SQLite database; give another path")
        case sqlite3.SQLITE_CORRUPT:
            return LogCorrupt(f"{path} is damaged ({error}); `sqlite3 {path} .recover` may save what is left of it")
        case sqlite3.SQLITE_CANTOPEN:
            return LogUnusable(f"{path} cannot be opened; check that its folder exists and that you may write there")
    return LogUnusable(f"{path} cannot be used as a log: {error}")
