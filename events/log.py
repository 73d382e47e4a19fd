"""What a log is: rows that describe streams, and the protocol that every store of events keeps.

Knows the interface, and the rules that all stores share. Does not know how anything is stored, nor what time it is:
the wall clock comes as an argument, in seconds since 1970.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias, TypedDict, Unpack

import msgspec

from .appender import Appender
from .chain import GENESIS, Finding, RawEvent, followed
from .codec import Blob, blob_of, references, seq_of
from .errors import (
    Ambiguous,
    BadRow,
    DamagedStream,
    LeaseHeld,
    LeaseLost,
    MissingBlob,
    NotFound,
    NotWriting,
    StreamEnded,
    StreamExists,
    WrongSeq,
)
from .event import Event, Json
from .normalise import normalise

LEASE = 60.0
"""Seconds after which a lease that was not renewed has expired. A running writer renews it three times as often."""

PREFIX = re.compile(r"[0-9a-f]+")
"""What can name a stream: the beginning of its id."""

_ID = re.compile(r"[0-9a-f]{8,64}")


class StreamRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a stream beside its events: what people look for, and what no event may depend on."""

    id: str
    """8 to 64 hexadecimal digits; any unique prefix names the stream."""
    kind: Literal["episode", "grading"] = "episode"
    parent: str | None = None
    """The episode that this one was forked from."""
    of: str | None = None
    """The episode that this grading is about."""
    environment: str
    twin: str | None = None
    agent: str = ""
    seed: int = 0
    trial: int = 0
    status: Literal["running", "suspended", "ended"] = "suspended"
    """`running` while somebody has it open; `suspended` when it can go on; `ended` when it never changes again."""
    reason: str = ""
    count: int = 0
    """Events in the log."""
    digest: str = ""
    """Hexadecimal digest of the last of them; empty without events."""
    created: float = 0.0
    """Wall clock, seconds since 1970."""
    host: str = ""
    versions: dict[str, Json] = {}
    """Of the packages that wrote it."""
    meta: dict[str, Json] = {}


class Observation(msgspec.Struct, frozen=True):
    """What was only observed at event `seq`: outside the chain, checked by its own digest (hexadecimal SHA-256)."""

    seq: int
    name: str
    digest: str
    content: bytes


class Grade(msgspec.Struct, frozen=True):
    """A verdict of `grader` (a digest) on a stream, kept at hand. The truth is the grading stream that it came from."""

    stream: str
    grader: str
    row: Json


class Filters(TypedDict, total=False):
    """What a row can be looked for by; None is no filter. `parent` and `of` are whole ids."""

    kind: str | None
    status: str | None
    environment: str | None
    agent: str | None
    parent: str | None
    of: str | None


Piece: TypeAlias = StreamRow | Blob | RawEvent | Observation
"""A piece of a whole stream: its row first, then blobs before the events that refer to them, events in order, and
observations."""


