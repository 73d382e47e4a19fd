"""Code that does what no grader should: each time it is contained, it is said in a sentence, and we go on."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import time
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from coworkenv.engine.foreign import ForeignFailed, Room, Worker, foreign
from coworkenv.engine.foreign.watching import descendants

HOSTED = Path(__file__).parent / "hosted"
BRIEF = 1.0
"""Seconds of an answer, where it is meant to take too long."""


def room(**limits: Any) -> Room:
    return Room(reads=(), paths=(HOSTED,), **limits)


@asynccontextmanager
async def wild(unsafe: bool, **limits: Any) -> AsyncIterator[Worker]:
    """A worker with little time to answer, though it had enough to start: machines that run tests may be busy."""
    async with foreign(room(**{"seconds": 60, **limits}), "wild:Wild", unsafe=unsafe) as worker:
        worker._room = room(**{"seconds": 20, **limits})
        yield worker


async def failure_of(worker: Worker, method: str, **args: Any) -> ForeignFailed:
    with pytest.raises(ForeignFailed) as found:
        await worker.ask(method, **args)
    failure = found.value
    assert 10 < len(failure.says) <= 2000
    assert len(failure.output) < 100_000
    for text in (failure.says, failure.output.replace("\n", "")):
        assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in text)
    return failure


async def is_over(worker: Worker) -> None:
    """Whoever asks once more hears at once that nobody is there."""
    since = time.monotonic()
    failure = await failure_of(worker, "well")
    assert "ended before" in failure.says
    assert time.monotonic() - since < 0.5


# --- it raises ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("raises", "ValueError: no such order: 17"),
        ("raises_mutely", "Mute: (what it says cannot be read)"),
        ("exits", "SystemExit: 3"),
        ("interrupts", "KeyboardInterrupt: "),
        ("recurses", "RecursionError: maximum recursion depth exceeded"),
        ("raises_at_length", "ValueError: \\x1b[2J"),
    ],
)
async def test_what_it_raises_is_told_and_it_can_be_asked_again(unsafe: bool, method: str, says: str) -> None:
    async with wild(unsafe) as worker:
        failure = await failure_of(worker, method)
        assert failure.kind == "raised"
        assert failure.says.startswith(says)
        assert f"in {method}" in failure.output  # the traceback
        assert await worker.ask("well") == "well"


async def test_code_that_swallows_everything_is_just_code(unsafe: bool) -> None:
    async with wild(unsafe) as worker:
        assert await worker.ask("swallows") == "swallowed"


# --- it answers nonsense -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("nan", "which JSON does not have"),
        ("set", "is a set"),
        ("object", "is a object"),
        ("deep", "deeper than"),
        ("loop", "deeper than"),
        ("large", "16,777,216 are allowed"),
        ("keys", "not a string"),
        ("bytes", "is a bytes"),
    ],
)
async def test_answers_that_are_no_json_are_nonsense(unsafe: bool, what: str, says: str) -> None:
    async with wild(unsafe) as worker:
        failure = await failure_of(worker, "answers", what=what)
        assert failure.kind == "nonsense"
        assert says in failure.says
        assert await worker.ask("well") == "well"


@pytest.mark.parametrize("what", ["junk", "huge", "early", "words", "nan", "deep", "exponent", "strange", "refused"])
async def test_junk_on_the_line_ends_it(unsafe: bool, what: str) -> None:
    async with wild(unsafe) as worker:
        since = time.monotonic()
        failure = await failure_of(worker, "says", what=what)
        assert failure.kind == "nonsense"
        assert time.monotonic() - since < 10
        await is_over(worker)


async def test_hanging_up_ends_it(unsafe: bool) -> None:
    async with wild(unsafe) as worker:
        failure = await failure_of(worker, "hangs_up")
        assert (failure.kind, failure.says) == ("nonsense", "It closed the line on which it answers.")
        await is_over(worker)


async def test_of_a_process_and_its_fork_only_one_answers(unsafe: bool) -> None:
    async with wild(unsafe) as worker:
        assert await worker.ask("answers_twice") == 1
        assert await worker.ask("well") == "well"


# --- it takes too much -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["loops", "sleeps", "prints_for_ever"])
async def test_taking_too_long_ends_it(unsafe: bool, method: str) -> None:
    async with wild(unsafe, seconds=60) as worker:
        worker._room = room(seconds=BRIEF)
        since = time.monotonic()
        failure = await failure_of(worker, method)
        assert (failure.kind, failure.says) == ("time", "It did not answer within 1 seconds.")
        assert time.monotonic() - since < 10
        await is_over(worker)


@pytest.mark.parametrize(("target", "kind"), [("wild:Slow", "time"), ("wild:Dead", "died")])
async def test_it_may_fail_before_it_is_asked(unsafe: bool, target: str, kind: str) -> None:
    with pytest.raises(ForeignFailed) as found:
        async with foreign(room(seconds=4), target, unsafe=unsafe):
            raise AssertionError
    assert found.value.kind == kind


async def test_computing_is_bounded_even_where_the_parent_is_held_up(unsafe: bool) -> None:
    async with foreign(room(seconds=2), "wild:Wild", unsafe=unsafe) as worker:
        worker._room = room(seconds=60)
        failure = await failure_of(worker, "loops")
        assert failure.kind == "time"
        assert failure.says.startswith("It computed for longer")
        await is_over(worker)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no limit of address space")
async def test_allocating_too_much_raises_inside(unsafe: bool) -> None:
    async with wild(unsafe, memory=1 << 30) as worker:
        failure = await failure_of(worker, "allocates")
        assert failure.kind == "memory"
        assert failure.says.startswith("MemoryError")
        assert await worker.ask("well") == "well"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_allocating_too_much_in_several_processes_ends_it(unsafe: bool) -> None:
    async with wild(unsafe, memory=256 << 20) as worker:
        failure = await failure_of(worker, "allocates_in_children", each=100 << 20)
        assert failure.kind == "memory"
        assert "256 MiB are allowed" in failure.says
        await is_over(worker)


async def test_a_fork_bomb_is_contained(confined: None) -> None:
    """Where the kernel enforces the limit it lives until its time is up; for the superuser it is ended when seen."""
    async with wild(False) as worker:
        worker._room = room(seconds=3)
        failure = await failure_of(worker, "forks")
        assert failure.kind in ("memory", "time")
        await is_over(worker)
    assert not [process for process in Path("/proc").glob("[0-9]*") if is_ours(process)]


def is_ours(process: Path) -> bool:
    try:
        return "engine/foreign/starting.py" in (process / "cmdline").read_text() and parent(process) == 1
    except OSError:
        return False


def parent(process: Path) -> int:
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])


async def test_of_much_output_the_beginning_and_the_end_are_kept(unsafe: bool) -> None:
    async with wild(unsafe, spoken=10_000) as worker:
        assert await worker.ask("prints", megabytes=10) == "printed"
        while "the last line" not in worker.output:
            await trio.sleep(0.01)
        output = worker.output
        assert output.startswith("the first line\nxxx")
        assert "bytes dropped …" in output
        assert len(output) < 11_000


async def test_it_writes_no_more_than_it_may(confined: None) -> None:
    async with wild(False, written=8 << 20) as worker:
        written = await worker.ask("fills")
        assert 7 << 20 <= written <= 8 << 20
        assert await worker.ask("well") == "well"


# --- it looks around ---------------------------------------------------------------------------------------


async def test_files_of_the_user_and_the_system_are_not_there(confined: None, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    places = [secret, Path("/etc/passwd"), Path("/etc/shadow"), Path("/proc/self/environ"), Path("/proc/1/root")]
    async with wild(False) as worker:
        for path in (*places, Path.home() / ".bashrc", Path("/.before"), Path("/dev/mem"), Path(__file__)):
            failure = await failure_of(worker, "opens", path=str(path))
            assert failure.says.startswith(("FileNotFoundError", "PermissionError")), path


async def test_all_that_it_sees_is_python_and_what_it_was_given(confined: None) -> None:
    import coworkenv.agents
    import coworkenv.engine
    import coworkenv.events
    import coworkenv.worlds

    ours = [*coworkenv.events.__path__, *coworkenv.worlds.__path__, *coworkenv.agents.__path__]
    allowed = [sys.prefix, sys.base_prefix, *ours, *coworkenv.engine.__path__, str(HOSTED)]
    allowed = [os.path.realpath(path) + "/" for path in allowed] + ["/etc/alternatives/", "/etc/ld.so.cache", "/dev/"]
    async with wild(False) as worker:
        seen = await worker.ask("walks")
    assert [path for path in seen if not path.startswith(tuple(allowed))] == []


@pytest.mark.parametrize(
    "path", ["/here", "/etc/here", "/usr/here", "/dev/here", f"{HOSTED}/here", f"{HOSTED}/wild.py"]
)
async def test_it_writes_nowhere_else(confined: None, path: str) -> None:
    before = HOSTED.joinpath("wild.py").read_bytes()
    async with wild(False) as worker:
        failure = await failure_of(worker, "writes", path=path)
        assert "Read-only file system" in failure.says
    assert HOSTED.joinpath("wild.py").read_bytes() == before
    assert not (HOSTED / "here").exists()


async def test_what_it_writes_in_tmp_is_seen_by_nobody(confined: None) -> None:
    async with wild(False) as worker:
        await worker.ask("writes", path="/tmp/coworkenv-was-here")
        assert not Path("/tmp/coworkenv-was-here").exists()


async def test_it_has_no_network(confined: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        socket.create_connection((host, port), timeout=5).close()
        async with wild(False) as worker:
            for where in ((host, port), ("192.0.2.1", 80), ("::1", port)):
                failure = await failure_of(worker, "connects", host=where[0], port=where[1])
                assert failure.says.startswith("OSError: [Errno 101]") or "Cannot assign" in failure.says
            assert (await failure_of(worker, "listens")).says.startswith("OSError")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="calls are filtered on two machines")
async def test_what_namespaces_leave_open_is_closed(confined: None) -> None:
    async with wild(False) as worker:
        assert await worker.ask("hides_memory") == []
        assert await worker.ask("opens_sockets") == []


async def test_ordinary_code_is_not_hindered(unsafe: bool) -> None:
    async with wild(unsafe) as worker:
        assert await worker.ask("runs_programs") == "hello [1, 2] well"


async def test_it_gets_no_privileges(confined: None) -> None:
    async with wild(False) as worker:
        assert await worker.ask("becomes_root") == []


# --- it goes for others ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "says"), [("leaves", "ended with the code 7"), ("aborts", "was ended by SIGABRT")])
async def test_ending_itself_is_told(unsafe: bool, method: str, says: str) -> None:
    async with wild(unsafe) as worker:
        failure = await failure_of(worker, method)
        assert (failure.kind, failure.says) == ("died", f"Its process {says} before it answered.")
        await is_over(worker)


async def test_it_cannot_kill_its_parent(confined: None) -> None:
    async with wild(False) as worker:
        assert await worker.ask("kills_its_parent") == "both live"


async def test_without_a_sandbox_it_kills_its_guard_and_not_us() -> None:
    async with wild(True) as worker:
        try:
            await worker.ask("kills_its_parent")
        except ForeignFailed as failure:
            assert failure.kind == "died"  # noqa: PT017 - on Linux it ends with its guard; elsewhere it goes on


async def test_it_kills_nobody_outside(confined: None) -> None:
    async with wild(False) as other, wild(False) as worker:
        assert await worker.ask("kills_everybody") == "still here"
        assert await other.ask("well") == "well"


@pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")
async def test_nothing_that_it_starts_outlives_it(unsafe: bool) -> None:
    marker = f"left behind by {os.getpid()}"

    def left() -> list[Path]:
        return [process for process in Path("/proc").glob("[0-9]*") if marker in command(process)]

    async with wild(unsafe) as worker:
        assert await worker.ask("leaves_a_child_behind", marker=marker) == "left"
        while not left():
            await trio.sleep(0.02)
        assert await worker.ask("well") == "well"
    assert not left()


@pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")
async def test_it_dies_with_us(unsafe: bool) -> None:
    program = f"""
import trio
from pathlib import Path
from coworkenv.engine.foreign import Room, foreign

async def main():
    room = Room(reads=(), paths=(Path({str(HOSTED)!r}),))
    async with foreign(room, "wild:Wild", unsafe={unsafe}) as worker:
        # Without a sandbox nobody would end what it starts, where we end without a word.
        if not {unsafe}:
            await worker.ask("leaves_a_child_behind", marker="left alone")
        print("ready", flush=True)
        await worker.ask("loops")

trio.run(main)
"""
    ours = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    with ours:
        assert ours.stdout is not None
        assert ours.stdout.readline() == b"ready\n"
        started = list(descendants(ours.pid))
        assert len(started) == (2 if unsafe else 4)
        ours.kill()
    with trio.fail_after(10):
        while any(Path(f"/proc/{process}").exists() for process in started):
            await trio.sleep(0.02)


def command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""
