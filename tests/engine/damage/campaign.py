"""Many changes of one byte, one after the other, and what came of them.

Knows which bytes are tried and how they are counted. Does not know how one is changed (`flipping`).
"""

from __future__ import annotations

import gzip
import random
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import trio

from coworkenv.events.sqlite import SqliteLog

from .flipping import Cell, Impossible, cells, content, exported, file_damaged, flip, import_refused, place_of

Try = tuple[str, Cell, int, int]
"""The stream, the value, which byte of it, and the bits to change."""


class Report(msgspec.Struct):
    """What was tried. `missed` are changes that mean something and were not seen."""

    tried: int = 0
    found: int = 0
    impossible: int = 0
    kinds: dict[str, int] = {}
    """Found, by table and column, or by place in the file."""
    meaningless: dict[str, int] = {}
    """Not found, and every value that can be read is as it was; by what the byte is for."""
    missed: list[str] = []

    def saw(self, kind: str) -> None:
        self.found += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def meant_nothing(self, kind: str) -> None:
        self.meaningless[kind] = self.meaningless.get(kind, 0) + 1


def every_byte(path: Path, stream: str, seed: int) -> Report:
    """Each byte of each stored value of one stream, one bit of it changed."""
    draw = random.Random(seed)
    return _flipped(
        path, lambda conn: ((stream, cell, at, _mask(draw)) for cell in cells(conn, stream) for at in range(cell.size))
    )


def everywhere(path: Path, streams: Sequence[str], flips: int, seed: int) -> Report:
    """Random bytes of the stored values of several streams: each column as often as any other."""
    draw = random.Random(seed)

    def tries(conn: sqlite3.Connection) -> Iterator[Try]:
        columns: dict[str, list[tuple[str, Cell]]] = {}
        for stream in streams:
            for cell in cells(conn, stream):
                if cell.size:
                    columns.setdefault(cell.kind, []).append((stream, cell))
        for number in range(flips):
            # Every other one by size, so that most are where most bytes are.
            kind = "event.data" if number % 2 else draw.choice(sorted(columns))
            stream, cell = draw.choice(columns[kind])
            yield stream, cell, draw.randrange(cell.size), _mask(draw)

    return _flipped(path, tries)


def _mask(draw: random.Random) -> int:
    return 1 << draw.randrange(8)


def _flipped(path: Path, tries) -> Report:  # type: ignore[no-untyped-def]
    report = Report()

    async def work() -> None:
        with closing(SqliteLog(path)) as log, closing(sqlite3.connect(path)) as conn:
            conn.execute("PRAGMA synchronous = OFF")
            for stream, cell, at, mask in list(tries(conn)):
                report.tried += 1
                try:
                    seen = await flip(log, conn, stream, cell, at, mask)
                except Impossible:
                    report.impossible += 1
                    continue
                if seen:
                    report.saw(cell.kind)
                elif seen is None:
                    report.meant_nothing(f"{cell.kind}: packed otherwise, the same text")
                else:
                    report.missed.append(f"{cell.kind}, byte {at} of {cell.keys}")

    trio.run(work)
    return report


def in_file(path: Path, flips: int, seed: int) -> Report:
    """Random bytes of the file, of which each tenth in its first page and each tenth at the head of a page."""
    draw, report = random.Random(seed), Report()
    original, other = path.read_bytes(), path.with_name("flipped.db")
    other.write_bytes(original)
    sound = content(other)
    size = int.from_bytes(original[16:18], "big")
    for number in range(flips):
        offset = draw.randrange(len(original))
        if number % 10 == 0:
            offset %= size
        elif number % 10 == 1:
            offset = offset // size * size + offset % 16
        changed = original[offset] ^ _mask(draw)
        other.write_bytes(original[:offset] + bytes([changed]) + original[offset + 1 :])
        report.tried += 1
        where = place_of(original, offset)
        if trio.run(file_damaged, other, False):
            report.saw(where)
        elif content(other) == sound:
            report.meant_nothing(where)
        elif trio.run(file_damaged, other, True):
            report.saw(where)
        else:
            report.missed.append(f"{where}, byte {offset}")
        for beside in (other.with_name("flipped.db-wal"), other.with_name("flipped.db-shm")):
            beside.unlink(missing_ok=True)
    return report


def in_exports(path: Path, stream: str, step: int, seed: int) -> Report:
    """Bytes of an exported file: each `step`-th. What is not refused must be the same episode."""
    draw, report = random.Random(seed), Report()
    with closing(SqliteLog(path)) as log:
        original = exported(log, stream)
    sound = import_refused(original)
    for offset in _steps(len(original), step):
        changed = original[:offset] + bytes([original[offset] ^ _mask(draw)]) + original[offset + 1 :]
        report.tried += 1
        result = import_refused(changed)
        if result is True:
            report.saw("the file")
        elif result == sound:
            report.meant_nothing(_why_same(original, changed))
        else:
            report.missed.append(f"byte {offset}")
    return report


def _why_same(original: bytes, changed: bytes) -> str:
    """Deflate ends in bits that mean nothing, and can say some things in two ways; neither is damage."""
    same = gzip.decompress(changed) == gzip.decompress(original)
    return "another packing of the same bytes" if same else "in the data"


def _steps(size: int, step: int) -> Iterable[int]:
    return [*range(min(32, size)), *range(32, size, step)] if step > 1 else range(size)
