"""Folders that are there whole, or not at all, and files that lose nothing to a full disk.

Knows how a folder takes the place of another, and how a line is added to a file. Does not know what is in them. What
could not be written leaves everything as it was, and is told in a sentence.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FULL = 1 << 20
"""Bytes free below which a disk counts as full, where a library has lost the reason for which it failed."""
_CODE = re.compile(r"(?:os error|code:|errno) (\d+)", re.IGNORECASE)


class NotWritten(OSError):
    """Something that could not be written, for want of space or of leave. What was there before still is."""


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A new folder to fill; it takes the place of `folder` once that is done, and vanishes if it is not.

    Raises NotWritten where the disk is full, or may not be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise _not_written(errno.ENOTDIR, folder)
    part, old = _beside(folder, "part"), _beside(folder, "old")
    try:
        _recovered(folder, old)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        yield part
        _synced(part)
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
        _sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        full = _reason(error, folder)  # asked before room is made
        _recovered(folder, old)
        shutil.rmtree(part, ignore_errors=True)
        if full is None:
            raise
        raise _not_written(full, folder) from error


def cleared(parent: Path) -> None:
    """Remove what a process that was killed has left half-written in a folder, and put back what it was replacing."""
    for path in sorted(parent.glob(".*.old")):
        _recovered(parent / path.name[1:].removesuffix(".old"), path)
    for path in sorted(parent.glob(".*.part")):
        shutil.rmtree(path, ignore_errors=True)


def add_line(path: Path, line: bytes) -> None:
    """Add a line to a file, and flush it. Where that fails, the file is as long as it was. Raises NotWritten."""
    with path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            with suppress(OSError):  # a device has no length
                file.truncate(size)
            raise _not_written(error.errno or errno.EIO, path) from error


def _beside(folder: Path, word: str) -> Path:
    return folder.with_name(f".{folder.name}.{word}")


def _recovered(folder: Path, old: Path) -> None:
    """What was about to be replaced is put back, unless its successor is there."""
    with suppress(OSError):
        if not folder.exists() and old.exists():
            old.rename(folder)
        shutil.rmtree(old, ignore_errors=True)


def _synced(folder: Path) -> None:
    for root, _, files in os.walk(folder):
        for name in files:
            _sync(Path(root, name))
        _sync(Path(root))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: BaseException, folder: Path) -> int | None:
    """The number of the system's error behind `error`; None if it is about something else than writing.

    Libraries that write tensors raise errors of their own, some with the number in their text, some with nothing.
    """
    if isinstance(error, OSError):
        return None if isinstance(error, NotWritten) else error.errno
    if not isinstance(error, Exception):
        return None
    if found := _CODE.search(str(error)):
        return int(found[1])
    with suppress(OSError):
        return errno.ENOSPC if shutil.disk_usage(folder.parent).free < _FULL else None
    return None


def _not_written(code: int, path: Path) -> NotWritten:
    what = os.strerror(code)
    return NotWritten(
        code, f"{what}. It was not written, and what was there before is as it was; make room and try again", str(path)
    )
