"""Damage to a log is found by `verify`, wherever it is, and named by the command line.

`python -m tests.engine.damage` does the same at length.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trio

from coworkenv.engine.cli import main
from coworkenv.engine.grading import rebuild_grades
from coworkenv.engine.replay import verify
from coworkenv.events.sqlite import SqliteLog
from tests.engine.damage.campaign import every_byte, everywhere, in_exports, in_file
from tests.engine.damage.recording import record


class Recorded:
    """A file with ten streams, and their ids: a model's episode, its fork, three small ones, five gradings."""

    def __init__(self, path: Path, streams: list[str]) -> None:
        self.path = path
        self.streams = streams


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    path = tmp_path_factory.mktemp("damage") / "log.db"
    return Recorded(path, record(path))


@pytest.fixture
def recorded(original: Recorded, tmp_path: Path) -> Recorded:
    return Recorded(Path(shutil.copy(original.path, tmp_path / "log.db")), original.streams)


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs a command line; its exit code and all that it says."""

    def run(*words: str) -> tuple[int, str]:
        capfd.readouterr()
        code = main(list(words))
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out + captured.err

    return run


def test_what_was_recorded_is_sound(recorded: Recorded, command: Callable[..., tuple[int, str]]) -> None:
    code, said = command("verify", "--all", "--log", str(recorded.path))
    assert (code, "10 of 10 are sound" in said) == (0, True)
    with closing(SqliteLog(recorded.path)) as log:
        assert len(list(log.observations(recorded.streams[0]))) > 5
        assert log.row(recorded.streams[1]).parent == recorded.streams[0]


# --- one byte ----------------------------------------------------------------------------------------------


def test_each_byte_of_an_episode_is_watched(recorded: Recorded) -> None:
    report = every_byte(recorded.path, recorded.streams[2], 0)
    assert report.missed == []
    assert report.found > 3000


def test_bytes_of_all_that_a_log_holds_are_watched(recorded: Recorded) -> None:
    report = everywhere(recorded.path, recorded.streams, 600, 1)
    assert report.missed == []
    assert {kind.partition(".")[0] for kind in report.kinds} == {
        "event", "stream", "blob", "blob_use", "observation", "grade"
    }  # fmt: skip


def test_bytes_of_the_file_are_watched_or_mean_nothing(recorded: Recorded) -> None:
    report = in_file(recorded.path, 150, 2)
    assert report.missed == []
    assert report.found > 50


def test_bytes_of_an_export_are_watched_or_mean_nothing(recorded: Recorded) -> None:
    report = in_exports(recorded.path, recorded.streams[0], 60, 3)
    assert report.missed == []
    assert set(report.meaningless) <= {"another packing of the same bytes"}


# --- more than a byte --------------------------------------------------------------------------------------

FIRST = "(SELECT key FROM stream ORDER BY key LIMIT 1)"
SECOND = "(SELECT key FROM stream ORDER BY key LIMIT 1 OFFSET 3)"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (f"DELETE FROM event WHERE stream = {FIRST} AND seq = 5", "missing"),
        (f"DELETE FROM event WHERE stream = {FIRST} AND seq > 50", "cut off"),
        (f"DELETE FROM event WHERE stream = {FIRST}", "cut off"),
        (
            f"INSERT INTO event SELECT stream, (SELECT max(seq) + 1 FROM event WHERE stream = {FIRST}), data, digest "
            f"FROM event WHERE stream = {FIRST} AND seq = 5",
            "changed",
        ),
        (
            f"UPDATE event SET data = (SELECT data FROM event WHERE stream = {SECOND} AND seq = 7) "
            f"WHERE stream = {FIRST} AND seq = 7",
            "changed",
        ),
        (
            f"UPDATE event SET stream = 0 WHERE stream = {FIRST} AND seq = 7; "
            f"UPDATE event SET stream = {FIRST} WHERE stream = {SECOND} AND seq = 7; "
            f"UPDATE event SET stream = {SECOND} WHERE stream = 0",
            "changed",
        ),
        (
            f"UPDATE event SET seq = -1 WHERE stream = {FIRST} AND seq = 7; "
            f"UPDATE event SET seq = 7 WHERE stream = {FIRST} AND seq = 8; "
            f"UPDATE event SET seq = 8 WHERE stream = {FIRST} AND seq = -1",
            "changed",
        ),
        (f"UPDATE stream SET count = 0, digest = '' WHERE key = {FIRST}; DELETE FROM event", "cut off"),
        ("UPDATE stream SET agent = 'oracle'", "row"),
        ("UPDATE stream SET created = 0", "row"),
        ("UPDATE stream SET status = 'suspended' WHERE kind = 'episode'", "row"),
        ("DELETE FROM stream WHERE kind = 'grading'", "grading"),
        (f"DELETE FROM stream WHERE key = {SECOND}", "belong to no row"),
        ("DELETE FROM blob", "not in"),
        ("DELETE FROM blob_use", "large values"),
        (f"DELETE FROM observation WHERE stream = {FIRST} AND name = 'screen'", "observed"),
        (f"UPDATE observation SET stream = {SECOND} WHERE stream = {FIRST}", "observed"),
        ("UPDATE grade SET row = replace(row, '\"passed\":false', '\"passed\":true')", "grade"),
        (f"UPDATE grade SET stream = {SECOND} WHERE stream = {FIRST}", "grade"),
        ("DROP INDEX idx_stream_of; DROP TABLE observation", "no such table"),
    ],
)
def test_what_was_taken_away_moved_or_doubled_is_found(
    recorded: Recorded, command: Callable[..., tuple[int, str]], damage: str, says: str
) -> None:
    with closing(sqlite3.connect(recorded.path)) as conn, conn:
        for statement in damage.split("; "):
            conn.execute(statement)
    code, said = command("verify", "--all", "--log", str(recorded.path))
    assert code in (1, 2)
    assert says in said


def test_a_row_that_lies_is_found_even_if_its_seal_is_right(recorded: Recorded) -> None:
    """As an import from a stranger might have it: whoever writes a row through the log seals it."""

    async def check() -> None:
        with closing(SqliteLog(recorded.path)) as log:
            for stream in recorded.streams[:5]:
                with log._transaction() as written:
                    (key,) = written.conn.execute("SELECT key FROM stream WHERE id = ?", (stream,)).fetchone()
                    written.conn.execute("UPDATE stream SET agent = 'somebody' WHERE key = ?", (key,))
                    written.touch(key)
                found = await verify(log, stream)
                assert (found.verdict, found.damage[0].kind) == ("damaged", "row")
                assert "says agent 'somebody'" in found.says

    trio.run(check)


def test_a_kept_grade_can_be_made_anew(recorded: Recorded, command: Callable[..., tuple[int, str]]) -> None:
    with closing(sqlite3.connect(recorded.path)) as conn, conn:
        conn.execute("UPDATE grade SET row = '{'")
    for words in (("list",), ("show", recorded.streams[0]), ("verify", "--all")):
        code, said = command(*words, "--log", str(recorded.path))
        assert (code, "is damaged" in said) == (1 if words[0] == "verify" else 2, True)
    with closing(SqliteLog(recorded.path)) as log:
        rebuild_grades(log)
    assert command("verify", "--all", "--log", str(recorded.path))[0] == 0


# --- files -------------------------------------------------------------------------------------------------

COMMANDS = (("list",), ("verify", "--all"), ("stats",), ("run", "refund", "--agent", "noop"), ("grade", "--all"))


def test_a_file_cut_anywhere_is_refused_or_damaged(recorded: Recorded, command: Callable[..., tuple[int, str]]) -> None:
    whole = recorded.path.read_bytes()
    for size in (1, 15, 99, 511, 512, 4095, 4096, 4097, 8192, len(whole) // 2, len(whole) - 4096):
        recorded.path.write_bytes(whole[:size])
        code, said = command("verify", "--all", "--log", str(recorded.path))
        assert code in (1, 2), (size, said)


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_text("not a database, but long enough to be one" * 40), "not a coworkenv log"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: sqlite3.connect(path).execute("CREATE TABLE t (a)").connection.close(), "not a coworkenv log"),
        (lambda path: os.mkfifo(path), "cannot be"),
        (lambda path: path.symlink_to(path), "/other"),
    ],
)
def test_what_is_no_log_is_refused_and_left_alone(
    tmp_path: Path, command: Callable[..., tuple[int, str]], words: tuple[str, ...], make: Callable[[Path], object],
    says: str,
) -> None:  # fmt: skip
    path = tmp_path / "other"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    code, said = command(*words, "--log", str(path))
    assert (code, says in said) == (2, True), said
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("words", COMMANDS)
def test_a_log_of_a_newer_release_is_refused(
    recorded: Recorded, command: Callable[..., tuple[int, str]], words: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(recorded.path)) as conn:
        conn.execute("PRAGMA user_version = 99")
    code, said = command(*words, "--log", str(recorded.path))
    assert (code, "upgrade" in said) == (2, True)


def test_a_log_that_somebody_locks_is_refused_after_a_while(
    recorded: Recorded, command: Callable[..., tuple[int, str]]
) -> None:
    with closing(sqlite3.connect(recorded.path, isolation_level=None)) as conn:
        conn.execute("BEGIN EXCLUSIVE")
        code, said = command("run", "refund", "--agent", "noop", "--log", str(recorded.path))
    assert (code, "locked" in said) == (2, True)


FULL = """
import resource, signal, sys
from coworkenv.engine.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of the size of files here")
@pytest.mark.parametrize("size", [1, 4096, 40_000, 110_000])
def test_a_disk_without_space_is_named_and_loses_nothing(tmp_path: Path, size: int) -> None:
    assert signal.SIGXFSZ
    path = tmp_path / "log.db"
    words = ["run", "refund", "late-change", "--agent", "explore", "--durability", "each", "--log", str(path)]
    ran = subprocess.run([sys.executable, "-c", FULL, str(size), *words], capture_output=True, text=True, timeout=60)
    assert ran.returncode in (1, 2), ran.stderr
    assert "Traceback" not in ran.stderr
    assert "space" in ran.stdout + ran.stderr
    if path.exists() and path.stat().st_size > 4096:
        assert main(["verify", "--all", "--log", str(path)]) in (0, 2)  # 2 where it was never made a log
