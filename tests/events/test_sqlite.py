"""What only a file can promise: durability, damage that is found, formats, other processes, other tools."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlite_utils import Database

from coworkenv.events import Event, SqliteLog, StreamRow, verify_stream
from coworkenv.events.errors import (
    DamagedStream,
    LeaseHeld,
    LeaseLost,
    LogCorrupt,
    LogError,
    LogFull,
    LogLocked,
    LogMissing,
    LogUnusable,
    NewerFormat,
    NotALog,
    StreamExists,
)
from coworkenv.events.event import AnyBody
from coworkenv.events.log import LEASE

Story = Callable[..., list[Event]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def written(path: Path, row: StreamRow, story: Story) -> Path:
    """A file with one ended episode of nine events, two blobs and two observations."""

    async def write(log: SqliteLog) -> None:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            appender.append(story(9))
            appender.observe(3, b"raw")
            appender.observe(4, b"\xff\xfe")
            await appender.close("ended", "finished")

    with contextlib.closing(SqliteLog(path)) as log:
        trio.run(write, log)
    return path


@contextlib.contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, behind the log's back."""
    with contextlib.closing(sqlite3.connect(path)) as conn, conn:
        yield conn


# --- damage ----------------------------------------------------------------------------------------------------


def cells(conn: sqlite3.Connection) -> Iterator[tuple[str, str, bytes]]:
    """Every stored value that an episode's truth depends on, as (update statement, what identifies it, bytes)."""
    for seq, data, digest in conn.execute("SELECT seq, CAST(data AS BLOB), digest FROM event"):
        yield f"UPDATE event SET data = CAST(? AS TEXT) WHERE seq = {seq}", "event", data
        yield f"UPDATE event SET digest = ? WHERE seq = {seq}", "event", digest
    for digest, content in conn.execute("SELECT digest, content FROM blob"):
        yield f"UPDATE blob SET content = ? WHERE digest = '{digest}'", "blob", content
    for seq, digest in conn.execute("SELECT seq, digest FROM observation"):
        yield f"UPDATE observation SET digest = CAST(? AS TEXT) WHERE seq = {seq}", "observation", digest.encode()
    (digest,) = conn.execute("SELECT digest FROM stream").fetchone()
    yield "UPDATE stream SET digest = CAST(? AS TEXT)", "row", digest.encode()


def test_every_byte_of_an_episode_is_watched(written: Path, row: StreamRow) -> None:
    undetected, tried = [], 0
    with contextlib.closing(SqliteLog(written)) as log, contextlib.closing(sqlite3.connect(written)) as conn:
        assert verify_stream(log, row.id) == ()
        for update, what, stored in list(cells(conn)):
            for place in range(len(stored)):
                changed = stored[:place] + bytes([stored[place] ^ 1]) + stored[place + 1 :]
                with conn:
                    conn.execute(update, (changed,))
                tried += 1
                if not verify_stream(log, row.id):
                    undetected.append((what, update, place))
            with conn:
                conn.execute(update, (stored,))
        assert verify_stream(log, row.id) == ()
    assert undetected == []
    assert tried > 1000


