"""Files that are there whole, or not at all.

Knows how a file takes the place of another. Does not know what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever reads it, also after a crash, finds all of it or what was there before.

    Raises OSError.
    """
    with writing_whole(path) as draft:
        draft.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """The same for what is written bit by bit: once that is done, the file takes its place, and else vanishes.

    A device or a pipe is no file, and nothing may take its place: it is written to as it is.
    """
    if path.is_char_device() or path.is_fifo():
        with path.open("wb") as device:
            yield device
        return
    draft = path.with_name(path.name + ".part")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