class Log(Protocol):
    """A store of streams, which are named by id or unique prefix; what names none raises NotFound or Ambiguous."""

    def create(self, row: StreamRow) -> None:
        """Add an empty stream, which nobody has open. Raises StreamExists or BadRow."""
        ...

    def begin(self, row: StreamRow, holder: str, now: float) -> Appender:
        """`create` and `open` at once. Raises StreamExists or BadRow.

        Where another process begins the same stream, the first to commit has it; the other's appender raises
        StreamExists.
        """
        ...

    def open(self, stream: str, holder: str, now: float, *, steal: bool | str = False) -> Appender:
        """Take the lease of a stream, so as to append to it; inside `writing()`.

        `holder` says to others who has it. Raises LeaseHeld if somebody else has it, unless that lease has expired or
        `steal` is given, in which case that other's next commit fails with LeaseLost. A `steal` that is a text is the
        one holder from whom it may be taken. Raises StreamEnded.
        """
        ...

    def writing(self) -> AbstractAsyncContextManager[None]:
        """While this runs, streams can be opened and appended to. On leaving, all that waits is committed, and leases
        that were not closed are given up."""
        ...

    def rows(self, **filters: Unpack[Filters]) -> list[StreamRow]:
        """The streams that agree with every filter given, oldest first: in the order of `created`."""
        ...

    def row(self, stream: str) -> StreamRow: ...

    def read(self, stream: str, start: int = 0, stop: int | None = None) -> Iterator[Event]:
        """Committed events from `start` up to, not including, `stop`. The chain is not checked: see `verify_stream`."""
        ...

    def read_raw(self, stream: str, start: int = 0, stop: int | None = None) -> Iterator[RawEvent]:
        """The same as stored: `(seq, canonical bytes, digest)`."""
        ...

    def blob(self, digest: str) -> bytes:
        """The content of a blob, checked. Raises MissingBlob."""
        ...

    def recent(self, digest: str) -> bytes:
        """The same, perhaps out of memory: for reading events, many of which share a blob; not for verifying."""
        ...

    def put_observation(self, stream: str, seq: int, name: str, content: bytes) -> None:
        """Keep or replace what was observed at an event that is in the log. Raises WrongSeq if it is not."""
        ...

    def observations(self, stream: str) -> Iterator[Observation]:
        """Ordered by `seq` and name; not checked against their digests."""
        ...

    def restore(self, pieces: Iterable[Piece]) -> None:
        """Write whole streams just as they are, all or nothing. Everything is checked: chains, counts, digests, blobs.

        Raises StreamExists, DamagedStream, MalformedEvent, MissingBlob, WrongSeq or BadRow. A stream that was running
        is suspended here.
        """
        ...

    def delete(self, stream: str) -> None:
        """Remove a stream, the gradings of it, and what only they refer to. Whoever has it open loses the lease."""
        ...

    def put_grade(self, stream: str, grader: str, row: Json) -> None:
        """Keep or replace a grade."""
        ...

    def grades(self, stream: str | None = None, grader: str | None = None) -> list[Grade]:
        """Those kept, in order of stream and grader."""
        ...

    def clear_grades(self) -> None: ...

    def damage(self, stream: str) -> tuple[Finding, ...]:
        """What is wrong with a stream's row, or with the list of what lies beside its events. See `verify_stream`."""
        ...

    def file_damage(self) -> tuple[str, ...]:
        """What is wrong with the store itself, in sentences; reads all of it."""
        ...

    def close(self) -> None: ...


def checked_row(row: StreamRow) -> StreamRow:
    """`row` as it may be stored. Raises BadRow, or NotJson for its `versions` and `meta`."""
    for name, value in (("id", row.id), ("parent", row.parent), ("of", row.of)):
        if value is not None and not _ID.fullmatch(value):
            raise BadRow(f"{name} {value!r:.80} of a stream is not 8 to 64 hexadecimal digits")
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if isinstance(value, str) and not _is_text(value):
            raise BadRow(f"{name} of stream {row.id} is not text: it holds lone surrogates")
    if not math.isfinite(row.created):
        raise BadRow(f"the time at which stream {row.id} was created is {row.created}, which is none")
    for name, number in (("seed", row.seed), ("trial", row.trial), ("count", row.count)):
        if not -(2**63) <= number < 2**63:
            raise BadRow(f"{name} {number} of stream {row.id} does not fit into 64 bits")
    return msgspec.structs.replace(row, versions=normalise(row.versions)[0], meta=normalise(row.meta)[0])


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def new_row(row: StreamRow) -> StreamRow:
    """`row` as `create` stores it: checked, empty, and open to nobody."""
    return msgspec.structs.replace(checked_row(row), status="suspended", count=0, digest="")


