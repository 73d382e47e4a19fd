"""What a file notes about a stream beside the chain, so that damage to the rest is found as well.

Knows the columns `beside` and `seal` of a stream's row. `beside` is the exclusive or of a digest for each observation
(its place, name and content) and each use of a large value: it can be kept up to date without reading them all, and
says whether one was changed, moved or lost. `seal` is a digest of the row itself and of `beside`. Like the chain they
find damage; they are no signature. Does not know what the chain covers (`chain`), nor when anything is written.

Not covered: who has the stream open and until when (`lease`, `holder`, `until`), and the numbers of rows themselves.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import xor

from .chain import Finding
from .codec import to_json
from .event import Json
from .schema import ROW

NOTHING = "0" * 64
"""`beside` of a stream that has nothing beside its events."""

_BESIDE = (
    "SELECT 'observation', seq, name, digest FROM observation WHERE stream = ?1 "
    "UNION ALL SELECT 'blob', digest, NULL, NULL FROM blob_use WHERE stream = ?1 "
    "UNION ALL SELECT 'beside', beside, NULL, NULL FROM stream WHERE key = ?1"
)
_LOOSE = (
    "SELECT count(*) FROM {table} WHERE NOT EXISTS (SELECT 1 FROM {other} WHERE {other}.{key} = {table}.{reference})"
)
_REFERENCES = (
    ("event", "stream", "stream", "key"),
    ("observation", "stream", "stream", "key"),
    ("blob_use", "stream", "stream", "key"),
    ("grade", "stream", "stream", "key"),
    ("blob_use", "digest", "blob", "digest"),
    ("blob", "digest", "blob_use", "digest"),
)


def mark(kind: str, *parts: Json) -> int:
    """The digest of one thing that lies beside the events, as a number."""
    return int.from_bytes(hashlib.sha256(to_json([kind, *parts])).digest(), "big")


def renew(conn: sqlite3.Connection, changes: Mapping[int, int]) -> None:
    """Write `beside` and `seal` anew for the streams with these keys; each comes with the marks that came or went."""
    for key, change in changes.items():
        found = conn.execute(f"SELECT beside, {ROW} FROM stream WHERE key = ?", (key,)).fetchone()
        if found is not None:
            beside = f"{_number(found[0]) ^ change:064x}"
            conn.execute(
                "UPDATE stream SET beside = ?, seal = ? WHERE key = ?", (beside, _seal(beside, found[1:]), key)
            )


def broken(conn: sqlite3.Connection, key: int) -> Iterator[Finding]:
    """Damage to what lies beside the events of a stream, as a whole: where exactly cannot be said."""
    row = conn.execute(f"SELECT id, seal, beside, {ROW} FROM stream WHERE key = ?", (key,)).fetchone()
    if row is not None and row[1] != _seal(row[2], row[3:]):
        yield Finding("row", 0, f"the row of stream {row[0]} was changed after it was written")
    marks, beside = [], None
    for kind, *parts in conn.execute(_BESIDE, (key,)).fetchall():
        if kind == "beside":
            beside = parts[0]
        else:
            marks.append(mark(kind, *parts) if kind == "observation" else mark(kind, parts[0]))
    if beside is not None and f"{reduce(xor, marks, 0):064x}" != beside:
        yield Finding(
            "observation",
            0,
            "what was observed, or the list of large values, is not what was written: some was changed",
        )


def file_damage(conn: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the file and between its tables, in sentences. Reads all of it."""
    for (said,) in conn.execute("PRAGMA integrity_check(10)").fetchall():
        if said != "ok":
            yield f"the database is damaged: {said}"
    for table, reference, other, key in _REFERENCES:
        sql = _LOOSE.format(table=table, reference=reference, other=other, key=key)
        (count,) = conn.execute(sql).fetchone()
        if count:
            yield f"{count} row(s) of the table {table!r} belong to no row of {other!r}: one of the two was changed"


def _seal(beside: Json, cells: tuple[Json, ...]) -> str:
    return hashlib.sha256(to_json([beside, *cells])).hexdigest()


def _number(beside: Json) -> int:
    try:
        return int(str(beside), 16)
    except ValueError:
        return 0  # damaged, and what is written now will not agree with the rest either
