"""The hash chain over a stream: what finds damage, and where.

Knows bytes and digests: `digest_n = sha256(digest_{n-1} + bytes_n)`. Does not know what the bytes say or where they are
stored. The chain finds damage and difference; it is no signature: who can rewrite a whole log can rewrite its chain.
Stored bytes are hashed as they are, never re-encoded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from .errors import DamagedStream

GENESIS = hashlib.sha256(b"coworkenv log 1").digest()
"""The digest before the first event."""

RawEvent: TypeAlias = tuple[int, bytes, bytes]
"""An event as it is stored: its `seq`, its canonical bytes, its digest (32 bytes)."""

Kind: TypeAlias = Literal[
    "changed", "digest", "missing", "duplicated", "reordered", "cut", "extra", "blob", "observation", "row", "grade"
]


class Finding(msgspec.Struct, frozen=True):
    """One piece of damage. `seq` is the first event concerned; `message` is a sentence for people."""

    kind: Kind
    seq: int
    message: str


def link(previous: bytes, data: bytes) -> bytes:
    """The digest (32 bytes) of an event whose canonical bytes are `data`, after one whose digest is `previous`."""
    return hashlib.sha256(previous + data).digest()


def followed(rows: Iterable[RawEvent], previous: bytes = GENESIS, start: int = 0) -> Iterator[RawEvent]:
    """The rows, as long as each follows from the one before it. Raises DamagedStream at the first that does not."""
    sha256 = hashlib.sha256
    for row in rows:
        seq, data, digest = row
        if seq != start:
            raise DamagedStream(f"event {start} should come next, but event {seq} does", seq=start)
        if sha256(previous + data).digest() != digest:
            raise DamagedStream(f"event {seq} was changed after it was written, or its digest was", seq=seq)
        yield row
        previous = digest
        start += 1


def verify_chain(
    rows: Iterable[RawEvent], count: int | None = None, digest: bytes | None = None
) -> tuple[Finding, ...]:
    """All damage in a whole stream, in the order in which it is met; nothing if it is sound.

    `count` and `digest` are what the stream's row says of its length and of its last event: they show a cut tail.
    One damaged event is one finding, because each event is checked against the stored digest of the one before it.
    """
    check, sha256 = _Check(), hashlib.sha256
    for seq, data, stored in rows:
        # Nearly always: the next event, with the digest that it should have.
        if seq == check.expected and check.stored is not None and sha256(check.stored + data).digest() == stored:
            check.stored, check.computed, check.expected = stored, None, seq + 1
        else:
            check.event(seq, data, stored)
    check.end(count, digest)
    return tuple(sorted(check.findings, key=lambda finding: finding.seq))


class _Check:
    """Where a verification stands. `stored` is the digest that the log gives for the last event, None after a gap;
    `computed` the one that its bytes give, where it is another."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.expected = 0
        self.stored: bytes | None = GENESIS
        self.computed: bytes | None = None
        self.gaps: list[range] = []

    def event(self, seq: int, data: bytes, stored: bytes) -> None:
        if seq != self.expected and not self._in_order(seq):
            return
        computed = None if self.stored is None else link(self.stored, data)
        if computed != stored and computed is not None:
            if self.computed is not None and link(self.computed, data) == stored:
                self._only_the_digest(seq - 1)
                computed = stored
            else:
                self._found("changed", seq, f"event {seq} was changed after it was written, or its digest was")
        self.stored, self.computed = stored, (computed if computed != stored else None)
        self.expected = seq + 1

    def _in_order(self, seq: int) -> bool:
        """Note that `seq` comes where another should; whether it lies ahead, so that the check can go on from it."""
        if seq > self.expected:
            self.gaps.append(range(self.expected, seq))
            self._found("missing", self.expected, f"{_events(self.expected, seq)} missing, before event {seq}")
            self.stored = None
            return True
        if any(seq in gap for gap in self.gaps):
            self._found("reordered", seq, f"event {seq} comes after event {self.expected - 1}: the order was changed")
        else:
            self._found("duplicated", seq, f"event {seq} is there more than once")
        return False

    def _only_the_digest(self, seq: int) -> None:
        self.findings = [finding for finding in self.findings if finding.seq != seq]
        self._found("digest", seq, f"the digest stored for event {seq} was changed; the event itself is sound")

    def end(self, count: int | None, digest: bytes | None) -> None:
        if count is not None and self.expected < count:
            self._found(
                "cut", self.expected, f"{_events(self.expected, count)} missing: the end of the stream was cut off"
            )
        elif count is not None and self.expected > count:
            self._found("extra", count, f"the stream should end after {count} events, but has {self.expected}")
        elif digest is not None and self.stored is not None and digest != self.stored:
            if digest == self.computed:
                self._only_the_digest(self.expected - 1)
            else:
                last = max(self.expected - 1, 0)
                self._found(
                    "changed", last, f"the stream does not end with the digest that its row gives, at event {last}"
                )

    def _found(self, kind: Kind, seq: int, message: str) -> None:
        self.findings.append(Finding(kind, seq, message))


def _events(start: int, stop: int) -> str:
    return f"event {start} is" if stop == start + 1 else f"events {start} to {stop - 1} are"
