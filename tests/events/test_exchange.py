"""An exported episode is the same episode elsewhere, and a damaged export is refused whole."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coworkenv.events import Event, Log, MemoryLog, SqliteLog, StreamRow, export_episode, import_episode, verify_stream
from coworkenv.events.errors import (
    DamagedExport,
    DamagedStream,
    ExportTooLarge,
    LogError,
    NewerFormat,
    NotFound,
    StreamDiffers,
)
from coworkenv.events.event import EffectResolved, MessageSent, ToolCalled

Story = Callable[..., list[Event]]


def filled(log: Log, row: StreamRow, events: list[Event], status: Any = "ended") -> Log:
    async def write() -> None:
        for each in (row, grading_of(row)):
            log.create(each)
            async with log.writing():
                appender = log.open(each.id, "test", 0.0)
                appender.append(events)
                appender.observe(1, b"raw", "response")
                appender.observe(1, b"\xff\xfe", "bytes")
                await appender.close(status, "finished")

    trio.run(write)
    return log


def grading_of(row: StreamRow) -> StreamRow:
    return msgspec.structs.replace(row, id="9" * 8, kind="grading", of=row.id)


def exported(log: Log, stream: str) -> bytes:
    file = io.BytesIO()
    export_episode(log, stream, file)
    return file.getvalue()


def content(log: Log) -> list[Any]:
    """All that a log holds."""
    return [
        (row, list(log.read_raw(row.id)), list(log.read(row.id)), list(log.observations(row.id))) for row in log.rows()
    ]


def sealed(lines: list[bytes]) -> bytes:
    """An export of these lines whose last line agrees with them."""
    body = b"".join(line + b"\n" for line in lines)
    end = json.dumps(["end", len(lines), hashlib.sha256(body).hexdigest()]).encode()
    return gzip.compress(body + end + b"\n", mtime=0)


def test_an_export_is_the_same_episode_in_another_log(log: Log, row: StreamRow, story: Story) -> None:
    source = filled(MemoryLog(), row, story(30))
    rows = import_episode(log, io.BytesIO(exported(source, row.id)))
    assert [found.id for found in rows] == [row.id, "9" * 8]
    assert content(log) == content(source)
    assert verify_stream(log, row.id) == verify_stream(log, "9" * 8) == ()


def test_every_log_exports_the_same_bytes(log: Log, row: StreamRow, story: Story) -> None:
    data = exported(filled(log, row, story(30)), row.id)
    assert data == exported(filled(MemoryLog(), row, story(30)), row.id)
    again = MemoryLog()
    import_episode(again, io.BytesIO(data))
    assert exported(again, row.id) == data


def test_an_export_is_lines_of_json_that_anybody_can_read(row: StreamRow, story: Story) -> None:
    lines = gzip.decompress(exported(filled(MemoryLog(), row, story(3)), row.id)).splitlines()
    kinds = [json.loads(line)[0] for line in lines]
    one = ["stream", "blob", "event", "event", "event", "observation", "observation"]
    assert kinds == ["coworkenv episode", *one, *one, "end"]
    assert json.loads(lines[4])[3][4]["tool"] == "mail.search"


def test_importing_twice_changes_nothing(log: Log, row: StreamRow, story: Story) -> None:
    data = exported(filled(MemoryLog(), row, story(9)), row.id)
    first = import_episode(log, io.BytesIO(data))
    before = content(log)
    assert import_episode(log, io.BytesIO(data)) == first
    assert content(log) == before


def test_what_is_missing_is_added_to_what_is_there(log: Log, row: StreamRow, story: Story) -> None:
    source = filled(MemoryLog(), row, story(9))
    import_episode(log, io.BytesIO(exported(source, row.id)))
    log.delete("9" * 8)
    import_episode(log, io.BytesIO(exported(source, row.id)))
    assert content(log) == content(source)


def test_another_stream_of_that_name_is_not_overwritten(log: Log, row: StreamRow, story: Story) -> None:
    filled(log, row, story(9))
    before = content(log)
    data = exported(filled(MemoryLog(), row, story(8)), row.id)
    with pytest.raises(StreamDiffers, match="count is 9 here and 8 there"):
        import_episode(log, io.BytesIO(data))
    assert content(log) == before


def test_a_stream_that_is_not_there_or_not_sound_is_not_exported(tmp_path: Path, row: StreamRow, story: Story) -> None:
    with contextlib.closing(SqliteLog(tmp_path / "log.db")) as log:
        with pytest.raises(NotFound):
            exported(log, "abc")
        filled(log, row, story(9))
        with log._transaction() as written:
            written.conn.execute("UPDATE event SET data = replace(data, 'invoice', 'Invoice') WHERE seq = 3")
        with pytest.raises(DamagedStream, match="event 3"):
            exported(log, row.id)


def test_a_running_episode_is_exported_as_far_as_it_is(log: Log, row: StreamRow, story: Story) -> None:
    async def play() -> bytes:
        log.create(row)
        async with log.writing():
            appender = log.open(row.id, "test", 0.0)
            appender.append(story(5))
            await appender.barrier()
            return exported(log, row.id)

    other = MemoryLog()
    (found,) = import_episode(other, io.BytesIO(trio.run(play)))
    assert (found.status, found.count) == ("suspended", 5)
    assert list(other.read(row.id)) == story(5)


# --- damage ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound() -> bytes:
    """A small export."""
    row = StreamRow(id="a1b2c3d4" * 4, environment="refund", created=1.5, meta={"note": "x"})
    events = [
        Event(0, 0, "agent", None, ToolCalled(tool="t", args={"$blob": 1, "n": 5})),
        Event(1, 7, "tomas", 0, MessageSent(to="agent", text="é")),
        Event(2, 7, "agent", 0, EffectResolved(effect=0, due=9, answer="long " * 4000)),
    ]
    return exported(filled(MemoryLog(), row, events), row.id)


def attempt(data: bytes, limit: int = 10**7) -> Log | None:
    """The log that an import makes, or None if it was refused with a typed error, in which case it made nothing."""
    log = MemoryLog()
    try:
        import_episode(log, io.BytesIO(data), limit)
    except LogError:
        assert log.rows() == []
        return None
    return log


@given(st.data())
@settings(max_examples=300)
def test_a_changed_byte_of_the_file_is_refused_or_means_nothing(sound: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(sound) - 1))
    byte = data.draw(st.integers(0, 255))
    log = attempt(sound[:place] + bytes([byte]) + sound[place + 1 :])
    if log is not None:  # gzip's own header has bytes without meaning, as the time of the file
        expected = attempt(sound)
        assert expected is not None
        assert content(log) == content(expected)


@given(st.data())
@settings(max_examples=300)
def test_a_changed_byte_of_the_text_is_refused(sound: bytes, data: st.DataObject) -> None:
    text = gzip.decompress(sound)
    place = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place]))
    assert attempt(gzip.compress(text[:place] + bytes([byte]) + text[place + 1 :])) is None


@given(st.data())
@settings(max_examples=200)
def test_lines_in_another_order_are_refused(sound: bytes, data: st.DataObject) -> None:
    lines = gzip.decompress(sound).splitlines()[:-1]
    shuffled = data.draw(st.permutations(lines) | st.lists(st.sampled_from(lines), max_size=len(lines)))
    log = attempt(sealed(shuffled))
    if log is not None:  # some orders mean the same, as of observations
        assert all(verify_stream(log, row.id) == () for row in log.rows())


NEARLY_LINES = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["event", "stream", "blob", "observation", "end"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
).map(lambda value: json.dumps(value).encode())


@given(st.lists(st.binary(max_size=40) | NEARLY_LINES, max_size=4))
@example([b'["event",0,"00",[0]]'])
@example([b'["event",0,"zz",[0]]'])
@example([b'["observation",0,"n","00",null]'])
@example([b'["coworkenv episode",1]'])
def test_any_lines_are_refused_by_name(lines: list[bytes]) -> None:
    header = b'["coworkenv episode",1]'
    log = attempt(sealed([header, *lines]))
    assert log is None or log.rows() == []


@given(st.binary(max_size=200))
@example(gzip.compress(b""))
@example(gzip.compress(b"\n"))
@example(zlib.compress(b'["coworkenv episode",1]\n'))
def test_any_file_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(LogError):
        import_episode(MemoryLog(), io.BytesIO(data))


def test_a_cut_file_is_refused_wherever_it_was_cut(sound: bytes) -> None:
    for length in range(0, len(sound), 7):
        with pytest.raises(DamagedExport, match="cut"):
            import_episode(MemoryLog(), io.BytesIO(sound[:length]))
    lines = gzip.decompress(sound).splitlines(keepends=True)
    for length in range(1, len(lines)):
        with pytest.raises(DamagedExport, match=f"cut.*line {length}"):
            import_episode(MemoryLog(), io.BytesIO(gzip.compress(b"".join(lines[:length]))))


def changed(sound: bytes, old: bytes, new: bytes) -> bytes:
    """The export with a change that its last line was made to agree with."""
    lines = gzip.decompress(sound).splitlines()[:-1]
    assert any(old in line for line in lines)
    return sealed([line.replace(old, new) for line in lines])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b'"tool":"t"', b'"tool":"u"', "event 0 was changed"),
        (b'"count":3', b'"count":4', "should have 4 events, but has 3"),
        (b"long long", b"lang long", "content of [0-9a-f]{12} was changed"),
        (b'"raw"', b'"cooked"', "content of [0-9a-f]{12} was changed"),
        (b'["event",1,', b'["event",2,', "event 1 should come next, but event 2"),
        (b'["observation",1,', b'["observation",9,', "observed at event 9"),
        (b'"kind":"episode"', b'"kind":"picnic"', "line 2 .*picnic"),
        (b'["coworkenv episode",1]', b'["event",1]', "does not begin like one|line 1"),
    ],
)
def test_a_consistent_change_is_found_by_what_it_changed(sound: bytes, old: bytes, new: bytes, says: str) -> None:
    with pytest.raises(DamagedExport, match=says):
        import_episode(MemoryLog(), io.BytesIO(changed(sound, old, new)))


def test_a_newer_version_is_refused_as_such(sound: bytes) -> None:
    with pytest.raises(NewerFormat, match="upgrade"):
        import_episode(MemoryLog(), io.BytesIO(changed(sound, b'episode",1]', b'episode",2]')))


def test_two_files_joined_are_refused(sound: bytes) -> None:
    with pytest.raises(DamagedExport, match=r"joined|out of place"):
        import_episode(MemoryLog(), io.BytesIO(sound + sound))


def test_a_file_that_unpacks_to_too_much_is_refused_early() -> None:
    for bomb in (b"[" * 50_000_000, b'["coworkenv episode",1]\n' + b'["blob","00","x"]\n' * 3_000_000):
        file = io.BytesIO(gzip.compress(bomb))
        with pytest.raises((ExportTooLarge, DamagedExport)):
            import_episode(MemoryLog(), file, limit=1_000_000)
        assert file.tell() < 1_000_000


def test_the_limit_is_the_unpacked_size(sound: bytes) -> None:
    size = len(gzip.decompress(sound))
    assert attempt(sound, limit=size) is not None
    with pytest.raises(ExportTooLarge):
        import_episode(MemoryLog(), io.BytesIO(sound), limit=size - 1)


def test_a_refused_import_leaves_a_file_as_it_was(tmp_path: Path, sound: bytes) -> None:
    cut = gzip.compress(gzip.decompress(sound).rsplit(b"\n", 2)[0] + b"\n")  # all there but the last line
    with contextlib.closing(SqliteLog(tmp_path / "log.db")) as log:
        with pytest.raises(DamagedExport):
            import_episode(log, io.BytesIO(cut))
        assert log.rows() == []
        assert log._query("SELECT count(*) FROM event, blob") == [(0,)]
