"""What is wrong with captions and transcripts: files of words beside others, `photo.png.txt` beside `photo.png`.

Knows what such a file should be. Does not know whose files it is about, nor who reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...worlds.imported import stays_inside

LONGEST = 4 << 20
"""Bytes that are read."""


def faults(folder: Path) -> Iterator[str]:
    """Sentences, one for each file of words below a folder that is not taken as its author means it."""
    for path in sorted(folder.rglob("*.txt")):
        if (says := _fault(path, folder)) is not None:
            yield f"{path} {says}"


def _fault(path: Path, folder: Path) -> str | None:
    if not stays_inside(path, folder):
        return "is a link out of its folder, so it is not read."
    if not path.is_file():
        return "is no file, so it says nothing."
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        return f"cannot be read ({error.strerror})."
    if len(data) > LONGEST:
        return f"has more than {LONGEST:,} bytes; only so many are read."
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return "is no text in UTF-8; agents are shown what cannot be read of it as question marks."
    return None if text.strip() else "is empty: agents are told that there is nothing to see or hear."
