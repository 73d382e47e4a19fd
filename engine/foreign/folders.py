"""Which folders a worker can read: Python, its packages, ours, the system's programs, and what the user named.

Knows where an installation keeps things. Does not know how folders are shown to a worker.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from .room import ForeignFailed, Room

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_STORES = ("/nix/store", "/gnu/store")


def packages() -> dict[str, list[str]]:
    """The folders of those of our packages whose modules a worker may import, by the packages' names."""
    names = ("coworkenv.events", "coworkenv.worlds", "coworkenv.agents", "coworkenv.engine", "coworkenv.engine.foreign")
    return {name: [os.path.realpath(path) for path in import_module(name).__path__] for name in names}


def readable(room: Room) -> list[str]:
    """Absolute paths as they are written. Raises ForeignFailed if one that `room` names does not exist."""
    for path in (*room.reads, *room.paths):
        if not path.exists():
            raise ForeignFailed("refused", f"{path} does not exist, so nothing can read it. Give an existing folder.")
        if path.resolve() == Path("/"):
            raise ForeignFailed("refused", "Foreign code may not read the whole file system. Name a folder in it.")
    python = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sysconfig.get_paths().values()]
    installed = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    ours = [folder for found in packages().values() for folder in found]
    named = [str(path) for path in (*room.reads, *room.paths)]
    return _existing((*_SYSTEM, *_STORES, *python, *installed, *ours, *named))


def _existing(paths: Iterable[str]) -> list[str]:
    """Without repetition, in order."""
    return [path for path in dict.fromkeys(map(os.path.abspath, paths)) if Path(path).exists()]
