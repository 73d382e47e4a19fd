"""The files of a workspace, as records: what is in the user's checkout is named, what somebody wrote is kept whole.

Knows paths, contents and times of change. Does not know what a file means, nor where the checkout lies: whoever has a
tree gives `source`, which reads a file of the task's folder.
"""

from __future__ import annotations

import posixpath
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256

from ...events.event import Json, RecordChanged, RecordCreated, RecordDeleted
from ..service import Record, RecordEvent, Records

NAME = "files"
ROOT = "/workspace"
ALWAYS = ("/", "/tmp", ROOT)
"""Folders that are there without anybody making them."""
_LONGEST, _PART, _DEEPEST = 2_000, 255, 60
"""Bytes of a path, bytes of a name in it, and names: what a disk takes, since checkers see files on one."""
_BODY = ("source", "text", "base64")
_CONTROL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f]")


class Tree:
    """Files and folders by absolute path. Changes are collected until `changes` is asked."""

    def __init__(self, records: Records, source: Callable[[str], bytes], at: int) -> None:
        self._source = source
        self._at = at
        self._before = {name: dict(records[name]) for name in ("files", "folders")}
        self.files: dict[str, Record] = dict(self._before["files"])
        self.folders: dict[str, Record] = {path: {} for path in ALWAYS} | dict(self._before["folders"])

    def path(self, written: str, cwd: str = ROOT) -> str:
        found = posixpath.normpath(posixpath.join(cwd, written))
        return "/" + found.lstrip("/")

    def is_folder(self, path: str) -> bool:
        return path in self.folders

    def read(self, path: str) -> bytes:
        """Raises KeyError where there is none."""
        record = self.files[path]
        if "source" in record:
            return self._source(record["source"])
        return record["text"].encode() if "text" in record else b64decode(record["base64"])

    def make(self, path: str) -> bool:
        """A folder, and those above it. Whether it can be: no file is in the way, and a disk takes its name."""
        wanted = [*_above(path), path]
        if any(each in self.files for each in wanted) or not fits(path):
            return False
        for each in wanted:
            self.folders.setdefault(each, {"at": self._at})
        return True

    def write(self, path: str, content: bytes, source: str | None = None) -> bool:
        """Whether it can be: there is a folder to write it to. `source` is where it lies in the task's folder."""
        if posixpath.dirname(path) not in self.folders or path in self.folders or not fits(path):
            return False
        self.files[path] = {
            "size": len(content),
            "sha256": sha256(content).hexdigest(),
            "at": self._at,
            **({"source": source} if source is not None else _body(content)),
        }
        return True

    def below(self, folder: str) -> Iterator[str]:
        """Files in a folder and in those in it, by path."""
        start = folder.rstrip("/") + "/"
        return (path for path in sorted(self.files) if path.startswith(start))

    def changes(self) -> list[RecordEvent]:
        """What has changed since the tree was made."""
        found: list[RecordEvent] = []
        folders = {path: record for path, record in self.folders.items() if record}
        for collection, now in (("folders", folders), ("files", self.files)):
            found += _differences(collection, self._before[collection], now)
        return found


def fits(path: str) -> bool:
    """Whether a disk takes a path."""
    names = path.encode(errors="replace").strip(b"/").split(b"/")
    return (
        "\0" not in path
        and len(names) <= _DEEPEST
        and sum(map(len, names)) <= _LONGEST
        and all(len(name) <= _PART for name in names)
    )


def _above(path: str) -> Iterator[str]:
    parts = path.strip("/").split("/")[:-1]
    return ("/" + "/".join(parts[: count + 1]) for count in range(len(parts)))


def _body(content: bytes) -> dict[str, Json]:
    """Signs that JSON writes with six are no text."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    return {"base64": b64encode(content).decode()} if _CONTROL.search(text) else {"text": text}


def _differences(collection: str, old: Mapping[str, Record], new: Mapping[str, Record]) -> Iterator[RecordEvent]:
    for key in old:
        if key not in new:
            yield RecordDeleted(service=NAME, collection=collection, key=key)
    for key, record in new.items():
        if key not in old:
            yield RecordCreated(service=NAME, collection=collection, key=key, value=dict(record))
        elif old[key] != record:
            unset = tuple(name for name in _BODY if name in old[key] and name not in record)
            yield RecordChanged(service=NAME, collection=collection, key=key, set=dict(record), unset=unset)
