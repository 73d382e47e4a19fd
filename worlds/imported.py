"""What all imported tasks have in common: a document that holds everything, and a digest of the files they are from.

Knows that a document says its format. Does not know any benchmark.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TypeVar

import msgspec

from ..events.event import Json

_Task = TypeVar("_Task", bound=msgspec.Struct)


class NotATask(Exception):
    """A document that is not a task of a format."""


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
