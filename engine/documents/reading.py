"""From the bytes of a document to its text, by what kind it is.

Knows which library reads what, and what to type where it is missing. A stranger's file is read only by `bounded`, in a
process that may take so much time and memory and no more.
"""

from __future__ import annotations

from importlib.util import find_spec

import msgspec

from ...events.event import Json
from .bounded import Exceeded, bounded
from .kinds import NAMES, OLD_OFFICE, Kind
from .office import document_text, slides_text
from .packages import Unreadable, opened
from .papers import pages_of
from .sheets import sheets_text

LARGEST = 64 << 20
"""Bytes of a file."""
LIBRARIES: dict[Kind, str] = {"pdf": "pypdf", "spreadsheet": "openpyxl"}
"""What is imported to read a kind."""
INSTALL = "pip install 'coworkenv[documents]'"
DOCUMENTS: tuple[Kind, ...] = ("pdf", "spreadsheet", "document", "slides")
_LONGEST = 2_000_000
"""Characters."""


class Missing(Unreadable):
    """The library that it takes is not installed."""


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a document says."""

    text: str
    """All of it, or its first two million characters."""
    pages: tuple[str, ...] = ()
    """Of a PDF: those that are read."""
    count: int = 0
    """Pages, sheets or slides that there are."""


def missing(kind: Kind) -> bool:
    """Whether the library is missing that reads this kind."""
    return kind in LIBRARIES and find_spec(LIBRARIES[kind]) is None


def read(kind: Kind, data: bytes) -> Reading:
    """The text of a document. Raises Unreadable, whatever is wrong with it."""
    if missing(kind):
        raise Missing(f"is {NAMES[kind]}, and the library that reads it is not installed here; type: {INSTALL}")
    if not data:
        raise Unreadable("is empty.")
    if data.startswith(OLD_OFFICE):
        raise Unreadable("is encrypted, or a file of old Office; neither can be read here.")
    if len(data) > LARGEST:
        raise Unreadable(f"has {len(data):,} bytes, and at most {LARGEST:,} are read.")
    try:
        told = bounded(lambda: _told(kind, data))
    except Exceeded as exceeded:
        raise Unreadable(f"takes more {exceeded} than a file may, so it is not read.") from None
    if isinstance(told, str):
        raise Unreadable(told)
    return msgspec.convert(told, Reading)


def _told(kind: Kind, data: bytes) -> Json:
    """A Reading as JSON; a text that says why there is none."""
    try:
        return msgspec.to_builtins(_read(kind, data))
    except Unreadable as unreadable:
        return unreadable.says
    except MemoryError:
        return "takes more memory than a file may, so it is not read."
    except Exception as error:  # Libraries raise all kinds of what is wrong with a file.
        return f"is damaged, or not what it seems: it cannot be read as {NAMES[kind]} ({type(error).__name__})."


def _read(kind: Kind, data: bytes) -> Reading:
    if kind == "pdf":
        pages, count = pages_of(data)
        return _reading("\n\n".join(pages).strip(), count, tuple(pages))
    with opened(data) as archive:
        if kind == "spreadsheet":
            return _reading(*sheets_text(data))
        return _reading(document_text(archive)) if kind == "document" else _reading(*slides_text(archive))


def _reading(text: str, count: int = 0, pages: tuple[str, ...] = ()) -> Reading:
    plain = (each.encode(errors="replace").decode() for each in pages)
    return Reading(text[:_LONGEST].encode(errors="replace").decode(), tuple(plain), count)
