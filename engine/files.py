"""Files that are there whole, or not at all.

Knows how a file takes the place of another. Does not know what is in it.
"""

from __future__ import annotations

from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever reads it, also after a crash, finds all of it or what was there before.

    Raises OSError.
    """
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(content)
    draft.replace(path)
