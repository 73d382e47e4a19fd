"""What the agent's file tools answer: a tree's files as text, where they are text or somebody put them into words.

Knows the tools' arguments and answers. Does not know how a document is read (`engine.documents`), nor who asks.
Captions and transcripts are files of the user's, beside the checkout: `photo.png.txt` says what `photo.png` shows.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from ...events.event import Json
from ...worlds.clawmark.tree import Tree, fits
from ..documents.captions import LONGEST
from ..documents.kinds import MEDIA, NAMES, Kind, as_text, kind_of, mime_of, size_of
from ..documents.packages import Unreadable
from ..documents.reading import DOCUMENTS, Missing, Reading, read

_MOST = 60_000
"""Characters that are shown at once."""
_SHOWN = 5 << 20
"""Bytes of a picture."""
_COUNTED: dict[Kind, str] = {"pdf": "pages", "spreadsheet": "sheets", "slides": "slides"}

Args = Mapping[str, Json]


def answered(tool: str, args: Json, tree: Tree, words: Path | None) -> dict[str, Json]:
    """What a tool answers, as JSON of a `HostedAnswer` without changes: those are in the tree.

    `words` is the folder of captions and transcripts, in which paths are those of the task's folder.
    """
    given = args if isinstance(args, dict) else {}
    path, text, start = given.get("path"), given.get("text", ""), given.get("start", 0)
    if not isinstance(path, str) or not isinstance(text, str):
        return _refused("invalid_arguments", "`path`, and `text` where there is one, must be texts.")
    if type(start) is not int or start < 0:
        return _refused("invalid_arguments", "`start`, where there is one, must be a whole number from 0.")
    tools: dict[str, Callable[[], dict[str, Json]]] = {
        "list_files": lambda: _listed(tree, tree.path(path)),
        "read_file": lambda: _shown(tree, tree.path(path), start, words),
        "view_picture": lambda: _viewed(tree, tree.path(path)),
        "write_file": lambda: _written(tree, tree.path(path), text),
    }
    return tools[tool]()


def _listed(tree: Tree, path: str) -> dict[str, Json]:
    if not tree.is_folder(path):
        return _refused("not_found", f"There is no folder {path}.")
    files: list[Json] = [{"path": each, "bytes": tree.files[each]["size"]} for each in tree.below(path)]
    return {"result": {"files": files}}


def _written(tree: Tree, path: str, text: str) -> dict[str, Json]:
    if not fits(path):
        return _refused("refused", f"{path[:60]}… is too long, too deep, or has a sign that no name has.")
    if not tree.make(path.rpartition("/")[0] or "/"):
        return _refused("refused", f"{path} would be in a file, which is no folder.")
    if not tree.write(path, text.encode()):
        return _refused("refused", f"{path} is a folder.")
    return {"result": {"path": path, "bytes": tree.files[path]["size"]}}


def _refused(type: str, says: str) -> dict[str, Json]:
    return {"error": {"type": type, "message": says}}


# --- reading -----------------------------------------------------------------------------------------------


def _shown(tree: Tree, path: str, start: int, words: Path | None) -> dict[str, Json]:
    if path not in tree.files:
        return _refused("not_found", f"There is no file {path}.")
    data = tree.read(path)
    kind = kind_of(path, data)
    if kind == "text":
        return {"result": _part(as_text(data) or "", start)}
    said = _words(words, tree.files[path].get("source"))
    if said is not None:
        return {"result": {"kind": kind, "by": "sidecar", **_part(said, start)}}
    if kind in MEDIA:
        return {"result": {"kind": kind, "says": _unseen(kind, data), **_part("", 0)}}
    if kind not in DOCUMENTS:
        return _refused("unreadable", f"{path} is no text.")
    try:
        return {"result": _read(kind, data, start)}
    except Missing as missing:
        return _refused("not_available_here", f"{path} {missing.says}")
    except Unreadable as unreadable:
        return _refused("unreadable", f"{path} {unreadable.says}")


def _read(kind: Kind, data: bytes, start: int) -> dict[str, Json]:
    reading = _remembered(kind, data)
    result: dict[str, Json] = {"kind": kind}
    if kind in _COUNTED:
        result[_COUNTED[kind]] = reading.count
    if not reading.text.strip():
        result["says"] = "There is no text in it; what it shows may be pictures."
    elif reading.pages and len(reading.pages) < reading.count:
        result["says"] = f"Only the first {len(reading.pages)} pages are read."
    return {**result, **_part(reading.text, start)}


@lru_cache(maxsize=4)
def _remembered(kind: Kind, data: bytes) -> Reading:
    """An agent that reads on asks for the same file again."""
    return read(kind, data)


def _part(text: str, start: int) -> dict[str, Json]:
    """So much of a text as is shown at once, and where the rest begins."""
    end = start + _MOST
    more: dict[str, Json] = {"next": end} if end < len(text) else {}
    return {"text": text[start:end], "characters": len(text), **more}


def _unseen(kind: Kind, data: bytes) -> str:
    size = size_of(data)
    pixels = f" of {size[0]}x{size[1]} pixels" if size else ""
    what = NAMES[kind].removeprefix("a ").capitalize()
    return f"{what}{pixels}, {len(data):,} bytes. It cannot be looked at or listened to here; nobody has described it."


def _viewed(tree: Tree, path: str) -> dict[str, Json]:
    """The picture itself, for whoever can be shown one (`agents.pictures`)."""
    if path not in tree.files:
        return _refused("not_found", f"There is no file {path}.")
    data = tree.read(path)
    mime = mime_of(data)
    if mime is None:
        return _refused("unreadable", f"{path} is no picture in PNG, JPEG, GIF or WebP.")
    if len(data) > _SHOWN:
        return _refused("unreadable", f"{path} has {len(data):,} bytes, and at most {_SHOWN:,} of a picture are shown.")
    return {"result": {"kind": "picture", "picture": {"mime": mime, "base64": b64encode(data).decode()}}}


def _words(folder: Path | None, source: Json) -> str | None:
    """What somebody has written of a file of the task's folder."""
    if folder is None or not isinstance(source, str):
        return None
    path = folder / f"{source}.txt"
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(LONGEST).decode("utf-8-sig", errors="replace")
