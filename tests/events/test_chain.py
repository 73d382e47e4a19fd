"""The chain finds every kind of damage and says at which event."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.events.chain import GENESIS, RawEvent, followed, link, verify_chain
from coworkenv.events.errors import DamagedStream

CONTENTS = st.lists(st.binary(min_size=1, max_size=4), min_size=1, max_size=7)


def chained(contents: list[bytes]) -> list[RawEvent]:
    rows, digest = [], GENESIS
    for seq, data in enumerate(contents):
        digest = link(digest, data)
        rows.append((seq, data, digest))
    return rows


def flipped(data: bytes, bit: int) -> bytes:
    place, bit = divmod(bit % (8 * len(data)), 8)
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]


def test_the_chain_is_sha256_over_the_digest_before_and_the_bytes() -> None:
    assert hashlib.sha256(b"coworkenv log 1").digest() == GENESIS
    assert link(GENESIS, b"[0]") == hashlib.sha256(GENESIS + b"[0]").digest()


@given(CONTENTS)
def test_a_sound_stream_has_no_findings(contents: list[bytes]) -> None:
    rows = chained(contents)
    assert verify_chain(rows, len(rows), rows[-1][2]) == ()
    assert list(followed(rows)) == rows


def test_an_empty_stream_is_sound() -> None:
    assert verify_chain([], 0, None) == ()


@given(CONTENTS, st.data())
def test_a_flipped_bit_in_an_event_is_one_finding_there(contents: list[bytes], data: st.DataObject) -> None:
    rows = chained(contents)
    seq = data.draw(st.integers(0, len(rows) - 1))
    rows[seq] = (seq, flipped(rows[seq][1], data.draw(st.integers(0, 100))), rows[seq][2])
    (finding,) = verify_chain(rows, len(rows), rows[-1][2])
    assert (finding.kind, finding.seq) == ("changed", seq)
    with pytest.raises(DamagedStream) as caught:
        list(followed(rows))
    assert caught.value.seq == seq


@given(CONTENTS, st.data())
def test_a_flipped_bit_in_a_digest_is_told_from_one_in_an_event(contents: list[bytes], data: st.DataObject) -> None:
    rows = chained(contents)
    last = rows[-1][2]
    seq = data.draw(st.integers(0, len(rows) - 1))
    rows[seq] = (seq, rows[seq][1], flipped(rows[seq][2], data.draw(st.integers(0, 255))))
    (finding,) = verify_chain(rows, len(rows), last)
    assert (finding.kind, finding.seq) == ("digest", seq)


@given(CONTENTS, st.data())
def test_missing_events_are_a_gap_or_a_cut(contents: list[bytes], data: st.DataObject) -> None:
    rows = chained(contents)
    count, last = len(rows), rows[-1][2]
    start = data.draw(st.integers(0, count - 1))
    stop = data.draw(st.integers(start + 1, count))
    del rows[start:stop]
    (finding,) = verify_chain(rows, count, last)
    assert (finding.kind, finding.seq) == ("cut" if stop == count else "missing", start)


def test_without_the_row_a_cut_tail_cannot_be_seen() -> None:
    assert verify_chain(chained([b"a", b"b"])[:1]) == ()


@given(CONTENTS, st.data())
def test_an_event_that_is_there_twice_is_found(contents: list[bytes], data: st.DataObject) -> None:
    rows = chained(contents)
    count, last = len(rows), rows[-1][2]
    seq = data.draw(st.integers(0, count - 1))
    rows.insert(data.draw(st.integers(seq + 1, count)), rows[seq])
    (finding,) = verify_chain(rows, count, last)
    assert (finding.kind, finding.seq) == ("duplicated", seq)


@given(st.lists(st.binary(min_size=1, max_size=4), min_size=2, max_size=7), st.data())
def test_two_events_that_changed_places_are_found(contents: list[bytes], data: st.DataObject) -> None:
    rows = chained(contents)
    last = rows[-1][2]
    seq = data.draw(st.integers(0, len(rows) - 2))
    rows[seq], rows[seq + 1] = rows[seq + 1], rows[seq]
    findings = verify_chain(rows, len(rows), last)
    assert findings[0].seq == seq
    assert "reordered" in [finding.kind for finding in findings]


def test_two_contents_that_changed_places_are_found() -> None:
    rows = chained([b"a", b"b", b"c"])
    rows[0], rows[1] = (0, *rows[1][1:]), (1, *rows[0][1:])
    assert verify_chain(rows, 3, rows[2][2])[0].seq == 0


def test_events_that_the_row_does_not_count_are_found() -> None:
    rows = chained([b"a", b"b", b"c"])
    (finding,) = verify_chain(rows, 2, rows[1][2])
    assert (finding.kind, finding.seq) == ("extra", 2)


def test_another_last_digest_is_found() -> None:
    (finding,) = verify_chain(chained([b"a", b"b"]), 2, bytes(32))
    assert (finding.kind, finding.seq) == ("changed", 1)


@given(CONTENTS, st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=3), st.binary(max_size=3)), max_size=4))
def test_any_rows_can_be_verified(contents: list[bytes], others: list[RawEvent]) -> None:
    rows = chained(contents)
    if others:
        assert verify_chain([*rows, *others], len(rows), rows[-1][2]) or others == rows
