"""What every log promises. A new kind of log passes this file unchanged: see `KINDS` in conftest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import trio

from coworkenv.events import Appender, Event, Log, MemoryLog, StreamRow, verify_stream
from coworkenv.events.chain import GENESIS, link
from coworkenv.events.codec import Blob, blob_of, encode
from coworkenv.events.errors import (
    Ambiguous,
    BadRow,
    Closed,
    DamagedStream,
    LeaseHeld,
    LeaseLost,
    LogLocked,
    MissingBlob,
    NotFound,
    NotJson,
    NotWriting,
    StreamEnded,
    StreamExists,
    WrongSeq,
)
from coworkenv.events.event import ToolCalled
from coworkenv.events.log import LEASE, Grade, Observation
from coworkenv.events.verify import checked_events

Story = Callable[..., list[Event]]


async def commit(appender: Appender, events: list[Event]) -> None:
    appender.append(events)
    await appender.barrier()


async def write(log: Log, row: StreamRow, events: list[Event], status: Any = "ended") -> None:
    log.create(row)
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        appender.append(events)
        await appender.close(status, "finished")


# --- appending and reading -------------------------------------------------------------------------------------


async def test_what_is_appended_is_read(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(30))
    assert list(log.read(row.id)) == story(30)
    assert list(log.read(row.id, 5, 9)) == story(4, start=5)
    assert list(log.read(row.id, 25)) == story(5, start=25)
    assert list(log.read(row.id, 0, 0)) == list(log.read(row.id, 40)) == []


async def test_stored_bytes_are_the_canonical_ones_in_a_chain(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(30))
    digest = GENESIS
    for event, (seq, data, stored) in zip(story(30), log.read_raw(row.id), strict=True):
        digest = link(digest, data)
        assert (seq, data, stored) == (event.seq, encode(event).data, digest)
    assert log.row(row.id).digest == digest.hex()
    assert verify_stream(log, row.id) == ()


async def test_a_row_says_what_became_of_the_stream(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    assert log.row(row.id) == row
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        assert (appender.count, appender.digest) == (0, GENESIS)
        assert log.row(row.id).status == "running"
        appender.append(story(3))
        await appender.close("ended", "idle")
    expected = msgspec.structs.replace(row, status="ended", reason="idle", count=3, digest=appender.digest.hex())
    assert log.row(row.id) == expected


async def test_an_empty_stream_is_sound(log: Log, row: StreamRow) -> None:
    await write(log, row, [])
    assert log.row(row.id).digest == ""
    assert list(log.read(row.id)) == []
    assert verify_stream(log, row.id) == ()


async def test_a_suspended_stream_goes_on(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(10), "suspended")
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        assert appender.count == 10
        appender.append(story(10, start=10))
        await appender.close("ended", "finished")
    whole = MemoryLog()
    await write(whole, row, story(20))
    assert list(log.read_raw(row.id)) == list(whole.read_raw(row.id))


async def test_barrier_makes_everything_before_it_visible(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        for seq in range(20):
            appender.append(story(1, start=seq))
            appender.observe(seq, b"raw %d" % seq)
            await appender.barrier()
            assert [event.seq for event in log.read(row.id)] == list(range(seq + 1))
            assert len(list(log.observations(row.id))) == seq + 1
            assert log.row(row.id).count == seq + 1


async def test_barrier_and_close_are_checkpoints(log: Log, row: StreamRow) -> None:
    log.create(row)
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        with trio.testing.assert_checkpoints():
            await appender.barrier()
        with trio.testing.assert_checkpoints():
            await appender.close()


async def test_many_streams_are_written_side_by_side(log: Log, row: StreamRow, story: Story) -> None:
    ids = [f"{n:08x}" for n in range(12)]

    async def play(id: str) -> None:
        appender = log.open(id, "test", 0.0)
        for seq in range(0, 40, 2):
            appender.append(story(2, start=seq))
            if seq % 5 == 0:
                await appender.barrier()
        await appender.close("ended")

    for id in ids:
        log.create(msgspec.structs.replace(row, id=id))
    async with log.writing(), trio.open_nursery() as nursery:
        for id in ids:
            nursery.start_soon(play, id)
    assert [list(log.read(id)) for id in ids] == [story(40)] * 12
    assert all(verify_stream(log, id) == () for id in ids)


async def test_leaving_writing_commits_and_suspends(log: Log, row: StreamRow, story: Story) -> None:
    async def fail() -> None:
        async with log.writing():
            log.open(row.id, "test", 0.0).append(story(3))
            raise ZeroDivisionError

    log.create(row)
    with pytest.raises(ZeroDivisionError):  # as it is, in no group
        await fail()
    assert log.row(row.id).status == "suspended"
    assert log.row(row.id).count == 3
    async with log.writing():
        assert log.open(row.id, "another", 0.0).count == 3


async def test_cancelled_writing_commits_too(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    with trio.move_on_after(0.05):
        async with log.writing():
            log.open(row.id, "test", 0.0).append(story(3))
            await trio.sleep_forever()
    assert list(log.read(row.id)) == story(3)


# --- what an append refuses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seqs", [[1], [0, 2], [0, 0], [0, 1, 1], [-1]])
async def test_a_wrong_seq_appends_nothing(log: Log, row: StreamRow, story: Story, seqs: list[int]) -> None:
    log.create(row)
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        with pytest.raises(WrongSeq):
            appender.append([msgspec.structs.replace(story(2)[1], seq=seq) for seq in seqs])
        assert (appender.count, appender.digest) == (0, GENESIS)
        appender.append(story(2))
        await appender.close()
    assert list(log.read(row.id)) == story(2)


async def test_a_value_that_is_no_json_appends_nothing(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        with pytest.raises(NotJson):
            appender.append([*story(1), Event(1, 0, "agent", None, ToolCalled(tool="t", args={"k": "\ud800"}))])
        await appender.close()
    assert log.row(row.id).count == 0


async def test_nothing_is_appended_after_close_or_outside_writing(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    with pytest.raises(NotWriting):
        log.open(row.id, "test", 0.0)
    async with log.writing():
        closed = log.open(row.id, "test", 0.0)
        await closed.close()
        left = log.open(row.id, "test", 0.0)
        with pytest.raises(Closed):
            closed.append(story(1))
    with pytest.raises(NotWriting):
        left.append(story(1))
    assert log.row(row.id).count == 0


async def test_one_writing_at_a_time(log: Log) -> None:
    async with log.writing():
        with pytest.raises(LogLocked):
            async with log.writing():
                pass


# --- leases ----------------------------------------------------------------------------------------------------


async def test_a_stream_that_is_open_is_not_opened_again(log: Log, row: StreamRow) -> None:
    log.create(row)
    async with log.writing():
        log.open(row.id, "host-1:4711", 100.0)
        with pytest.raises(LeaseHeld, match="host-1:4711") as caught:
            log.open(row.id, "host-1:4711", 101.0)
        assert caught.value.holder == "host-1:4711"
        assert caught.value.until == pytest.approx(100.0 + LEASE, abs=5.0)


@pytest.mark.parametrize("how", ["expired", "stolen"])
async def test_who_lost_the_lease_is_told_and_writes_no_more(log: Log, row: StreamRow, story: Story, how: str) -> None:
    log.create(row)
    async with log.writing():
        first = log.open(row.id, "first", 0.0)
        first.append(story(2))
        await first.barrier()
        second = log.open(row.id, "second", 2 * LEASE if how == "expired" else 1.0, steal=how == "stolen")
        second.append(story(2, start=2))
        with pytest.raises(LeaseLost):  # at once, or when it is committed
            await commit(first, story(1, start=2))
        with pytest.raises(LeaseLost):
            first.append(story(1, start=3))
        with pytest.raises(LeaseLost):
            await first.close("ended")
        await second.barrier()
    assert list(log.read(row.id)) == story(4)
    assert log.row(row.id).status == "suspended"


async def test_an_ended_stream_never_changes(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(3))
    async with log.writing():
        with pytest.raises(StreamEnded, match="fork"):
            log.open(row.id, "test", 1e12, steal=True)


# --- finding streams -------------------------------------------------------------------------------------------


def test_a_unique_prefix_names_a_stream(log: Log, row: StreamRow) -> None:
    for id in ("aaaa0000", "aaab0000", "aaab0000ff"):
        log.create(msgspec.structs.replace(row, id=id))
    assert log.row("aaaa").id == "aaaa0000"
    assert log.row("aaab0000").id == "aaab0000"  # all of an id, though another begins with it
    with pytest.raises(Ambiguous) as caught:
        log.row("aaa")
    assert caught.value.candidates == ("aaaa0000", "aaab0000", "aaab0000ff")


@pytest.mark.parametrize("prefix", ["b", "", "%", "aaaa0000'; --", "\udc80", "AAAA", "aaaa00000"])
def test_what_names_no_stream_is_not_found(log: Log, row: StreamRow, prefix: str) -> None:
    log.create(msgspec.structs.replace(row, id="aaaa0000"))
    for look in (log.row, log.read, log.read_raw, log.observations, log.delete, log.grades):
        with pytest.raises(NotFound):
            look(prefix)


def test_rows_are_filtered_and_in_order(log: Log, row: StreamRow) -> None:
    log.create(row)
    log.create(msgspec.structs.replace(row, id="0" * 8, environment="reorder", parent=row.id))
    log.create(msgspec.structs.replace(row, id="1" * 8, kind="grading", of=row.id, agent="judge"))
    assert [found.id for found in log.rows()] == [row.id, "0" * 8, "1" * 8]
    assert [found.id for found in log.rows(kind="episode")] == [row.id, "0" * 8]
    assert [found.id for found in log.rows(environment="refund", kind="episode")] == [row.id]
    assert [found.id for found in log.rows(parent=row.id)] == ["0" * 8]
    assert [found.id for found in log.rows(of=row.id, agent="judge")] == ["1" * 8]
    assert [found.id for found in log.rows(status="ended")] == []


async def test_a_stream_is_created_and_opened_at_once(log: Log, row: StreamRow, story: Story) -> None:
    async with log.writing():
        appender = log.begin(row, "me", 0.0)
        with pytest.raises((LeaseHeld, StreamExists)):
            log.begin(row, "somebody else", 1.0)
        await commit(appender, story(5))
        assert log.row(row.id).status == "running"
        with pytest.raises(LeaseHeld):
            log.open(row.id, "somebody else", 1.0)
        with pytest.raises(StreamExists):
            log.begin(row, "somebody else", 1.0)
        await appender.close("ended", "finished", (row.id, "g", {"score": 1}))
    assert list(log.read(row.id)) == story(5)
    assert log.grades() == [Grade(row.id, "g", {"score": 1})]
    assert verify_stream(log, row.id) == ()


def test_nothing_is_begun_where_nothing_is_written(log: Log, row: StreamRow) -> None:
    with pytest.raises(NotWriting):
        log.begin(row, "me", 0.0)
    assert log.rows() == []


def test_a_stream_is_created_once(log: Log, row: StreamRow) -> None:
    log.create(row)
    with pytest.raises(StreamExists):
        log.create(row)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "abc"},
        {"id": "not hex!!"},
        {"parent": "x"},
        {"seed": 2**63},
        {"created": float("nan")},
        {"agent": "\ud800"},
    ],
)
def test_a_row_that_cannot_be_is_refused(log: Log, row: StreamRow, fields: dict[str, Any]) -> None:
    with pytest.raises(BadRow):
        log.create(msgspec.structs.replace(row, **fields))
    assert log.rows() == []


# --- beside the events -----------------------------------------------------------------------------------------


async def test_large_values_are_kept_once(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(36))
    blobs = {blob.digest: blob.content for event in story(36) for blob in encode(event).blobs}
    assert len(blobs) == 3  # the environment, and two texts in five events
    assert {digest: log.blob(digest) for digest in blobs} == blobs
    with pytest.raises(MissingBlob):
        log.blob("0" * 64)


async def test_observations_are_beside_the_chain(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    async with log.writing():
        appender = log.open(row.id, "test", 0.0)
        appender.observe(1, b"\xff raw", name="response")
        appender.append(story(2))
        appender.observe(0, b"first")
        appender.observe(0, b"second")
        appender.observe(7, b"of an event that never came")
        await appender.close("ended")
    log.put_observation(row.id, 1, "logprobs", b"[-0.5]")
    assert list(log.observations(row.id)) == [
        Observation(0, "response", blob_of(b"second").digest, b"second"),
        Observation(1, "logprobs", blob_of(b"[-0.5]").digest, b"[-0.5]"),
        Observation(1, "response", blob_of(b"\xff raw").digest, b"\xff raw"),
    ]
    plain = MemoryLog()
    await write(plain, row, story(2))
    assert log.row(row.id).digest == plain.row(row.id).digest
    with pytest.raises(WrongSeq):
        log.put_observation(row.id, 2, "logprobs", b"")
    assert verify_stream(log, row.id) == ()


async def test_grades_are_a_cache(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(2))
    log.put_grade(row.id, "g1", {"score": 0})
    log.put_grade(row.id[:6], "g1", {"score": 1})
    log.put_grade(row.id, "g2", {"score": 2})
    assert log.grades(row.id) == [Grade(row.id, "g1", {"score": 1}), Grade(row.id, "g2", {"score": 2})]
    assert log.grades(grader="g2") == [Grade(row.id, "g2", {"score": 2})]
    with pytest.raises(NotJson):
        log.put_grade(row.id, "g3", {1, 2})
    log.clear_grades()
    assert log.grades() == []


async def test_deleting_takes_what_nothing_else_needs(log: Log, row: StreamRow, story: Story) -> None:
    other = msgspec.structs.replace(row, id="0" * 8)
    await write(log, row, story(10))
    await write(log, other, story(1))
    await write(log, msgspec.structs.replace(row, id="1" * 8, kind="grading", of=row.id), story(8))
    log.put_observation(row.id, 0, "response", b"only here")
    log.put_grade(row.id, "g", {})
    log.delete(row.id)
    assert [found.id for found in log.rows()] == [other.id]
    assert log.grades() == []
    assert list(log.read(other.id)) == story(1)  # its environment was shared
    for digest in (encode(story(8)[7]).blobs[0].digest, blob_of(b"only here").digest):
        with pytest.raises(MissingBlob):
            log.blob(digest)


async def test_deleting_takes_the_lease(log: Log, row: StreamRow, story: Story) -> None:
    log.create(row)
    async with log.writing():
        old = log.open(row.id, "old", 0.0)
        log.delete(row.id)
        log.create(row)
        new = log.open(row.id, "new", 0.0)
        with pytest.raises(LeaseLost):
            await commit(old, story(2))
        new.append(story(1))
        await new.close("ended")
    assert list(log.read(row.id)) == story(1)


# --- whole streams ---------------------------------------------------------------------------------------------


async def pieces(row: StreamRow, events: list[Event]) -> list[Any]:
    source = MemoryLog()
    await write(source, row, events)
    source.put_observation(row.id, 0, "response", b"raw")
    blobs = [blob for event in events for blob in encode(event).blobs]
    return [source.row(row.id), *blobs, *source.read_raw(row.id), *source.observations(row.id)]


async def test_a_whole_stream_can_be_restored(log: Log, row: StreamRow, story: Story) -> None:
    given = await pieces(row, story(20))
    log.restore(given)
    assert [log.row(row.id), *log.read_raw(row.id), *log.observations(row.id)] == [
        piece for piece in given if not isinstance(piece, Blob)
    ]
    assert list(log.read(row.id)) == story(20)
    assert verify_stream(log, row.id) == ()
    with pytest.raises(StreamExists):
        log.restore(given)


async def test_a_running_stream_is_suspended_where_it_is_restored(log: Log, row: StreamRow, story: Story) -> None:
    first, *rest = await pieces(row, story(4))
    log.restore([msgspec.structs.replace(first, status="running"), *rest])
    assert log.row(row.id).status == "suspended"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda all: [p for p in all if not (isinstance(p, tuple) and p[0] == 3)], DamagedStream),
        (lambda all: [p for p in all if not (isinstance(p, tuple) and p[0] == 7)], DamagedStream),
        (lambda all: [p for p in all if not isinstance(p, Blob)], MissingBlob),
        (lambda all: [msgspec.structs.replace(p, content=b"") if isinstance(p, Blob) else p for p in all], MissingBlob),
        (lambda all: [msgspec.structs.replace(all[0], digest="00"), *all[1:]], DamagedStream),
        (lambda all: [msgspec.structs.replace(all[0], count=9), *all[1:]], DamagedStream),
        (lambda all: [*all, Observation(99, "response", blob_of(b"").digest, b"")], WrongSeq),
        (lambda all: all[1:], BadRow),
        (lambda all: [*all, msgspec.structs.replace(all[0], id="00")], BadRow),
    ],
)
async def test_a_stream_that_is_not_sound_is_not_restored(
    log: Log, row: StreamRow, story: Story, change: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        log.restore(change(await pieces(row, story(8))))
    assert log.rows() == []


def test_a_closed_log_says_so(log: Log, row: StreamRow) -> None:
    log.close()
    for use in (log.rows, log.clear_grades, lambda: log.create(row), lambda: log.row("aaaa"), lambda: log.blob("0")):
        with pytest.raises(Closed):
            use()


# --- reading and checking in one go ----------------------------------------------------------------------------


async def test_a_sound_stream_is_read_as_it_is(log: Log, row: StreamRow, story: Story) -> None:
    await write(log, row, story(30))
    assert list(checked_events(log, row.id)) == story(30)


@pytest.mark.parametrize("at", [0, 7, 29])
async def test_a_damaged_stream_is_read_up_to_the_damage(
    log: Log, row: StreamRow, story: Story, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(log, row, story(30))
    rows = list(log.read_raw(row.id))
    seq, data, digest = rows[at]
    rows[at] = seq, data.replace(b'"', b"'", 1), digest
    monkeypatch.setattr(log, "read_raw", lambda stream: iter(rows))
    read = checked_events(log, row.id)
    assert [next(read) for _ in range(at)] == story(30)[:at]
    with pytest.raises(DamagedStream, match=f"at event {at}"):
        next(read)


async def test_a_stream_without_its_end_is_not_read_as_whole(
    log: Log, row: StreamRow, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write(log, row, story(30))
    rows = list(log.read_raw(row.id))[:-1]
    monkeypatch.setattr(log, "read_raw", lambda stream: iter(rows))
    with pytest.raises(DamagedStream, match="the end"):
        list(checked_events(log, row.id))
