"""Whether a stored stream is sound: its chain, its length, its large values, its observations, its row.

Knows what a log promises about stored bytes. Does not know what the events mean, so it says nothing about whether an
episode could have happened: that is what re-execution is for.
"""

from __future__ import annotations

from collections.abc import Iterator

from .chain import Finding, RawEvent, verify_chain
from .codec import blob_of, references
from .errors import MalformedEvent, MissingBlob
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