@pytest.mark.parametrize(
    ("damage", "kind", "seq"),
    [
        ("DELETE FROM event WHERE seq = 4", "missing", 4),
        ("DELETE FROM event WHERE seq >= 7", "cut", 7),
        ("DELETE FROM event", "cut", 0),
        ("UPDATE event SET seq = 100 WHERE seq = 4", "missing", 4),
        ("UPDATE event SET data = replace(data, 'invoice', 'invoices') WHERE seq = 3", "changed", 3),
        ("UPDATE event SET digest = 'text' WHERE seq = 3", "digest", 3),
        ("UPDATE event SET data = x'ff00' WHERE seq = 3", "changed", 3),
        ("UPDATE stream SET count = 8", "extra", 8),
        ("UPDATE stream SET digest = 'zz'", "changed", 8),
        ("DELETE FROM blob WHERE rowid = 1", "blob", 0),
        ("DELETE FROM observation WHERE seq = 3", "observation", 0),
        ("UPDATE observation SET name = 'other' WHERE seq = 3", "observation", 0),
        ("UPDATE observation SET seq = 2 WHERE seq = 3", "observation", 0),
        ("DELETE FROM blob_use WHERE digest = (SELECT min(digest) FROM blob_use)", "observation", 0),
        ("UPDATE stream SET agent = 'another'", "row", 0),
        ("UPDATE stream SET created = created + 1", "row", 0),
        ("UPDATE stream SET meta = '{}'", "row", 0),
        ("UPDATE stream SET seal = 'x'", "row", 0),
        ("UPDATE observation SET seq = 12 WHERE seq = 3", "observation", 12),
    ],
)
def test_damage_is_named_and_placed(written: Path, row: StreamRow, damage: str, kind: str, seq: int) -> None:
    with raw(written) as conn:
        conn.execute(damage)
    with contextlib.closing(SqliteLog(written)) as log:
        findings = verify_stream(log, row.id)
    assert (findings[0].kind, findings[0].seq) == (kind, seq)


@pytest.mark.parametrize("damage", ["count = 'x'", "meta = '{'", "status = 'odd'", "versions = 5", "created = 'now'"])
def test_a_damaged_row_is_a_typed_error(written: Path, row: StreamRow, damage: str) -> None:
    with raw(written) as conn:
        conn.execute(f"UPDATE stream SET {damage}")
    with contextlib.closing(SqliteLog(written)) as log, pytest.raises(LogCorrupt, match=row.id):
        log.rows()


