"""What commands do to files and folders: copies, moves, removals, patterns, and how much may be written.

Knows paths of a tree. Does not know the words of a command.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ....worlds.clawmark.tree import Tree, fits
from ....worlds.service import Record
from .words import Unsupported

LARGEST = 4 << 20
"""Bytes of a file that commands write, and of what one of them prints."""
_ROOM = 6 << 20
"""Bytes of all files that are not the task's own: they are in each call's records, as JSON."""
_MANY = 5_000
"""Files and folders."""
_READ = 256 << 20
"""Bytes that the commands of one line read."""
_LOOKED = 400
"""What it costs to look at a name, in bytes read."""
_PATTERN = 1_000
"""Characters of a pattern."""


class Disk:
    """A tree, as commands see it. What would not fit is Unsupported."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.left = _READ
        """What may yet be read."""
        self._used = sum(map(_size, tree.files.values()))

    def exists(self, path: str) -> bool:
        return path in self.tree.files or path in self.tree.folders

    def is_file(self, path: str) -> bool:
        return path in self.tree.files

    def is_folder(self, path: str) -> bool:
        return path in self.tree.folders

    def read(self, path: str) -> bytes:
        self.take(int(self.tree.files[path]["size"]))
        return self.tree.read(path)

    def take(self, cost: int) -> None:
        """Pay for work, in bytes read. A line that goes on and on comes to an end, and to the same one in each run."""
        self.left -= cost
        if self.left < 0:
            raise Unsupported("so much work in one line")

    def children(self, folder: str) -> list[str]:
        """Names in a folder, in order of their bytes."""
        start = folder.rstrip("/") + "/"
        self.take(_LOOKED * (len(self.tree.files) + len(self.tree.folders)))
        names = {path[len(start) :].partition("/")[0] for path in self._all() if path.startswith(start)}
        return sorted(names - {""})

    def below(self, folder: str) -> Iterator[str]:
        """Files and folders in a folder and in those in it, in order."""
        start = folder.rstrip("/") + "/"
        self.take(_LOOKED * (len(self.tree.files) + len(self.tree.folders)))
        return (path for path in sorted(self._all()) if path.startswith(start) and path != "/")

    def _all(self) -> Iterator[str]:
        yield from self.tree.files
        yield from self.tree.folders

    # --- changes -------------------------------------------------------------------------------------------

    def write(self, path: str, content: bytes) -> bool:
        """Whether there is a folder to write it to."""
        if len(content) > LARGEST:
            raise Unsupported(f"a file of more than {LARGEST:,} bytes")
        self._fits(path, len(content))
        return self._counted(path, content)

    def make(self, path: str) -> bool:
        """Whether no file is in the way."""
        self._fits(path, 0)
        return self.tree.make(path)

    def copy(self, path: str, target: str) -> bool:
        """A file. What is the task's own stays so."""
        record = self.tree.files[path]
        self._fits(target, 0 if "source" in record else record["size"])
        return self._counted(target, self.read(path), record.get("source"))

    def _counted(self, path: str, content: bytes, source: str | None = None) -> bool:
        before = _size(self.tree.files.get(path, {}))
        done = self.tree.write(path, content, source)
        if done:
            self._used += _size(self.tree.files[path]) - before
        return done

    def copy_all(self, folder: str, target: str) -> None:
        """A folder, with what is in it."""
        inside = list(self.below(folder))
        self.make(target)
        for path in inside:
            there = target.rstrip("/") + path[len(folder.rstrip("/")) :]
            if self.is_folder(path):
                self.make(there)
            else:
                self.copy(path, there)

    def remove(self, path: str) -> None:
        """A file, or a folder with all that is in it."""
        for each in (path, *list(self.below(path))):
            self._used -= _size(self.tree.files.pop(each, {}))
            self.tree.folders.pop(each, None)

    def _fits(self, path: str, size: int) -> None:
        before = self.tree.files.get(path, {})
        if not self.exists(path) and len(self.tree.files) + len(self.tree.folders) >= _MANY:
            raise Unsupported(f"more than {_MANY:,} files")
        if not fits(path):
            raise Unsupported("a path of this length or depth")
        if size > _size(before) and self._used + size - _size(before) > _ROOM:
            raise Unsupported(f"files of more than {_ROOM:,} bytes together")

    # --- patterns ------------------------------------------------------------------------------------------

    def matching(self, pattern: str, cwd: str) -> list[str]:
        """Paths that fit a pattern such as `input/*.csv`, as it is written: absolute or not. Sorted."""
        if len(pattern) > _PATTERN:
            raise Unsupported("a pattern of this length")
        found = ["/" if pattern.startswith("/") else ""]
        for name in [each for each in pattern.split("/") if each]:
            found = [path for start in found for path in self._step(start, name, cwd)]
        if pattern.endswith("/"):
            found = [f"{path}/" for path in found if self.is_folder(self.tree.path(path, cwd))]
        return sorted(found)

    def _step(self, start: str, name: str, cwd: str) -> Iterator[str]:
        folder = self.tree.path(start or ".", cwd)
        if not any(sign in name for sign in "*?["):
            path = posixpath.join(start, name)
            if self.exists(self.tree.path(path, cwd)):
                yield path
            return
        name = name.replace("[^", "[!")
        for child in self.children(folder):
            if fnmatchcase(child, name) and (name.startswith(".") or not child.startswith(".")):
                yield posixpath.join(start, child)


def _size(record: Record) -> int:
    """Bytes that are in a record, and not in the task's folder."""
    return 0 if "source" in record else int(record.get("size", 0))