def the_one(prefix: str, candidates: Sequence[str]) -> str:
    """The id that `prefix` means, out of those that begin with it. Raises NotFound or Ambiguous."""
    if prefix in candidates:
        return prefix
    if not candidates:
        raise NotFound(f"no stream {prefix!r} in this log; `coworkenv list` shows what there is")
    if len(candidates) > 1:
        listed = ", ".join(candidates[:5]) + (" …" if len(candidates) > 5 else "")
        raise Ambiguous(f"{prefix!r} could be any of {listed}; give more digits", candidates=tuple(candidates))
    return candidates[0]


def check_lease(row: StreamRow, holder: str | None, until: float, now: float, steal: bool | str) -> None:
    """Whether a stream may be opened at wall-clock `now`, of which `holder` has a lease up to `until`."""
    if row.status == "ended":
        raise StreamEnded(
            f"stream {row.id} has ended ({row.reason or 'no reason given'}) and never changes; fork it instead"
        )
    if holder is not None and now < until and steal not in (True, holder):
        raise LeaseHeld(
            f"stream {row.id} is open in {holder}; its lease runs out in {until - now:.0f} s if that has crashed. "
            "Wait, or steal it if you know that nobody is writing",
            holder=holder,
            until=until,
        )


def checked_pieces(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces of whole streams, each found sound. Raises at the first that is not, and at the end of a stream that
    is not as long as its row says: DamagedStream, MissingBlob or BadRow."""
    blobs: set[str] = set()
    row: StreamRow | None = None
    count, digest = 0, GENESIS
    for piece in pieces:
        if isinstance(piece, StreamRow):
            _check_whole(row, count, digest)
            row, count, digest = _restored(piece), 0, GENESIS
            yield row
            continue
        if row is None:
            raise BadRow("a stream must begin with its row")
        if isinstance(piece, Blob):
            _check_content(piece)
            blobs.add(piece.digest)
        elif isinstance(piece, Observation):
            _check_content(piece)
            check_observed(row, piece.seq)
        else:
            seq, data, stored = piece
            for _ in followed([piece], digest, count):
                count, digest = seq + 1, stored
            if seq_of(data) != seq:
                raise DamagedStream(f"event {seq} of stream {row.id} says that it is event {seq_of(data)}", seq=seq)
            for name in references(data):
                if name not in blobs:
                    raise MissingBlob(
                        f"event {seq} of stream {row.id} refers to {name[:12]}, which is missing", digest=name
                    )
        yield piece
    _check_whole(row, count, digest)


def _restored(row: StreamRow) -> StreamRow:
    row = checked_row(row)
    # Whoever was running it does so in another log.
    return msgspec.structs.replace(row, status="suspended") if row.status == "running" else row


def _check_content(piece: Blob | Observation) -> None:
    if blob_of(piece.content).digest != piece.digest:
        raise MissingBlob(f"the content of {piece.digest[:12]} was changed: its digest is another", digest=piece.digest)


def _check_whole(row: StreamRow | None, count: int, digest: bytes) -> None:
    if row is None:
        return
    if count != row.count:
        raise DamagedStream(
            f"stream {row.id} should have {row.count} events, but has {count}", seq=min(count, row.count)
        )
    if row.digest != (digest.hex() if count else ""):
        raise DamagedStream(f"stream {row.id} does not end with the digest that its row gives", seq=max(count - 1, 0))


def check_observed(row: StreamRow, seq: int) -> None:
    """Whether `seq` is an event that an observation can be of. Raises WrongSeq."""
    if not 0 <= seq < row.count:
        raise WrongSeq(f"stream {row.id} has {row.count} events; nothing can be observed at event {seq}")


def begun_elsewhere(stream: str, place: object) -> StreamExists:
    return StreamExists(f"stream {stream} is already in {place}; open it to append to it, or read what it holds")


def lease_lost(stream: str) -> LeaseLost:
    return LeaseLost(
        f"stream {stream} was taken over by another writer, or deleted; what this one had not committed is lost"
    )


def writing_over(stream: str) -> NotWriting:
    return NotWriting(f"stream {stream} was opened in a `log.writing()` that is over; open it again in another")
