"""What all imported tasks have in common: a document that holds everything, and a digest of the files they are from.

Knows that a document says its format, and that another package may have importers, too: `register`, or an entry point
of the group `coworkenv.importers`, makes them known. Does not know any benchmark.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from hashlib import file_digest, sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from ..events.event import Json
from .world import World

_Task = TypeVar("_Task", bound=msgspec.Struct)


GROUP = "coworkenv.importers"
"""The group of entry points; each has the name of its benchmark."""


class NotATask(Exception):
    """A document that is not a task of a format."""


class CheckoutError(ValueError):
    """A checkout that is none, or lacks what was asked for; in a sentence."""


class Rebuilding(Protocol):
    """What is to be known of an importer here; `engine.importing` says what else there is."""

    name: str
    """Its benchmark's, such as `claw-eval`: the first part of the format of its tasks' documents, `claw-eval/1`."""

    def rebuild(self, document: dict[str, Json]) -> World:
        """The world whose `document` this is. Raises NotATask."""
        ...


def stays_inside(path: Path, folder: Path) -> bool:
    """Whether a path, its links followed, is in a folder. One that never ends, as `a.txt -> a.txt` does, is not."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        return False


_registered: dict[str, Rebuilding] = {}


def register(importer: Rebuilding) -> None:
    """Let this process know an importer; the last of a name counts."""
    _registered[importer.name] = importer


def others() -> dict[str, Rebuilding]:
    """The importers of other packages, by name. Raises CheckoutError for one that cannot be loaded."""
    found = dict(_registered)
    for point in entry_points(group=GROUP):
        if point.name not in found:
            try:
                found[point.name] = point.load()
            except Exception as error:
                raise CheckoutError(
                    f"the importer {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
                ) from error
    return found


def document_of(task: msgspec.Struct, format_: str) -> dict[str, Json]:
    """A whole task as one JSON value."""
    return {"environment": format_, "task": msgspec.to_builtins(task, builtin_types=(Decimal,))}


def task_from(document: Json, format_: str, type_: type[_Task]) -> _Task:
    """The task that `document_of` gave. Raises NotATask."""
    if not isinstance(document, dict) or document.get("environment") != format_:
        found = document.get("environment") if isinstance(document, dict) else type(document).__name__
        raise NotATask(f"The document's format is {found!r}; this release reads {format_!r}.")
    try:
        return msgspec.convert(document.get("task"), type_)
    except msgspec.ValidationError as error:
        raise NotATask(f"The document is not a task: {error}.") from None


def files_digest(files: Iterable[tuple[str, Path]]) -> str:
    """SHA-256 of the names and contents of files, hexadecimal. The names are those that count, wherever they lie."""
    whole = sha256()
    for name, path in files:
        with path.open("rb") as content:
            whole.update(f"{name} {file_digest(content, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