async def test_a_stream_without_its_tail_is_not_appended_to(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        async with log.writing():
            log.open(row.id, "test", 0.0).append(story(5))
        with raw(path) as conn:
            conn.execute("DELETE FROM event WHERE seq = 4")
        async with log.writing():
            with pytest.raises(DamagedStream) as caught:
                log.open(row.id, "test", 0.0)
    assert caught.value.seq == 4


@given(st.integers(0), st.binary(min_size=1, max_size=64))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_over_the_file_are_typed_errors_at_worst(
    written: Path, row: StreamRow, place: int, junk: bytes
) -> None:
    original = written.read_bytes()
    place %= len(original)
    try:
        written.write_bytes(original[:place] + junk + original[place + len(junk) :])
        with contextlib.closing(SqliteLog(written, wait=0.1)) as log:
            list(log.rows())
            verify_stream(log, row.id)
            list(log.read(row.id))
    except LogError:
        pass
    finally:
        written.write_bytes(original)


# --- crashes and full disks ------------------------------------------------------------------------------------

CRASHING = """
import sys, trio
from coworkenv.events import Event, SqliteLog, StreamRow
from coworkenv.events.event import ToolCalled

async def main(path, durability):
    log = SqliteLog(path, durability)
    log.create(StreamRow(id="a1b2c3d4", environment="e"))
    async with log.writing():
        appender = log.open("a1b2c3d4", "child", 0.0)
        while True:
            step = [Event(appender.count + i, 0, "agent", None, ToolCalled(tool="t", args={"i": i})) for i in range(3)]
            appender.append(step)
            if durability == "each" or appender.count % 60 == 0:
                await appender.barrier()
                print(appender.count, flush=True)
            await trio.lowlevel.checkpoint()

trio.run(main, sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("durability", ["batch", "each"])
@pytest.mark.parametrize("after", [1, 40])
def test_a_killed_process_leaves_whole_steps(path: Path, durability: str, after: int) -> None:
    child = subprocess.Popen([sys.executable, "-c", CRASHING, path, durability], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    durable = [int(child.stdout.readline()) for _ in range(after)]
    child.send_signal(signal.SIGKILL)
    durable += [int(line) for line in child.stdout if line.endswith("\n")]
    child.wait()
    child.stdout.close()
    with contextlib.closing(SqliteLog(path)) as log:
        found = log.row("a1b2c3d4")
        assert found.count % 3 == 0
        assert found.count >= durable[-1]
        assert [event.seq for event in log.read("a1b2c3d4")] == list(range(found.count))
        assert verify_stream(log, "a1b2c3d4") == ()


async def test_a_full_disk_is_a_typed_error_and_leaves_whole_steps(path: Path, row: StreamRow, story: Story) -> None:
    async def fill(log: SqliteLog) -> None:
        appender = log.open(row.id, "test", 0.0)
        while True:
            appender.append(story(3, start=appender.count))
            await appender.barrier()

    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        with log._transaction() as written:
            (pages,) = written.conn.execute("PRAGMA page_count").fetchone()
        limit_pages(log, pages + 20)
        async with log.writing():
            with pytest.raises(LogFull, match="space"):
                await fill(log)
        found = log.row(row.id)
        assert found.count > 0
        assert found.count % 3 == 0
        assert verify_stream(log, row.id) == ()
        limit_pages(log, 100_000)
        async with log.writing():
            appender = log.open(row.id, "test", 2 * LEASE)
            appender.append(story(3, start=found.count))
            await appender.close("ended")
        assert verify_stream(log, row.id) == ()


async def test_what_failed_unseen_is_raised_on_leaving(path: Path, row: StreamRow, story: Story) -> None:
    async def write(log: SqliteLog) -> None:
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            limit_pages(log, 1)
            appender.append(story(3000))

    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        with pytest.raises(LogFull):
            await write(log)
        assert log.row(row.id).count == 0


def limit_pages(log: SqliteLog, pages: int) -> None:
    assert log._writes is not None
    log._writes.execute(f"PRAGMA max_page_count = {pages}")


# --- durability and batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("durability", "level"), [("batch", 1), ("each", 2)])
def test_the_two_levels_of_durability(path: Path, row: StreamRow, durability: Any, level: int) -> None:
    with contextlib.closing(SqliteLog(path, durability)) as log, log._transaction() as written:
        assert written.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert written.conn.execute("PRAGMA synchronous").fetchone() == (level,)


async def test_each_append_is_in_the_file_when_it_returns(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path, "each")) as log, contextlib.closing(SqliteLog(path)) as other:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            for seq in range(5):
                appender.append(story(1, start=seq))
                assert other.row(row.id).count == seq + 1


async def test_a_batch_is_committed_by_itself_after_a_while(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path)) as log, contextlib.closing(SqliteLog(path)) as other:
        log.create(row)
        async with log.writing():
            log.open(row.id, "test", 0.0).append(story(3))
            assert other.row(row.id).count == 0
            with trio.fail_after(10):
                while other.row(row.id).count < 3:
                    await trio.sleep(0.01)


async def test_what_waits_is_bounded_without_a_checkpoint(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            for start in range(0, 12_000, 3):
                appender.append(plain(story, 3, start))
                assert appender.count - log.row(row.id).count <= 4000
            await appender.close("ended")
        assert verify_stream(log, row.id) == ()


async def test_threads_and_floods_keep_the_order(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            for turn in range(40):
                appender.append(plain(story, 1500 if turn % 3 else 5000, appender.count))
                if turn % 2:
                    await trio.lowlevel.checkpoint()  # the writer's thread begins, and an append overtakes it
            await appender.close("ended")
        assert log.row(row.id).count == appender.count
        assert verify_stream(log, row.id) == ()


def plain(story: Story, count: int, start: int) -> list[Event]:
    """Events without blobs, quickly."""
    event = story(2)[1]
    return [msgspec.structs.replace(event, seq=seq) for seq in range(start, start + count)]


# --- leases between processes ----------------------------------------------------------------------------------


async def test_two_writers_of_one_file_respect_each_other(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path)) as one, contextlib.closing(SqliteLog(path)) as two:
        one.create(row)
        two.create(msgspec.structs.replace(row, id="0" * 8))
        async with one.writing(), two.writing():
            first = one.open(row.id, "one", 0.0)
            with pytest.raises(LeaseHeld, match="one"):
                two.open(row.id, "two", 1.0)
            beside = two.open("0" * 8, "two", 1.0)
            first.append(story(3))
            beside.append(story(3))
            await first.barrier()
            await beside.close("ended")
            second = two.open(row.id, "two", 1.0, steal=True)
            second.append(story(3, start=3))
            await second.close("suspended")
            first.append(story(3, start=3))
            with pytest.raises(LeaseLost):
                await first.barrier()
        assert list(one.read(row.id)) == story(6)


async def test_a_lease_is_renewed_while_its_writer_lives(
    path: Path, row: StreamRow, story: Story, autojump_clock: trio.testing.MockClock
) -> None:
    with contextlib.closing(SqliteLog(path)) as one, contextlib.closing(SqliteLog(path)) as two:
        one.create(row)
        autojump_clock.autojump_threshold = 0.03  # real seconds, for the writer's thread
        async with one.writing(), two.writing():
            appender = one.open(row.id, "one", 1000.0)
            for _ in range(12):
                await trio.sleep(LEASE / 6)
            with pytest.raises(LeaseHeld):
                two.open(row.id, "two", 1000.0 + 2 * LEASE)
            appender.append(story(3))
            await appender.close("ended")


async def test_a_stream_may_be_closed_when_its_lease_is_due(
    path: Path, row: StreamRow, story: Story, mock_clock: trio.testing.MockClock
) -> None:
    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            appender.append(story(3))
            mock_clock.jump(LEASE / 2)
            await appender.close("ended")
        assert (log.row(row.id).status, log.row(row.id).count) == ("ended", 3)


# --- files that are something else -----------------------------------------------------------------------------


def test_a_missing_log_is_not_made_for_reading(path: Path) -> None:
    with pytest.raises(LogMissing):
        SqliteLog(path, create=False)
    assert not path.exists()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: path.write_text("not a database, " * 100), NotALog),
        (lambda path: path.write_bytes(b"\0"), NotALog),
        (lambda path: path.mkdir(), NotALog),
        (lambda path: Database(path).table("other").insert({"a": 1}).db.close(), NotALog),
        (lambda path: path.symlink_to(path.parent / "absent" / "x.db"), LogUnusable),
    ],
)
def test_another_file_is_left_alone(path: Path, make: Callable[[Path], object], error: type[LogError]) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=r"log\.db"):
        SqliteLog(path)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_an_empty_file_becomes_a_log_only_by_writing(path: Path, row: StreamRow) -> None:
    path.touch()
    with pytest.raises(LogMissing, match="empty"):
        SqliteLog(path, create=False)
    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)


def test_a_newer_format_is_refused(written: Path) -> None:
    with raw(written) as conn:
        conn.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerFormat, match="99"):
        SqliteLog(written)


def test_a_damaged_file_is_refused(written: Path) -> None:
    content = bytearray(written.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    written.write_bytes(content)
    with pytest.raises(LogCorrupt, match="recover"):
        SqliteLog(written)


def test_a_locked_file_is_waited_for_and_then_refused(written: Path, row: StreamRow) -> None:
    with contextlib.closing(SqliteLog(written, wait=0.05)) as log, contextlib.closing(sqlite3.connect(written)) as conn:
        conn.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogLocked, match="another process"):
            log.clear_grades()
        assert len(list(log.read(row.id))) == 9  # reading goes on
        conn.execute("ROLLBACK")
        log.clear_grades()


READING = """
import os, sys, trio
from coworkenv.events import SqliteLog, StreamRow
from coworkenv.events.errors import LogReadOnly
if os.getuid() == 0:  # who may write anything
    os.setgid(65534)
    os.setuid(65534)
log = SqliteLog(sys.argv[1])
print(len(list(log.read("a1b2"))))
try:
    log.create(StreamRow(id="0" * 8, environment="e"))
except LogReadOnly as error:
    print(error)
"""


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_log_that_may_only_be_read_is_read(written: Path, folder_mode: int) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        path = Path(folder, "log.db")
        path.write_bytes(written.read_bytes())
        path.chmod(0o444)
        Path(folder).chmod(folder_mode)
        try:
            done = subprocess.run([sys.executable, "-c", READING, path], capture_output=True, text=True, check=False)
        finally:
            Path(folder).chmod(0o755)
    assert done.stderr == ""
    count, refused = done.stdout.splitlines()
    assert count == "9"
    assert refused.startswith(f"{path} cannot be written")


MAKING = """
import sys
from coworkenv.events import SqliteLog, StreamRow
for path in sys.argv[2:]:
    log = SqliteLog(path)
    log.create(StreamRow(id=sys.argv[1] * 8, environment="e"))
    log.close()
"""


def test_several_processes_may_make_the_same_log(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{n}.db") for n in range(20)]
    makers = [subprocess.Popen([sys.executable, "-c", MAKING, digit, *paths]) for digit in "012"]
    assert [maker.wait() for maker in makers] == [0, 0, 0]
    for path in paths:
        with contextlib.closing(SqliteLog(path)) as log:
            assert sorted(row.id for row in log.rows()) == ["0" * 8, "1" * 8, "2" * 8]


# --- for other tools -------------------------------------------------------------------------------------------


def test_the_views_need_no_knowledge_of_ours(written: Path, row: StreamRow, story: Story) -> None:
    db = Database(written)
    (episode,) = db.query("SELECT * FROM episodes")
    assert (episode["id"], episode["events"], episode["status"]) == (row.id, 9, "ended")
    assert episode["created_utc"] == "2025-06-15 15:06:40"
    found = list(db.query("SELECT seq, at, actor, cause, type, tool, args FROM events WHERE type = 'tool.called'"))
    assert [each["seq"] for each in found] == [1, 3, 5]
    assert found[0] == {
        "seq": 1, "at": 1000, "actor": "agent", "cause": 0, "type": "tool.called", "tool": "mail.search",
        "args": '{"query":"invoice 1"}',
    }  # fmt: skip
    assert [each["text"] for each in db.query("SELECT text FROM events WHERE seq = 2")] == [story(3)[2].body.text]
    db.close()


def test_every_field_of_every_event_is_a_column(written: Path) -> None:
    db = Database(written)
    columns = {column.name for column in db.view("events").columns}
    for body in AnyBody.__args__:
        for field in msgspec.structs.fields(body):
            assert field.encode_name in columns or f"its_{field.encode_name}" in columns
    assert len(list(db.query("SELECT * FROM events"))) == 9
    db.close()


def test_a_log_is_one_file_once_closed(written: Path) -> None:
    assert [file.name for file in written.parent.iterdir()] == ["log.db"]


async def test_readers_do_not_hold_the_writer_up(path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(path)) as log:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            appender.append(plain(story, 3000, 0))
            await appender.barrier()
            slow = log.read_raw(row.id)
            assert next(slow)[0] == 0
            appender.append(plain(story, 3000, 3000))
            await appender.barrier()
            assert sum(1 for _ in slow) == 5999
            await appender.close("ended")


async def test_of_two_that_begin_the_same_stream_the_first_to_commit_has_it(
    path: Path, row: StreamRow, story: Story
) -> None:
    with contextlib.closing(SqliteLog(path)) as one, contextlib.closing(SqliteLog(path)) as other:
        async with one.writing(), other.writing():
            first, second = one.begin(row, "one", 0.0), other.begin(row, "other", 0.0)
            first.append(story(3))
            await first.barrier()
            second.append(story(3))
            with pytest.raises(StreamExists, match="is already in"):
                await second.barrier()
            with pytest.raises(StreamExists):
                other.begin(row, "other", 0.0)
            with pytest.raises(LeaseHeld, match="one"):
                other.open(row.id, "other", 0.0)
            first.append(story(2, 3))
            await first.close("ended", "finished")
        assert [each.count for each in one.rows()] == [5]
        assert verify_stream(one, row.id) == ()


def test_rows_are_in_the_order_in_which_their_streams_were_begun(path: Path, row: StreamRow) -> None:
    with contextlib.closing(SqliteLog(path)) as log:
        for created in (3.0, 1.0, 2.0):
            log.create(msgspec.structs.replace(row, id=f"{int(created):08x}", created=created))
        assert [each.created for each in log.rows()] == [1.0, 2.0, 3.0]
