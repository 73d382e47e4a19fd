"""Which files a service of a Claw-Eval task loads, and the records they become.

Knows the environment variables, the folder `fixtures/<kind>` of a task, and which other task's file upstream's servers
fall back to. Does not know endpoints. In sane mode a task's own file comes before that fallback; in upstream's mode it
is not looked at unless a variable names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import msgspec

from ...events.event import Json
from ..imported import stays_inside
from .endpoint import Kind, Mode
from .reading import TaskError, inside, read_json, read_text

Rows = list[dict[str, Json]]


class Unread(msgspec.Struct, frozen=True):
    """A PDF that cannot be read; `says` completes the sentence that its path begins."""

    says: str


Pages: TypeAlias = Callable[[Path], list[str] | Unread | None]
"""The pages of the PDF at a path; None where nobody has read it."""


class Source(msgspec.Struct, frozen=True):
    """Where a service of a task looks for its files."""

    root: Path
    """The folder of all tasks; nothing outside of it is read."""
    folder: Path
    file: Path
    """The `task.yaml`, for error messages."""
    env: Mapping[str, str]
    mode: Mode
    pages: Pages | None = None

    def path(self, variable: str) -> Path | None:
        """What a variable names: a path from the repository's root, where `tasks/` is the folder of all tasks."""
        named = self.env.get(variable)
        if named is None:
            return None
        if named != "tasks" and not named.startswith("tasks/"):
            raise TaskError(self.file, f"{variable} is {named!r}. Use a path that starts with 'tasks/'.")
        return inside(self.root, named.removeprefix("tasks").lstrip("/") or ".", self.file)

    def own(self, *parts: str) -> Path:
        """A path below the task's own `fixtures`."""
        return inside(self.root, "/".join([self.folder.name, "fixtures", *parts]), self.file)


def load(kind: Kind, source: Source) -> dict[str, Rows]:
    """The initial collections of a service. Raises TaskError."""
    if kind.collection is not None:
        return {kind.collection: _rows(_fixture(kind, source), source.mode)}
    loaders = {
        "web": _corpus,
        "web_real": _recorded,
        "web_real_injection": _hostile,
        "ocr": _recognised,
        "caption": _captions,
        "documents": _documents,
    }
    return loaders[kind.name](source)


def _rows(path: Path, mode: Mode) -> Rows:
    value = read_json(path, _python_literal if mode == "upstream" else Decimal)
    return _checked(path, value)


def _python_literal(text: str) -> Decimal:
    """A double as upstream prints it again: `328.00` comes out as `328.0`."""
    return Decimal(repr(float(text)))


def _checked(path: Path, value: Json) -> Rows:
    if not isinstance(value, list):
        raise TaskError(path, "It should be a list of records.")
    for index, row in enumerate(value):
        if not isinstance(row, dict):
            raise TaskError(path, f"Entry {index} is no object; each entry is a record.")
    return value


def _fixture(kind: Kind, source: Source) -> Path:
    named = source.path(f"{kind.name.upper()}_FIXTURES")
    if named is not None:
        return named
    own = _own_fixture(kind, source) if source.mode == "sane" else None
    return own or _fallback(kind, source)


def _own_fixture(kind: Kind, source: Source) -> Path | None:
    """The usual file of the task's own folder, or its only one."""
    folder = source.own(kind.name)
    files = sorted(path.name for path in folder.glob("*.json"))
    if not files:
        return None
    if kind.fixture not in files and len(files) > 1:
        raise TaskError(folder, f"It has several files ({', '.join(files)}), none of them {kind.fixture}.")
    return source.own(kind.name, kind.fixture if kind.fixture in files else files[0])


def _fallback(kind: Kind, source: Source) -> Path:
    """The file of one certain other task, which upstream's server has built in."""
    for folder in sorted(source.root.glob(f"{kind.default}_*")):
        return inside(source.root, f"{folder.name}/fixtures/{kind.name}/{kind.fixture}", source.file)
    raise TaskError(
        source.file,
        f"The service {kind.name!r} names no fixture and would use that of the task {kind.default}, which is not in "
        f"{source.root}. Put that task beside this one, or set {kind.name.upper()}_FIXTURES.",
    )


# --- services with files of their own shape --------------------------------------------------------------


def _corpus(source: Source) -> dict[str, Rows]:
    names = {"search_results": "WEB_SEARCH_FIXTURES", "pages": "WEB_FETCH_FIXTURES"}
    paths = {name: source.path(variable) or source.own("web", f"{name}.json") for name, variable in names.items()}
    return {name: _rows(path, source.mode) for name, path in paths.items()}


def _recorded(source: Source) -> dict[str, Rows]:
    """Pages that the task happens to come with: upstream does not read them."""
    if source.mode == "upstream":
        return {}
    paths = {name: source.own("web", f"{name}.json") for name in ("search_results", "pages")}
    return {name: _rows(path, source.mode) for name, path in paths.items() if path.is_file()}


def _hostile(source: Source) -> dict[str, Rows]:
    path = source.path("INJECTION_PAYLOADS")
    if path is None:
        return _recorded(source)
    payloads = read_json(path)
    if not isinstance(payloads, dict):
        raise TaskError(path, "It should be an object with search_injections and content_injections.")
    kinds = ("search_injections", "content_injections")
    return {**_recorded(source), **{name: _checked(path, payloads.get(name, [])) for name in kinds}}


def _recognised(source: Source) -> dict[str, Rows]:
    """One text, whatever picture is asked about; several files make one text with a heading each."""
    folder = source.path("OCR_FIXTURES") or source.own()
    several = source.env.get("OCR_FILENAMES")
    names = several.split(",") if several else [source.env.get("OCR_FILENAME", "menu_ocr.txt")]
    paths = [
        (number, name.strip(), inside(folder, f"ocr/{name.strip()}", source.file))
        for number, name in enumerate(names, 1)
    ]
    texts = [(number, name, read_text(path)) for number, name, path in paths if path.is_file()]
    if not texts:
        return {}
    if not several:
        return {"texts": [{"text": texts[0][2]}]}
    return {"texts": [{"text": "\n\n".join(f"--- Document {n}: {name} ---\n{text}" for n, name, text in texts)}]}


def _captions(source: Source) -> dict[str, Rows]:
    path = inside(source.path("CAPTION_FIXTURES") or source.own(), "caption.txt", source.file)
    return {"captions": [{"text": read_text(path)}]} if path.is_file() else {}


def _documents(source: Source) -> dict[str, Rows]:
    """All files of the base folder. The text of `x.pdf` is read from `x.pdf.txt`, pages parted by form feeds; else
    from the PDF."""
    base = source.path("DOCUMENTS_BASE_DIR") or source.folder
    rows: Rows = []
    for path in sorted(base.rglob("*")):
        name: dict[str, Json] = {"path": path.relative_to(base).as_posix()}
        if path.is_file() and stays_inside(path, source.root):
            rows.append({**name, **_pages(path, source)})
        elif path.suffix.lower() == ".pdf":
            what = "is a folder" if path.is_dir() and not path.is_symlink() else "is a link that leads out, or nowhere"
            rows.append({**name, "pages": None, "problem": f"{what}, so it is not read."})
    return {"documents": rows}


def _pages(path: Path, source: Source) -> dict[str, Json]:
    text = path.with_name(path.name + ".txt")
    if text.is_file() and stays_inside(text, source.root):
        return {"pages": read_text(text).removesuffix("\f").split("\f")}
    found = source.pages(path) if source.pages is not None and path.suffix.lower() == ".pdf" else None
    return {"pages": None, "problem": found.says} if isinstance(found, Unread) else {"pages": found}
