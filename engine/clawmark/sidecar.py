"""Captions and transcripts that a user has beside a checkout, for what an agent that reads text cannot see or hear.

Knows how their folder is named, and that it has the checkout's paths: `tasks/hr/task2/assets/photo.png.txt`. Does not
know who reads them.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from ...worlds.imported import CheckoutError, files_digest, stays_inside
from ..documents.captions import faults

VARIABLE = "COWORKENV_SIDECAR"
"""The environment variable that names the folder."""


class Sidecar(msgspec.Struct, frozen=True):
    """What there is of one task."""

    folder: Path
    digest: str
    """SHA-256 of the names and contents of its files, hexadecimal."""


def sidecar_of(task: str) -> Sidecar | None:
    """The one that was named, if it has anything of a task. Raises CheckoutError where there is no such folder."""
    folder = _folder(task)
    if folder is None:
        return None
    # A link out of the folder is followed by nobody: a worker has the folder alone.
    files = [path for path in sorted(folder.rglob("*.txt")) if stays_inside(path, folder) and path.is_file()]
    if not files:
        return None
    return Sidecar(folder, files_digest((path.relative_to(folder).as_posix(), path) for path in files))


def untold(task: str) -> list[str]:
    """Sentences for captions and transcripts of a task that are not taken as they are meant."""
    folder = _folder(task)
    return [] if folder is None else list(faults(folder))


def _folder(task: str) -> Path | None:
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    root = Path(named)
    if not root.is_dir():
        raise CheckoutError(f"{VARIABLE} names {named}, and there is no such folder")
    return root.resolve() / "tasks" / task


def sidecar_with(task: str, digest: str) -> Sidecar | None:
    """The one that an episode was begun with; None where it had none. Raises CheckoutError where it is not there."""
    found = sidecar_of(task) if digest else None
    if digest and (found is None or found.digest != digest):
        raise CheckoutError(
            f"{task} was begun with captions or transcripts beside the checkout that are not there as they were; name "
            f"their folder with {VARIABLE}"
        )
    return found
