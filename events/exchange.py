"""Episodes as single files: exported, sent to somebody, imported, and the same bytes and digests there.

Knows the file format: gzip, in it lines of JSON. A header; then for the episode and for each grading of it the row, the
large values, the events exactly as stored, the observations; at the end a count and a digest of all lines. Does not
know how logs keep streams. The same streams give the same bytes. Whatever a file holds, reading it either succeeds or
raises a LogError that says what is damaged, and nothing is imported unless all of it is sound.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import zlib
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import BinaryIO, TypeAlias

import msgspec

from .codec import BAD_JSON, Blob, references, to_json
from .errors import (
    Ambiguous,
    BadRow,
    DamagedExport,
    DamagedStream,
    ExportTooLarge,
    MalformedEvent,
    MissingBlob,
    NewerFormat,
    NotFound,
    NotJson,
    StreamDiffers,
    WrongSeq,
)
from .log import Log, Observation, Piece, StreamRow, checked_pieces

SUFFIX = ".episode.jsonl.gz"

VERSION = 1

LIMIT = 4 * 1024**3
"""Bytes that an export may unpack to, unless the caller says otherwise."""

LINE_LIMIT = 256 * 1024**2

_DAMAGE = (BadRow, DamagedStream, MalformedEvent, MissingBlob, NotJson, WrongSeq)


class _Line(msgspec.Struct, frozen=True, array_like=True, tag_field="line"):
    """One line: an array that begins with its kind."""


class _Header(_Line, frozen=True, tag="coworkenv episode"):
    version: int


class _Stream(_Line, frozen=True, tag="stream"):
    row: StreamRow


class _Blob(_Line, frozen=True, tag="blob"):
    digest: str
    text: str


class _Event(_Line, frozen=True, tag="event"):
    seq: int
    digest: str
    data: msgspec.Raw


class _Observation(_Line, frozen=True, tag="observation"):
    seq: int
    name: str
    digest: str
    text: str | None
    """The content where it is text, else `content` is it (base64)."""
    content: bytes = b""


class _End(_Line, frozen=True, tag="end"):
    lines: int
    digest: str


_AnyLine: TypeAlias = _Header | _Stream | _Blob | _Event | _Observation | _End
_decode = msgspec.json.Decoder(_AnyLine, float_hook=Decimal).decode


def export_episode(log: Log, stream: str, file: BinaryIO) -> StreamRow:
    """Write an episode and its gradings to `file`, and give the episode's row. Raises what is wrong with either."""
    row = log.row(stream)
    streams = [row, *log.rows(of=row.id)]
    pieces = checked_pieces(piece for each in streams for piece in _pieces_of(log, each))
    lines, digest = 0, hashlib.sha256()
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        for line in itertools.chain([_Header(VERSION)], map(_line_of, pieces)):
            data = to_json(line) + b"\n"
            digest.update(data)
            packed.write(data)
            lines += 1
        packed.write(to_json(_End(lines, digest.hexdigest())) + b"\n")
    return row


def _pieces_of(log: Log, row: StreamRow) -> Iterator[Piece]:
    yield row
    written: set[str] = set()
    # As long as the row says, even if somebody is appending meanwhile.
    for event in log.read_raw(row.id, 0, row.count):
        for digest in references(event[1]):
            if digest not in written:
                written.add(digest)
                yield Blob(digest, log.blob(digest))
        yield event
    yield from (seen for seen in log.observations(row.id) if seen.seq < row.count)


def _line_of(piece: Piece) -> _Line:
    match piece:
        case StreamRow():
            return _Stream(piece)
        case Blob():
            return _Blob(piece.digest, piece.content.decode())
        case Observation():
            try:
                return _Observation(piece.seq, piece.name, piece.digest, piece.content.decode())
            except UnicodeDecodeError:
                return _Observation(piece.seq, piece.name, piece.digest, None, piece.content)
        case (seq, data, digest):
            return _Event(seq, digest.hex(), msgspec.Raw(data))


def import_episode(log: Log, file: BinaryIO, limit: int = LIMIT) -> tuple[StreamRow, ...]:
    """Add what an export holds to `log`, and give the rows in it: the episode first, then its gradings.

    All or nothing. What the log has already, and equal, is left as it is. Raises DamagedExport, ExportTooLarge (it
    unpacks to more than `limit` bytes), NewerFormat, or StreamDiffers (the log has another stream of that name).
    """
    rows: list[StreamRow] = []
    try:
        log.restore(_missing(log, checked_pieces(_pieces_in(file, limit)), rows))
    except _DAMAGE as error:
        raise DamagedExport(f"this export is damaged: {error}") from error
    return tuple(rows)


