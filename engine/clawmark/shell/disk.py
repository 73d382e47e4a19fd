"""What commands do to files and folders: copies, moves, removals, patterns, and how much may be written.

Knows paths of a tree. Does not know the words of a command.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ....worlds.clawmark.tree import Tree
from .words import Unsupported

LARGEST = 4 << 20
"""Bytes of a file that commands write, and of what one of them prints."""
_ROOM = 6 << 20
"""Bytes of all files that are not the task's own: they are in each call's records, as JSON."""
_MANY = 20_000
"""Files and folders."""
_NAME = 255


class Disk:
    """A tree, as commands see it. What would not fit is Unsupported."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def exists(self, path: str) -> bool:
        return path in self.tree.files or path in self.tree.folders

    def is_file(self, path: str) -> bool:
        return path in self.tree.files

    def is_folder(self, path: str) -> bool:
        return path in self.tree.folders

    def read(self, path: str) -> bytes:
        return self.tree.read(path)

    def children(self, folder: str) -> list[str]:
        """Names in a folder, in order of their bytes."""
        start = folder.rstrip("/") + "/"
        names = {path[len(start) :].partition("/")[0] for path in self._all() if path.startswith(start)}
        return sorted(names - {""})

    def below(self, folder: str) -> Iterator[str]:
        """Files and folders in a folder and in those in it, in order."""
        start = folder.rstrip("/") + "/"
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
        return self.tree.write(path, content)

    def make(self, path: str) -> None:
        self._fits(path, 0)
        self.tree.make(path)

    def copy(self, path: str, target: str) -> bool:
        """A file. What is the task's own stays so."""
        record = self.tree.files[path]
        self._fits(target, 0 if "source" in record else record["size"])
        return self.tree.write(target, self.read(path), record.get("source"))

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
            self.tree.files.pop(each, None)
            self.tree.folders.pop(each, None)

    def _fits(self, path: str, size: int) -> None:
        if path in self.tree.files or path in self.tree.folders:
            size -= self.tree.files.get(path, {}).get("size", 0)
        elif len(self.tree.files) + len(self.tree.folders) >= _MANY:
            raise Unsupported(f"more than {_MANY:,} files")
        if any(len(name.encode()) > _NAME for name in path.split("/")) or len(path) > 4096:
            raise Unsupported("a name of this length")
        if size > 0 and size + self._written() > _ROOM:
            raise Unsupported(f"files of more than {_ROOM:,} bytes together")

    def _written(self) -> int:
        return sum(int(record["size"]) for record in self.tree.files.values() if "source" not in record)

    # --- patterns ------------------------------------------------------------------------------------------

    def matching(self, pattern: str, cwd: str) -> list[str]:
        """Paths that fit a pattern such as `input/*.csv`, as it is written: absolute or not. Sorted."""
        found = ["/" if pattern.startswith("/") else ""]
        for name in [each for each in pattern.split("/") if each]:
            found = [path for start in found for path in self._step(start, name, cwd)]
        return sorted(found)

    def _step(self, start: str, name: str, cwd: str) -> Iterator[str]:
        folder = self.tree.path(start or ".", cwd)
        if not any(sign in name for sign in "*?["):
            path = posixpath.join(start, name)
            if self.exists(self.tree.path(path, cwd)):
                yield path
            return
        for child in self.children(folder):
            if fnmatchcase(child, name) and (name.startswith(".") or not child.startswith(".")):
                yield posixpath.join(start, child)
