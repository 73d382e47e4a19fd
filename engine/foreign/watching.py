"""What the processes of a worker use together, which no limit of a single process bounds.

Knows Linux's /proc. Does not know what is done about it. Elsewhere it sees nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

_PAGE = os.sysconf("SC_PAGE_SIZE")


def excess(guard: int, processes: int, memory: int) -> str | None:
    """A sentence, if the descendants of process `guard` are too many, or have more bytes in memory than `memory`."""
    found = list(descendants(guard))
    threads = sum(_threads(process) for process in found)
    # The first process of the namespace is ours.
    if threads > processes + 1:
        return f"It ran {threads} processes and threads at once, and {processes} are allowed."
    # What several processes share counts for each; so that is only a first guess, which costs little.
    if sum(map(_resident, found)) > memory and (used := sum(map(_proportional, found))) > memory:
        return f"Its processes had {used >> 20:,} MiB in memory together, and {memory >> 20:,} MiB are allowed."
    return None


def descendants(process: int) -> Iterator[int]:
    """Children first, each with its own after it."""
    for child in children(process):
        yield child
        yield from descendants(child)


def children(process: int) -> list[int]:
    """What all threads of a process have started, and what it adopted; nothing where it has ended."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it ended meanwhile
    return found


def _threads(process: int) -> int:
    try:
        return len(os.listdir(f"/proc/{process}/task"))
    except OSError:
        return 0


def _resident(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _proportional(process: int) -> int:
    """Its memory, what is shared by n processes counting an n-th."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0
