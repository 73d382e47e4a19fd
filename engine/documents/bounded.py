"""Work on what a stranger made, in a process of its own that may take so much time and memory and no more.

Knows forks and limits. Does not know the work. Used in workers only, which have no other threads: a fork copies one.
"""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Callable
from typing import NoReturn

from ...events.codec import from_json, to_json
from ...events.event import Json
from ..foreign.limiting import limit

SECONDS = 30
"""That it may compute."""
MEMORY = 1 << 30
"""Bytes of address space that it may take, besides what there is."""
_PATIENCE = 3
"""So many times as long may pass until it has computed, where others compute, too."""
_CHUNK = 1 << 16


class Exceeded(Exception):
    """The work takes more than it may; `str` says of what."""


def bounded(work: Callable[[], Json], seconds: int = SECONDS, memory: int = MEMORY) -> Json:
    """What `work` gives. Raises Exceeded where it takes too much, or its process ends in another way."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _compute(work, seconds, memory, theirs)
    os.close(theirs)
    try:
        said = _said(ours, seconds * _PATIENCE)
    finally:
        os.close(ours)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if said is None:
        raise Exceeded("time")
    if not said:
        raise Exceeded("memory or time")
    return from_json(said)


def _said(pipe: int, seconds: int) -> bytes | None:
    """All that comes; None where nothing does for too long."""
    said = bytearray()
    while True:
        ready, _, _ = select.select([pipe], [], [], seconds)
        if not ready:
            return None
        more = os.read(pipe, _CHUNK)
        if not more:
            return bytes(said)
        said += more


def _compute(work: Callable[[], Json], seconds: int, memory: int, pipe: int) -> NoReturn:
    """Writes nothing at all where the work cannot be done to its end."""
    try:
        limit({resource.RLIMIT_CPU: seconds, resource.RLIMIT_AS: _taken() + memory})
        said = memoryview(to_json(work()))
        while said:
            said = said[os.write(pipe, said) :]
    except BaseException:
        pass
    os._exit(0)


def _taken() -> int:
    """Bytes of address space that this process has, where the system says so."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 1 << 30
