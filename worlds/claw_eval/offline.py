"""A folder of web pages that a user has, in the place of the live web: what it holds, as records of a task's service.

Knows its index, which says at which address a file was, and what a search engine was once asked. Does not know what is
done with pages (`web`). Nothing outside of the folder is read, nothing is executed, and what is wrong is an
`OfflineError`: not a task's fault, so that it stops whoever loads tasks.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ...events.event import Json
from ..imported import CheckoutError
from .fixtures import Rows
from .hypertext import page_of
from .reading import TaskError, inside, read_bytes, read_yaml

INDEXES = ("index.yaml", "index.yml", "index.json")
PAGES = 500
"""In one index."""
LARGEST = 2 << 20
"""Bytes of a page's file."""
LONGEST = 50_000
"""Characters of a page, as upstream."""
WHOLE = 4_000_000
"""Characters of all pages and searches of an index: each task that takes it has them in its document."""
TITLE = 300
"""Characters of a page's title."""
_PARTED = "Give each task an index of its own, in tasks/TASK."
_TYPES = {
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "text/html",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "txt": "text/plain",
}


class OfflineError(CheckoutError):
    """A folder of web pages cannot be read: which file, what is wrong in it, and what would be right."""


class _Page(msgspec.Struct, forbid_unknown_fields=True):
    file: str
    title: str = ""
    published_at: str = ""


class _Result(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    title: str = ""
    snippet: str = ""
    source: str = ""
    published_at: str = ""


class _Index(msgspec.Struct, forbid_unknown_fields=True):
    pages: dict[str, _Page] = {}
    """By address."""
    searches: dict[str, list[_Result]] = {}
    """What a search engine found, by query."""


class OfflineWeb:
    """The pages of a folder: those of `tasks/TASK/index.yaml` for that task, those of `index.yaml` for all others."""

    def __init__(self, root: Path | str) -> None:
        """Raises OfflineError where there is no such folder, or none with an index."""
        if not Path(root).is_dir():
            raise OfflineError(f"{root}: There is no such folder of web pages.")
        self.root = Path(root).resolve()
        if not any(any(self.root.glob(f"{place}{name}")) for name in INDEXES for place in ("", "tasks/*/")):
            raise OfflineError(f"{root}: There is no {INDEXES[0]} in it, nor in a folder tasks/TASK below it.")
        self._read: dict[Path, dict[str, Rows]] = {}

    def rows(self, task: str) -> dict[str, Rows] | None:
        """The collections `pages` and `recorded` for the task whose folder has this name; None where there is nothing
        for it. Raises OfflineError."""
        try:
            found = _index(self.root / "tasks" / task) or _index(self.root)
            if found is None:
                return None
            if found not in self._read:
                self._read[found] = _rows(self.root, found)
        except TaskError as error:
            raise OfflineError(str(error)) from None
        return self._read[found]


def _index(folder: Path) -> Path | None:
    found = [folder / name for name in INDEXES if (folder / name).exists()]
    if len(found) > 1:
        raise TaskError(folder, f"It has both {found[0].name} and {found[1].name}; keep one of them.")
    return found[0] if found else None


def _rows(root: Path, path: Path) -> dict[str, Rows]:
    file = inside(root, path.relative_to(root).as_posix(), path)
    try:
        index = msgspec.convert(read_yaml(file), _Index)
    except msgspec.ValidationError as error:
        raise TaskError(path, f"It is no index of web pages: {error}.") from None
    if not index.pages and not index.searches:
        raise TaskError(path, "It names neither pages nor searches.")
    if len(index.pages) > PAGES:
        raise TaskError(path, f"It names {len(index.pages):,} pages; at most {PAGES} are read. {_PARTED}")
    known: dict[str, str] = {}
    for address in index.pages:
        other = known.setdefault(place_of(address), address)
        _check_address(path, address)
        if other != address:
            raise TaskError(path, f"{other!r} and {address!r} are the same place; name one of them.")
    pages = [_page(path, address, page) for address, page in index.pages.items()]
    for result in (result for results in index.searches.values() for result in results):
        _check_address(path, result.url)
    recorded: Rows = [
        {"query": query, "results": msgspec.to_builtins(results)} for query, results in index.searches.items()
    ]
    if (whole := _characters([*pages, *recorded])) > WHOLE:
        raise TaskError(
            path, f"Its pages and searches have {whole:,} characters; at most {WHOLE:,} are read. {_PARTED}"
        )
    return {"pages": pages, "recorded": recorded}


def _characters(value: Json) -> int:
    """Of all texts in a value."""
    if isinstance(value, dict):
        return sum(map(_characters, value.values()))
    if isinstance(value, list):
        return sum(map(_characters, value))
    return len(value) if isinstance(value, str) else 0


def _check_address(index: Path, address: str) -> None:
    try:
        server = urlsplit(address).hostname
    except ValueError:
        server = None
    if not server or not address.startswith(("http://", "https://")):
        raise TaskError(
            index, f"{address!r} is no address of a page; it begins with https:// or http://, and names a server."
        )


def _page(index: Path, address: str, page: _Page) -> dict[str, Json]:
    if not page.file:
        raise TaskError(index, f"The page {address!r} names no file; name one beside the index.")
    file = inside(index.parent, page.file, index)
    kind = _TYPES.get(file.suffix.lower().removeprefix("."))
    if kind is None:
        raise TaskError(file, f"Pages are {', '.join(_TYPES)}; save it as one of them.")
    title, text = _text(file, kind, address)
    return {
        "url": address,
        "status_code": 200,
        "title": (page.title or title or address)[:TITLE],
        "content": text[:LONGEST],
        "content_type": kind,
        "published_at": page.published_at,
    }


def _text(file: Path, kind: str, address: str) -> tuple[str, str]:
    try:
        text = read_bytes(file, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(file, f"It is not UTF-8 (byte {error.start}); save it as UTF-8 text.") from None
    if "\0" in text:
        raise TaskError(file, "It is no text: it has a NUL character in it.")
    if kind == "text/html":
        return page_of(text, address)
    first = text.lstrip().partition("\n")[0].strip()
    return first.lstrip("#").strip() if kind == "text/markdown" and first.startswith("#") else "", text


def place_of(address: str) -> str:
    """What is the same of addresses that lead to the same page: without scheme, fragment and slash at the end, and
    with the server in lower case."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return address
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.netloc.lower()}{parts.path.rstrip('/')}{query}" if parts.netloc else address.strip()
