"""`sqlite3`: SQL on a file of the workspace, by Python's own SQLite, in memory.

Knows statements, the few dot commands that look around, and how rows are shown. Does not know the host's disk: nothing
is opened or attached there, and what the result may not depend on (the clock, chance, the library's version) it does
not. What a file becomes is written back only where it has changed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC
from functools import partial
from typing import Any

from .calls import Call
from .disk import LARGEST
from .words import Unsupported

_STEPS = 1_000
"""Instructions after which they are paid for, as so many bytes read."""
_PRICE = 13 << 10
_LENGTH = 100_000
"""Bytes of a value, and of a statement."""
_VERSION = slice(96, 100)
"""Where a file says which library wrote it last."""
_JOURNAL = slice(18, 20)
_FIRST = (3_040_000).to_bytes(4, "big")
_ALLOWED = ("table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list")
_LIBRARY = ("sqlite_version", "sqlite_source_id", "sqlite_compileoption_get", "sqlite_compileoption_used")
_DRAWN = ("random", "randomblob", "load_extension", "changes", "total_changes", "fts3_tokenizer", *_LIBRARY)
_EXPLAINS = re.compile(r"(?>\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*+explain\b", re.I | re.S)
_CLOCKS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_SHOWN = "SELECT name FROM sqlite_master WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
_SCHEMA = "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL AND (?1 = '' OR lower(tbl_name) = lower(?1))"


class _Shown:
    """How rows are shown."""

    def __init__(self) -> None:
        self.between, self.quoted, self.names = "|", False, False

    def line(self, values: Iterator[object]) -> str:
        return self.between.join(_quoted(text) if self.quoted else text for text in map(_text, values)) + "\n"


def sqlite(call: Call) -> None:
    """The command."""
    shown, words = _options(call)
    if not words:
        raise call.unsupported("without a file")
    path = call.path(words[0])
    before = call.disk.read(path) if call.disk.is_file(path) else b""
    if len(before) > LARGEST:
        raise call.unsupported(f"a file of more than {LARGEST:,} bytes")
    opened = before[: _JOURNAL.start] + b"\x01\x01" + before[_JOURNAL.stop :] if before else b""
    try:
        after = _changed(call, opened, shown, words[1:] or [call.given.read().decode(errors="replace")])
    except sqlite3.Error as error:
        _fail(call, error)
        return
    if after in (b"", opened):
        return
    after = after[: _JOURNAL.start] + (before[_JOURNAL] or b"\x01\x01") + after[_JOURNAL.stop :]
    after = after[: _VERSION.start] + (before[_VERSION] or _FIRST) + after[_VERSION.stop :]
    if not call.disk.write(path, after):
        call.fail(f'unable to open database "{words[0]}": unable to open database file')


def _changed(call: Call, data: bytes, shown: _Shown, lines: list[str]) -> bytes:
    """What a file is after some statements; nothing, where it is empty. Raises sqlite3.Error where it is none."""
    with closing(_memory()) as base, closing(_memory()) as clock:
        if data:
            base.deserialize(data)
        _confine(base, clock, call)
        _all(base, call, shown, lines)
        if base.in_transaction:
            base.rollback()
        base.set_authorizer(None)
        full = base.execute("PRAGMA page_count").fetchone()[0]
        return base.serialize() if full else b""


def _memory() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _options(call: Call) -> tuple[_Shown, list[str]]:
    shown, rest = _Shown(), list(call.args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0).lstrip("-")
        if option == "csv":
            shown.between, shown.quoted = ",", True
        elif option == "header":
            shown.names = True
        elif option == "separator" and rest:
            shown.between = rest.pop(0)
        elif option not in ("batch", "list", "noheader"):
            raise call.unsupported("-" + option)
    return shown, rest


def _confine(base: sqlite3.Connection, clock: sqlite3.Connection, call: Call) -> None:
    for setting in (
        "secure_delete = ON",
        "temp_store = MEMORY",
        f"temp.max_page_count = {LARGEST // 512}",
        f"max_page_count = {LARGEST // 512}",
    ):
        base.execute(f"PRAGMA {setting}")
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
    _tell_time(base, clock, call.now.date().astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"))
    for name in _DRAWN:
        base.create_function(name, -1, _drawn)
    base.set_authorizer(_authorized)


def _drawn(*_: object) -> None:
    """Default values of a table call functions that no authorizer sees."""
    raise ValueError("not of this file")


def _authorized(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_READ and (first or "").lower() == "sqlite_stmt":
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in _ALLOWED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _DRAWN:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _tell_time(base: sqlite3.Connection, clock: sqlite3.Connection, now: str) -> None:
    """Functions of time know the virtual one; `clock` has those of SQLite."""

    def told(name: str, *args: object) -> Any:
        given = [*args, "now"] if len(args) == (name == "strftime") else [*args]
        given = [now if isinstance(each, str) and each.strip().lower() == "now" else each for each in given]
        if any(isinstance(each, str) and each.strip().lower() in ("localtime", "utc") for each in given):
            raise ValueError("the zone of no machine")
        marks = ",".join("?" * len(given))
        return clock.execute(f"SELECT {name}({marks})", given).fetchone()[0]

    for name in _CLOCKS:
        base.create_function(name, -1, partial(told, name))
    for name, asked in (("date", "date"), ("time", "time"), ("timestamp", "datetime")):
        base.create_function(f"current_{name}", 0, partial(told, asked))


def _all(base: sqlite3.Connection, call: Call, shown: _Shown, texts: list[str]) -> None:
    for text in texts:
        for statement in _statements(text, call):
            try:
                if statement.startswith("."):
                    _dotted(base, call, shown, statement.split())
                else:
                    _one(base, call, shown, statement)
            except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
                _fail(call, error)
                return


def _fail(call: Call, error: Exception) -> None:
    says = str(error)
    says = "out of memory" if isinstance(error, MemoryError) else says
    says = "the statement takes too long" if says == "interrupted" else says[:300]
    call.err += f"Error: {says}\n".encode(errors="replace")
    call.code = 1


def _statements(text: str, call: Call) -> Iterator[str]:
    """Statements, and dot commands, which are lines."""
    waiting = ""
    for line in text.splitlines(keepends=True):
        if not waiting and line.startswith("."):
            yield line.strip()
            continue
        for piece in line.replace(";", ";\0").split("\0"):
            if not waiting and not piece.strip():
                continue
            waiting += piece
            if not piece.endswith(";"):
                continue
            call.disk.take(len(waiting))
            if sqlite3.complete_statement(waiting):
                yield waiting.strip()
                waiting = ""
    if waiting.strip():
        yield waiting.strip()


def _one(base: sqlite3.Connection, call: Call, shown: _Shown, statement: str, *args: str) -> None:
    if _EXPLAINS.match(statement):
        raise call.unsupported("explain")
    base.set_progress_handler(lambda: _paid(call), _STEPS)
    cursor = base.execute(statement, args)
    names = [each[0] for each in cursor.description or ()]
    for number, row in enumerate(cursor):
        if not number and shown.names:
            call.say(shown.line(iter(names)))
        call.say(shown.line(iter(row)))
        if len(call.out) > LARGEST:
            raise call.unsupported(f"more than {LARGEST:,} bytes of output")


def _paid(call: Call) -> int:
    """Whether a statement is to end."""
    try:
        call.disk.take(_PRICE)
    except Unsupported:
        return 1
    return 0


def _dotted(base: sqlite3.Connection, call: Call, shown: _Shown, words: list[str]) -> None:
    name, *args = words
    if name == ".tables" and not args:
        _one(base, call, _Shown(), _SHOWN)
    elif name == ".schema" and len(args) <= 1:
        _one(base, call, _Shown(), _SCHEMA, *(args or [""]))
    elif name in (".headers", ".header") and args in (["on"], ["off"]):
        shown.names = args == ["on"]
    elif name == ".mode" and args in (["csv"], ["list"]):
        shown.quoted = args == ["csv"]
        shown.between = "," if shown.quoted else "|"
    elif name not in (".quit", ".exit"):
        raise call.unsupported(" ".join(words))


def _text(value: object) -> str:
    """As the command line of SQLite shows it."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not isinstance(value, float):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "-Inf"
    text = f"{value:.15g}"
    if "." in text:
        return text
    mantissa, sign, exponent = text.partition("e")
    return f"{mantissa}.0{sign}{exponent}"


def _quoted(text: str) -> str:
    plain = text and not set(text) & set(",\"'\n\r \t") and text.isascii()
    return text if plain or not text else '"' + text.replace('"', '""') + '"'