def check_import(log: Log, file: BinaryIO, limit: int = LIMIT) -> None:
    """Raise what `import_episode` would raise, and change nothing: so that several files can be all or nothing."""
    try:
        for _ in _missing(log, checked_pieces(_pieces_in(file, limit)), []):
            pass
    except _DAMAGE as error:
        raise DamagedExport(f"this export is damaged: {error}") from error


def _missing(log: Log, pieces: Iterable[Piece], rows: list[StreamRow]) -> Iterator[Piece]:
    """The pieces of streams that the log does not have. All rows are noted in `rows`."""
    wanted = True
    for piece in pieces:
        if isinstance(piece, StreamRow):
            rows.append(piece)
            wanted = not _is_there(log, piece)
        if wanted:
            yield piece


def _is_there(log: Log, row: StreamRow) -> bool:
    try:
        there = log.row(row.id)
    except (NotFound, Ambiguous):
        return False
    if there.id != row.id:
        return False
    for name in ("kind", "parent", "of", "count", "digest"):
        mine, theirs = getattr(there, name), getattr(row, name)
        if mine != theirs:
            raise StreamDiffers(
                f"stream {row.id} is in this log already, but its {name} is {mine!r} here and {theirs!r} there; "
                "delete the one here, or import into another log"
            )
    return True


def _pieces_in(file: BinaryIO, limit: int) -> Iterator[Piece]:
    number, digest, ended = 0, hashlib.sha256(), False
    for data in _unpacked(file, limit):
        line = _parsed(data, number)
        if ended:
            raise DamagedExport(
                f"line {number + 1} comes after the end of the export: two files were joined, or it was changed"
            )
        match line:
            case _Header():
                pass
            case _End():
                ended = True
                if (line.lines, line.digest) != (number, digest.hexdigest()):
                    raise DamagedExport(
                        f"this export was changed: its {number} lines are not those that its last line names"
                    )
            case _:
                yield _piece_of(line, number)
        digest.update(data)
        number += 1
    if not ended:
        raise DamagedExport(f"this export was cut: it has no end after line {number}")


def _parsed(data: bytes, number: int) -> _AnyLine:
    """The line, whose place is right as far as its header goes."""
    try:
        line = _decode(data)
    except BAD_JSON as error:
        if number == 0:
            raise DamagedExport("this is no export of an episode: it does not begin like one") from error
        raise DamagedExport(f"line {number + 1} of this export is damaged: {error}") from error
    if isinstance(line, _Header) != (number == 0):
        raise DamagedExport(f"line {number + 1} of this export is out of place: the header comes first, and once")
    if isinstance(line, _Header) and line.version > VERSION:
        raise NewerFormat(
            f"this export has version {line.version}, this release of coworkenv knows up to {VERSION}: "
            "upgrade to read it"
        )
    return line


def _piece_of(line: _AnyLine, number: int) -> Piece:
    try:
        match line:
            case _Stream():
                return line.row
            case _Blob():
                return Blob(line.digest, line.text.encode())
            case _Event():
                return line.seq, bytes(line.data), bytes.fromhex(line.digest)
            case _Observation():
                content = line.content if line.text is None else line.text.encode()
                return Observation(line.seq, line.name, line.digest, content)
    except ValueError as error:
        raise DamagedExport(f"line {number + 1} of this export is damaged: {error}") from error
    raise AssertionError(line)


def _unpacked(file: BinaryIO, limit: int) -> Iterator[bytes]:
    left = limit
    with gzip.GzipFile(fileobj=file, mode="rb") as packed:
        while True:
            try:
                data = packed.readline(min(left, LINE_LIMIT) + 1)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DamagedExport(
                    f"this export cannot be unpacked, because it was cut or changed: {error}"
                ) from error
            if not data:
                return
            left -= len(data)
            if left < 0 or len(data) > LINE_LIMIT:
                raise ExportTooLarge(
                    f"this export unpacks to more than {limit} bytes, or to lines of more than {LINE_LIMIT}"
                )
            yield data
