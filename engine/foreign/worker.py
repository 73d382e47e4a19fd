"""The parent's side: starts a worker, asks it, and ends it whatever happens.

Knows processes, the frames, and time. Does not know how a worker is confined (`confining`), nor what it hosts. Nothing
that comes from a worker is believed: it may be junk, too long, too late, or never come.
"""

from __future__ import annotations

import os
import shutil
import signal
import site
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import trio

from ...events.codec import BAD_JSON, from_json
from ...events.errors import NotJson
from ...events.event import Json
from ...events.normalise import normalise
from .. import wall
from ..printable import shortened
from . import starting
from .folders import packages, readable
from .frames import HEADER, TooLarge, announced, packed
from .output import Output
from .room import ForeignFailed, Kind, Room
from .watching import excess

Answers: TypeAlias = Callable[[str, Json], Awaitable[Json]]

SCRATCH = Path("/tmp/scratch")
"""The scratch folder, as a sandboxed worker calls it."""

_LOOK = 0.05
"""Seconds between two looks at what a worker uses."""

_PATIENCE = 3.0
"""Seconds that ending a worker may take."""

_TOLD = 2000
"""Characters of what a worker says."""


@asynccontextmanager
async def foreign(
    room: Room, target: str, *, unsafe: bool = False, answers: Answers | None = None
) -> AsyncIterator[Worker]:
    """A worker that hosts what `target` ("package.module:name", a module of ours) makes when called without arguments.

    It may ask, too: `answers(name, args)` is awaited meanwhile, and does not count as the worker's time. Raises
    ForeignFailed: "refused" where code cannot be confined here and `unsafe` is not given; otherwise as `Worker.ask`.
    `unsafe` code has only the limits that the system has for a process: it reads, writes and connects as its user does.
    """
    with _scratch(unsafe) as scratch, _started(room, scratch) as (process, line, output):
        worker = Worker(room, process, line, output, scratch, answers)
        stopped: BaseException | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(output.collect)
                nursery.start_soon(worker.watch)
                # Kept, and raised outside of the nursery: there it would become a group.
                try:
                    await worker.begin(_order(room, scratch, target, unsafe))
                    yield worker
                except BaseException as error:
                    stopped = error
                nursery.cancel_scope.cancel()
        finally:
            await worker.end()
        if stopped is not None:
            raise stopped


async def refusal() -> str | None:
    """Why foreign code cannot be confined on this machine, as a sentence; None where it can."""
    try:
        async with foreign(Room(reads=(), seconds=20), "builtins:object"):
            return None
    except ForeignFailed as failure:
        return failure.says


