"""Reading a task folder's files: whole, bounded, and as data only.

Knows sizes, UTF-8 and JSON, and that a path from a file must stay inside a folder; YAML is `worlds.document`. Does not
know what the files mean. Whatever is wrong is a `TaskError` that names the file. Nothing in a file is executed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import msgspec

from ...events.event import Json
from ..document import DEEPEST, DocumentError, parse
from ..imported import CheckoutError, stays_inside

MAX_BYTES = 16 * 1024 * 1024


class TaskError(CheckoutError):
    """A task cannot be read: which file, what is wrong in it, and what would be right."""

    def __init__(self, file: Path | str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file, self.problem = str(file), problem


def inside(root: Path, relative: str, source: Path) -> Path:
    """The path `relative` below `root`. Raises TaskError, naming `source`, if it leads out of it (links count)."""
    folder = root.resolve()
    plain = posixpath.normpath(relative)
    path = folder / plain
    if "\0" in relative or plain.startswith(("/", "..")) or not stays_inside(path, folder):
        raise TaskError(source, f"The path {relative!r} leads out of {folder}. Use a path inside it.")
    return path


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """A regular file of at most `limit` bytes."""
    try:
        if not path.is_file():
            raise TaskError(path, "There is no such file.")
        size = path.stat().st_size
        if size > limit:
            raise TaskError(path, f"It has {size} bytes; at most {limit} are read.")
        return path.read_bytes()
    except OSError as error:
        raise TaskError(path, f"It cannot be read ({error.strerror}).") from None


def read_text(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(path, f"It is not UTF-8 (byte {error.start}).") from None


def read_json(path: Path, number: Callable[[str], Decimal] = Decimal) -> Json:
    """A JSON value; `number` makes a decimal of a literal with a point or an exponent."""
    try:
        value = msgspec.json.Decoder(float_hook=number).decode(read_text(path))
    except (msgspec.DecodeError, ArithmeticError, ValueError) as error:
        raise TaskError(path, f"It is not JSON: {error}.") from None
    except RecursionError:
        raise TaskError(path, f"It is nested deeper than {DEEPEST}.") from None
    if _depth(value) > DEEPEST:
        raise TaskError(path, f"It is nested deeper than {DEEPEST}.")
    return value


def _depth(value: Json) -> int:
    depth, layer = 0, [value]
    while layer:
        depth += 1
        nested = [item for item in layer if isinstance(item, dict | list)]
        layer = [child for item in nested for child in (item.values() if isinstance(item, dict) else item)]
    return depth


def read_yaml(path: Path) -> Json:
    try:
        return parse(read_text(path))
    except DocumentError as error:
        raise TaskError(path, f"It cannot be read: {error}") from None
