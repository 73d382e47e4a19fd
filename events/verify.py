"""Whether a stored stream is sound: its chain, its length, its large values, its observations, its row.

Knows what a log promises about stored bytes. Does not know what the events mean, so it says nothing about whether an
episode could have happened: that is what re-execution is for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from .chain import GENESIS, Finding, RawEvent, verify_chain
from .codec import blob_of, decode, may_refer, references
from .errors import DamagedStream, MalformedEvent, MissingBlob
from .event import Event
from .log import Log, StreamRow


def verify_stream(log: Log, stream: str) -> tuple[Finding, ...]:
    """All damage to a stream, ordered by the event concerned, then what concerns its row as a whole; nothing if it is
    sound. Raises NotFound and Ambiguous."""
    row = log.row(stream)
    found: list[Finding] = []
    # Somebody may be appending: what has come since the row was read is not looked at.
    events = log.read_raw(row.id, 0, row.count if row.status == "running" else None)
    found += verify_chain(_with_blobs(log, events, found), row.count, _digest(row))
    found += _observations(log, row)
    return (*sorted(found, key=lambda finding: finding.seq), *log.damage(row.id))


def checked_events(log: Log, stream: str) -> Iterator[Event]:
    """A stream's events, as long as the chain is sound: for folding and verifying in one go.

    Raises DamagedStream at the first event that does not follow from the one before it, and at the end if the stream is
    not as long, or does not end, as its row says.
    """
    row, last, count, sha256 = log.row(stream), GENESIS, 0, hashlib.sha256
    for seq, data, digest in log.read_raw(row.id):
        if seq != count or sha256(last + data).digest() != digest:
            raise DamagedStream(f"stream {row.id} is damaged at event {count}; verify it to see how", seq=count)
        last, count = digest, count + 1
        yield decode(data, log.recent)
    if row.status != "running" and (count != row.count or (count and last != _digest(row))):
        raise DamagedStream(f"the end of stream {row.id} is not the one that its row names", seq=count)


def _digest(row: StreamRow) -> bytes | None:
    if not row.count and not row.digest:
        return None
    try:
        return bytes.fromhex(row.digest)
    except ValueError:
        return b""


def _with_blobs(log: Log, events: Iterator[RawEvent], found: list[Finding]) -> Iterator[RawEvent]:
    """The events, unchanged; on the way, what they refer to is looked at."""
    for event in events:
        yield event
        seq, data, _ = event
        if not may_refer(data):
            continue
        try:
            for digest in references(data):
                log.blob(digest)
        except MissingBlob as error:
            found.append(Finding("blob", seq, f"event {seq}: {error}"))
        except MalformedEvent:
            pass  # its bytes were changed, which the chain says


def _observations(log: Log, row: StreamRow) -> Iterator[Finding]:
    for seen in log.observations(row.id):
        if blob_of(seen.content).digest != seen.digest:
            yield Finding(
                "observation", seen.seq, f"{seen.name!r}, observed at event {seen.seq}, was changed or is lost"
            )
        elif not 0 <= seen.seq < row.count:
            yield Finding(
                "observation", seen.seq, f"{seen.name!r} was observed at event {seen.seq}, which is not there"
            )