class Worker:
    """A process that hosts foreign code. Asked by one task at a time; the others wait."""

    def __init__(
        self,
        room: Room,
        process: subprocess.Popen[bytes],
        line: trio.socket.SocketType,
        output: Output,
        scratch: Path,
        answers: Answers | None,
    ) -> None:
        self._room = room
        self._process = process
        self._line = line
        self._output = output
        self._answers = answers
        self._turn = trio.StrictFIFOLock()
        self._asked = 0
        self._left = room.seconds
        self._failed: ForeignFailed | None = None
        self.scratch = scratch
        """Its home and working folder, as it is called inside. Only without a sandbox is it a folder of ours."""

    @property
    def output(self) -> str:
        """What it has printed so far, made fit for a screen; the middle is dropped where it is too long."""
        self._output.drain()
        return self._output.text()

    async def ask(self, method: str, **args: Json) -> Json:
        """What the public method `method` of the hosted object answers to `args`.

        Raises ForeignFailed. After "raised", and after an answer that is no JSON, the worker can be asked again; else
        it is ended, and whoever asks it hears so at once. An exception of `answers` ends it, too, as cancelling does.
        """
        async with self._turn:
            if self._failed is not None:
                raise ForeignFailed(
                    self._failed.kind, f"The worker has been ended before: {self._failed.says}", self._failed.output
                )
            try:
                question = packed(["ask", self._asked + 1, method, normalise(args)[0]])
            except TooLarge as error:
                raise ForeignFailed("refused", f"The question {method!r} {error}. Ask for less at a time.") from None
            self._asked += 1
            return await self._hear(question)

    async def begin(self, order: dict[str, Json]) -> None:
        """Says what it has to know, and waits until the object that is hosted has been made."""
        await self._hear(packed([order]))

    async def watch(self) -> None:
        """Ends the worker where its processes use too much together."""
        while self._failed is None:
            await trio.sleep(_LOOK)
            if sentence := excess(self._process.pid, self._room.processes, self._room.memory):
                self._break("memory", sentence)

    async def end(self) -> None:
        """Returns when nothing of the worker is left."""
        self._line.close()
        self._process.terminate()
        with trio.CancelScope(shield=True):
            if await self._ended(_PATIENCE) is None:
                # The guard itself is held up; what it guards dies with it.
                self._process.kill()
                await self._ended(_PATIENCE)

    async def _hear(self, question: bytes) -> Json:
        """Sends `question`, and answers the worker's own until it has answered ours."""
        self._left = self._room.seconds
        finished = False
        try:
            await self._send(question)
            while True:
                match await self._receive():
                    case ["answer", int(number), value] if number == self._asked:
                        answer = self._plain(value)
                        finished = True
                        return answer
                    case ["failed", int(number), ("raised" | "memory" | "nonsense") as kind, str(says)] if (
                        number == self._asked
                    ):
                        finished = True
                        raise self._failure(kind, says)
                    case ["outside", int(number), str(name), args] if number == self._asked:
                        await self._tell(name, self._plain(args))
                    case ["refused", str(says)]:
                        self._fail("refused", _refused(says))
                    case _:
                        self._fail("nonsense", "It sent something that is no answer to what it was asked.")
        finally:
            if not finished and self._failed is None:
                self._break("died", "It was ended while it was asked.")

    async def _tell(self, name: str, args: Json) -> None:
        if self._answers is None:
            await self._send(packed(["untold", f"Nobody here answers {name!r}."]))
            return
        value, _ = normalise(await self._answers(name, args))
        try:
            await self._send(packed(["told", value]))
        except TooLarge as error:
            await self._send(packed(["untold", f"What is answered to {name!r} {error}."]))

    async def _send(self, frame: bytes) -> None:
        data = memoryview(frame)
        with self._in_time():
            try:
                while data:
                    data = data[await self._line.send(data) :]
            except OSError:
                await self._died()

    async def _receive(self) -> Any:
        try:
            with self._in_time():
                data = await self._exactly(announced(await self._exactly(HEADER)))
            return from_json(data)
        except TooLarge as error:
            self._fail("nonsense", f"What it sent {error}.")
        except BAD_JSON:
            self._fail("nonsense", "What it sent is not JSON.")

    def _plain(self, value: Json) -> Json:
        try:
            return normalise(value)[0]
        except NotJson as error:
            self._fail("nonsense", f"What it sent is not JSON: {error}.")

    async def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                more = await self._line.recv(min(size - len(data), 1 << 16))
            except OSError:
                more = b""
            if not more:
                await self._died()
            data += more
        return bytes(data)

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """What is left of this answer's seconds passes meanwhile."""
        since = wall.monotonic()
        with trio.move_on_after(max(self._left, 0)) as scope:
            yield
        self._left -= wall.monotonic() - since
        if scope.cancelled_caught:
            self._fail("time", f"It did not answer within {self._room.seconds:g} seconds.")

    async def _died(self) -> NoReturn:
        """Its end of the line is closed: as a rule its process has ended, and says how."""
        code = await self._ended(1.0)
        if self._failed is not None:
            raise self._failed
        if code is None:
            self._fail("nonsense", "It closed the line on which it answers.")
        if code == 128 + signal.SIGXCPU:
            self._fail("time", f"It computed for longer than {self._room.seconds:g} seconds.")
        how = f"was ended by {signal.Signals(code - 128).name}" if code > 128 else f"ended with the code {code}"
        self._fail("died", f"Its process {how} before it answered.")

    async def _ended(self, seconds: float) -> int | None:
        """The guard's code, when all that it guards has ended; None where that takes longer than `seconds`."""
        until = wall.monotonic() + seconds
        pause = 0.001
        while (code := self._process.poll()) is None and wall.monotonic() < until:
            await trio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return code

    def _break(self, kind: Kind, says: str) -> None:
        """Ends the worker's processes; whoever waits for it hears why."""
        self._failed = self._failed or self._failure(kind, says)
        self._process.terminate()

    def _fail(self, kind: Kind, says: str) -> NoReturn:
        self._break(kind, says)
        assert self._failed is not None
        raise self._failed

    def _failure(self, kind: Kind, says: str) -> ForeignFailed:
        self._output.drain()
        return ForeignFailed(kind, shortened(says, _TOLD), self._output.end())


@contextmanager
def _scratch(unsafe: bool) -> Iterator[Path]:
    """A folder of ours where there is no sandbox to make one."""
    if not unsafe:
        yield SCRATCH
        return
    folder = Path(tempfile.mkdtemp(prefix="coworkenv-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(room: Room, scratch: Path) -> Iterator[tuple[subprocess.Popen[bytes], trio.socket.SocketType, Output]]:
    """The process, the line to it, and what it prints."""
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    with ours, closing(Output(reading, room.spoken)) as output:
        try:
            # Not through trio, which would do it in a thread: on Linux the process ends with the thread that starts it.
            process = subprocess.Popen(
                [sys.executable, "-P", starting.__file__, str(theirs.fileno())],
                env=_environment(room, scratch),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(writing)
        yield process, trio.socket.from_stdlib_socket(ours), output


def _order(room: Room, scratch: Path, target: str, unsafe: bool) -> dict[str, Any]:
    """All that the process has to know before it can be spoken to."""
    return {
        "parent": os.getpid(),
        "packages": packages(),
        "target": target,
        "unsafe": unsafe,
        "scratch": str(scratch),
        "reads": [] if unsafe else readable(room),
        "paths": [os.path.abspath(path) for path in room.paths],
        "seconds": room.seconds,
        "memory": room.memory,
        "written": room.written,
        "processes": room.processes,
    }


def _environment(room: Room, scratch: Path) -> dict[str, str]:
    home = {"HOME": str(scratch), "TMPDIR": str(scratch)}
    fixed = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1"}
    installed = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {}
    return {**fixed, **installed, **room.environment, **home}


def _refused(says: str) -> str:
    return (
        f"This system does not let a user confine a process: {says}. It takes Linux 5.12 or newer and unprivileged "
        "user namespaces (in a container, a profile that allows them; on Ubuntu, "
        "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`)."
    )
