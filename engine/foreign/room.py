"""What foreign code may see and use, and how it can fail.

Knows names and limits. Does not know how they are enforced, nor what the code is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["raised", "time", "memory", "died", "nonsense", "refused"]
"""The code raised; took too long; took too much memory or too many processes; its process ended; it answered what is no
answer; or it was never run, because it cannot be confined here."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """What foreign code may see and use."""

    reads: tuple[Path, ...]
    """Folders and files that it may read, besides Python, its packages and ours. Nothing else is there."""
    paths: tuple[Path, ...] = ()
    """Put in front of `sys.path` inside; it may read them, too."""
    environment: Mapping[str, str] = {}
    """All its environment variables, besides PYTHONHASHSEED=0, LANG=C.UTF-8, TZ=UTC, HOME and TMPDIR (its scratch
    folder), and one thread for numerical libraries (OMP_NUM_THREADS=1)."""
    seconds: float = 60.0
    """Of one answer, by the wall clock, without the time in which it waits for us. What it computes is bounded, too."""
    memory: int = 2 << 30
    """Bytes of address space of each process, and bytes that all of them together have in memory."""
    written: int = 64 << 20
    """Bytes that it may write, all of them in its scratch folder. They are gone with the worker."""
    processes: int = 16
    """Processes and threads at one time."""
    spoken: int = 1 << 20
    """Bytes of its output and errors that are kept: the beginning and the end. How many were dropped is said."""


class ForeignFailed(Exception):
    """Foreign code gave no answer. `says` is a sentence, `output` the end of what it printed; both fit for a screen."""

    def __init__(self, kind: Kind, says: str, output: str = "") -> None:
        super().__init__(kind, says, output)
        self.kind: Kind = kind
        self.says = says
        self.output = output

    def __str__(self) -> str:
        return self.says
