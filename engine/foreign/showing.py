"""The file system that a worker sees: the folders that it may read, a few devices, and one folder to write in.

Knows mounts. Does not know why a folder is shown. All of it is in memory, or read-only.
"""

from __future__ import annotations

import os

from . import linux

_BEFORE = "/.before"
_DEVICES = ("null", "zero", "full", "random", "urandom")
_FILES_IN_SCRATCH = 1 << 15


def show(reads: list[str], scratch: str, written: int) -> None:
    """Makes a new root of `reads` (absolute paths), and a `scratch` in `/tmp` that holds so many bytes."""
    # Where a path leads has to be known while the old root is still there.
    places = [(path, os.path.realpath(path)) for path in reads]
    devices = [name for name in _DEVICES if os.path.exists(f"/dev/{name}")]
    linux.mount("none", "/", None, linux.RECURSIVE | linux.PRIVATE)
    linux.mount("root", "/tmp", "tmpfs", linux.NOSUID | linux.NODEV, "mode=0755,size=4m")
    os.mkdir(f"/tmp{_BEFORE}")
    linux.change_root("/tmp", f"/tmp{_BEFORE}")
    os.chdir("/")
    os.mkdir("/tmp")
    size = f"mode=0755,size={written},nr_inodes={_FILES_IN_SCRATCH}"
    linux.mount("scratch", "/tmp", "tmpfs", linux.NOSUID | linux.NODEV, size)
    os.makedirs(scratch)
    for name in devices:
        _show(f"/dev/{name}", f"/dev/{name}")
    os.symlink("/tmp", "/dev/shm")
    _show_folders(places)
    linux.leave(_BEFORE)
    os.rmdir(_BEFORE)
    linux.restrict("/", linux.READ_ONLY, recursive=False)


def _show_folders(places: list[tuple[str, str]]) -> None:
    """Each under its real path, and links where it was named otherwise."""
    shown: list[str] = []
    for real in sorted({real for _, real in places}):
        if not any(os.path.commonpath((real, above)) == above for above in shown):
            _show(real, real)
            shown.append(real)
    for path, real in places:
        if path != real and not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(real, path)


def _show(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(_BEFORE + source):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    linux.mount(_BEFORE + source, target, None, linux.BIND | linux.RECURSIVE)
    attributes = linux.READ_ONLY | linux.NOSUID
    linux.restrict(target, attributes if source.startswith("/dev/") else attributes | linux.NODEV, recursive=True)
