"""The worker's side of the conversation: loads what is hosted, calls its methods, and passes on its own questions.

Knows the frames (`frames`) and that hosted code may do anything, raise anything and answer anything. Does not know how
the process is confined, nor what it is asked. Runs beside foreign code, so the parent believes nothing that comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import resource
import sys
import traceback
from collections.abc import Callable
from functools import partial
from importlib import import_module
from threading import Lock
from typing import Any, NoReturn

from ...events.codec import from_json
from ...events.errors import NotJson
from ...events.event import Json
from ...events.normalise import normalise
from .frames import HEADER, TooLarge, announced, packed

_SAID = 2000
"""Characters of what an exception says of itself."""

_FRAMES = 12
"""Calls of a traceback, from where it was raised."""


class NotAsked(Exception):
    """`outside` was called while nobody waits for an answer of this worker, or by the wrong process."""


class NotAnswered(Exception):
    """Outside nobody answers such questions."""


class _Line:
    """The descriptor on which the parent speaks, and which of its questions is being answered."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._process = os.getpid()
        self._turn = Lock()
        self.asked: int | None = None

    def mine(self) -> bool:
        """Whether this is the process that the parent asks, and no fork of it."""
        return self._process == os.getpid()

    def read(self) -> Any:
        """The next frame. Ends the process where the parent is gone."""
        return from_json(self._exactly(announced(self._exactly(HEADER))))

    def write(self, frame: list[Json]) -> None:
        data = memoryview(packed(frame))
        while data:
            data = data[os.write(self._descriptor, data) :]

    def put(self, name: str, args: Json) -> Json:
        """Asks the parent, and waits for what it answers. Threads take turns."""
        value, _ = normalise(args)
        with self._turn:
            if self.asked is None or not self.mine():
                raise NotAsked(f"{name!r} can be asked only while a question is being answered, by the worker itself.")
            self.write(["outside", self.asked, name, value])
            kind, value = self.read()
        if kind != "told":
            raise NotAnswered(str(value))
        return value

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = os.read(self._descriptor, size - len(data))
            if not more:
                os._exit(0)
            data += more
        return bytes(data)


_line: _Line | None = None


def outside(name: str, args: Json) -> Json:
    """What the parent answers to the question `name`. For hosted code, while it is being asked; from any thread.

    Raises NotAsked, NotAnswered, and NotJson if `args` are no JSON.
    """
    if _line is None:
        raise NotAsked(f"{name!r} can be asked only in a worker.")
    return _line.put(name, args)


async def outside_async(name: str, args: Json) -> Json:
    """The same for code in an asyncio loop, whose other tasks go on meanwhile."""
    return await asyncio.to_thread(outside, name, args)


def refuse(line: int, error: OSError) -> NoReturn:
    """Says that this process could not be confined, and ends it."""
    where = f" ({error.filename})" if error.filename else ""
    _Line(line).write(["refused", f"{error.strerror}{where}"])
    os._exit(1)


def serve(line: int, target: str, paths: list[str], seconds: float) -> NoReturn:
    """Makes what `target` ("package.module:name") names, then answers for as long as the parent asks."""
    global _line
    _line = _Line(line)
    sys.path[:0] = paths
    hosted: list[Any] = []
    _answer(_line, 0, seconds, lambda: hosted.append(_load(target)()))
    while True:
        _, number, method, args = _line.read()
        _answer(_line, number, seconds, partial(_call, hosted[0], method, args))


def _load(target: str) -> Callable[[], Any]:
    module, _, name = target.partition(":")
    found: Callable[[], Any] = getattr(import_module(module), name)
    return found


def _call(hosted: Any, method: str, args: dict[str, Json]) -> Any:
    if method.startswith("_"):
        raise AttributeError(f"{method!r} is not public, so it cannot be asked")
    return getattr(hosted, method)(**args)


def _answer(line: _Line, number: int, seconds: float, work: Callable[[], Any]) -> None:
    """Sends one frame, whatever `work` does."""
    line.asked = number
    _bound_computing(seconds)
    try:
        frame = ["answer", number, normalise(work())[0]]
        packed(frame)
    except NotJson as error:
        frame = ["failed", number, "nonsense", f"The answer is not JSON: {error}."]
    except TooLarge as error:
        frame = ["failed", number, "nonsense", f"The answer {error}."]
    except BaseException as error:  # SystemExit and KeyboardInterrupt, too: only the parent ends a worker
        frame = ["failed", number, "memory" if isinstance(error, MemoryError) else "raised", _told(error)]
        _print(error)
    if not line.mine():
        os._exit(0)  # a fork that came back from where it was made: only one of the two answers
    line.asked = None
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    line.write(frame)


def _bound_computing(seconds: float) -> None:
    """Should the parent be held up itself, the kernel ends whoever computes for longer than it would have waited."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(used.ru_utime + used.ru_stime + seconds) + 2
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _told(error: BaseException) -> str:
    """Type and text of `error`, whose own methods may raise, too."""
    try:
        text = str(error)[:_SAID]
    except BaseException:
        text = "(what it says cannot be read)"
    return f"{type(error).__name__}: {text}".encode(errors="replace").decode()


def _print(error: BaseException) -> None:
    """Its traceback, among what the code prints."""
    with contextlib.suppress(BaseException):
        for part in traceback.format_exception(error, limit=-_FRAMES):
            sys.stderr.write(part if len(part) <= _SAID else part[:_SAID] + "…\n")
