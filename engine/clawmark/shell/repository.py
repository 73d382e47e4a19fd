"""A git repository among the files of a workspace, in git's own format, so that git itself can read it.

Knows objects, the index, branches and settings. Does not know git's commands. Objects are written without compression:
what a library makes of the same bytes may differ, and these bytes are in a log.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from hashlib import sha1

import msgspec

from .disk import LARGEST, Disk

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n"
_FILE, _FOLDER = "100644", "40000"
_MOST = 65_535
_COMMITS = 10_000
_DEEPEST = 60
_TREE = 4096
"""What it costs to look at a tree, in bytes read."""


class Damaged(Exception):
    """What is no repository that can be read here, in a sentence."""


class Commit(msgspec.Struct, frozen=True):
    id: str
    tree: str
    parent: str | None
    author: str
    """Name, address, seconds, zone."""
    message: str


class Repository:
    """That of a folder. Files of the index are relative to it."""

    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self.folder = folder
        self._git = posixpath.join(folder, ".git")

    def _path(self, name: str) -> str:
        return posixpath.join(self._git, name)

    def _read(self, name: str) -> bytes | None:
        path = self._path(name)
        return self._disk.read(path) if self._disk.is_file(path) else None

    def _write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        self._disk.make(posixpath.dirname(path))
        if not self._disk.write(path, content):
            raise Damaged(f"{path} cannot be written")

    def create(self, branch: str) -> bool:
        """Whether it was not there before."""
        if self._read("HEAD") is not None:
            return False
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            self._disk.make(self._path(name))
        self._write("HEAD", f"ref: refs/heads/{branch}\n".encode())
        self._write("config", _CONFIG.encode())
        return True

    # --- settings ------------------------------------------------------------------------------------------

    def configured(self, name: str) -> str | None:
        section, key = name.split(".")
        inside, found = "", None
        for line in (self._read("config") or b"").decode(errors="replace").splitlines():
            stripped = line.strip()
            if stripped.startswith("["):
                inside = stripped.strip("[]").lower()
            elif inside == section and stripped.partition("=")[0].strip().lower() == key:
                found = _unquoted(stripped.partition("=")[2].strip())
        return found

    def configure(self, name: str, value: str) -> None:
        section, key = name.split(".")
        before = (self._read("config") or b"").decode(errors="replace")
        shown = '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        self._write("config", f"{before}[{section}]\n\t{key} = {shown}\n".encode(errors="replace"))

    # --- objects -------------------------------------------------------------------------------------------

    def _store(self, kind: str, content: bytes) -> str:
        data = f"{kind} {len(content)}\0".encode() + content
        name = sha1(data, usedforsecurity=False).hexdigest()
        path = f"objects/{name[:2]}/{name[2:]}"
        if self._read(path) is None:
            self._write(path, _packed(data))
        return name

    def _load(self, name: str, kind: str) -> bytes:
        stored = self._read(f"objects/{name[:2]}/{name[2:]}")
        try:
            reader = zlib.decompressobj()
            data = reader.decompress(stored or b"", LARGEST + 1024)
        except zlib.error:
            data = b""
        head, sign, content = data.partition(b"\0")
        if not sign or not head.startswith(f"{kind} ".encode()):
            raise Damaged(f"there is no {kind} {name[:40]} that can be read here")
        return content

    def blob(self, name: str) -> bytes:
        return self._load(name, "blob")

    def tree(self, index: dict[str, str]) -> str:
        """Write the tree of files, by path; its name."""
        entries: list[tuple[str, str, str]] = []
        folders: dict[str, dict[str, str]] = {}
        for path, name in index.items():
            first, sign, rest = path.partition("/")
            if sign:
                folders.setdefault(first, {})[rest] = name
            else:
                entries.append((first, _FILE, name))
        entries += [(first, _FOLDER, self.tree(inside)) for first, inside in folders.items()]
        entries.sort(key=lambda each: (each[0] + ("/" if each[1] == _FOLDER else "")).encode())
        lines = (f"{mode} {name}".encode() + b"\0" + bytes.fromhex(id) for name, mode, id in entries)
        return self._store("tree", b"".join(lines))

    def files(self, tree: str, above: str = "") -> dict[str, str]:
        """The files of a tree, by path."""
        self._disk.take(_TREE)
        data, found = self._load(tree, "tree"), dict[str, str]()
        while data:
            head, _, data = data.partition(b"\0")
            id, data = data[:20].hex(), data[20:]
            mode, _, name = head.decode(errors="replace").partition(" ")
            path = posixpath.join(above, name)
            if mode != _FOLDER:
                found[path] = id
            elif path.count("/") < _DEEPEST:
                found |= self.files(id, path)
        return found

    # --- commits -------------------------------------------------------------------------------------------

    def branch(self) -> str:
        head = (self._read("HEAD") or b"").decode(errors="replace").strip()
        if not re.fullmatch(r"ref: refs/heads/[A-Za-z0-9][A-Za-z0-9_./-]*", head) or ".." in head:
            raise Damaged("HEAD is on no branch that can be read here")
        return head.removeprefix("ref: refs/heads/")

    def head(self) -> str | None:
        """The last commit."""
        found = (self._read(f"refs/heads/{self.branch()}") or b"").decode(errors="replace").strip()
        return found or None

    def named(self, revision: str) -> str:
        """A commit by `HEAD`, `HEAD~2`, a branch, or the beginning of its name."""
        name, _, back = revision.replace("^", "~1").partition("~")
        history = [each.id for each in self.history()]
        start = [id for id in history if id.startswith(name)] if re.fullmatch(r"[0-9a-f]{4,40}", name) else []
        if name in ("HEAD", self.branch()):
            start = history[:1]
        steps = int(back) if re.fullmatch(r"\d{1,5}", back) else 0 if not back else -1
        if len(start) != 1 or steps < 0 or history.index(start[0]) + steps >= len(history):
            raise Damaged(f"bad revision '{revision[:60]}'")
        return history[history.index(start[0]) + steps]

    def history(self) -> list[Commit]:
        """From the last to the first, by first parents."""
        found: list[Commit] = []
        name = self.head()
        while name is not None and len(found) < _COMMITS:
            found.append(self.commit(name))
            name = found[-1].parent
        return found

    def commit(self, name: str) -> Commit:
        head, _, message = self._load(name, "commit").decode(errors="replace").partition("\n\n")
        fields: dict[str, str] = {}
        for line in head.splitlines():
            key, _, value = line.partition(" ")
            fields.setdefault(key, value)
        author = fields.get("author", "")
        if "tree" not in fields or not re.fullmatch(r".* \d{1,11} [+-][01]\d[0-5]\d", author):
            raise Damaged(f"the commit {name[:40]} is damaged")
        return Commit(name, fields["tree"], fields.get("parent"), author, message)

    def write_commit(self, tree: str, parent: str | None, author: str, committer: str, message: str) -> str:
        """Its name; the branch is then there."""
        above = f"parent {parent}\n" if parent else ""
        text = f"tree {tree}\n{above}author {author}\ncommitter {committer}\n\n{message}"
        name = self._store("commit", text.encode(errors="replace"))
        self._write(f"refs/heads/{self.branch()}", f"{name}\n".encode())
        return name

    # --- the index -----------------------------------------------------------------------------------------

    def index(self) -> dict[str, str]:
        """What is to be committed: object by path."""
        data = self._read("index")
        if data is None:
            return {}
        found: dict[str, str] = {}
        if data[:8] != b"DIRC\0\0\0\2":
            raise Damaged("the index cannot be read here")
        at = 12
        for _ in range(int.from_bytes(data[8:12], "big")):
            end = data.find(b"\0", at + 62)
            if end < 0:
                raise Damaged("the index is damaged")
            found[data[at + 62 : end].decode(errors="replace")] = data[at + 40 : at + 60].hex()
            at += (62 + end - (at + 62)) // 8 * 8 + 8
        return found

    def write_index(self, index: dict[str, str]) -> None:
        entries = []
        for path in sorted(index, key=str.encode):
            name = path.encode()
            size = len(self.blob(index[path]))
            numbers = [0, 0, 0, 0, 0, 0, 0o100644, 0, 0, size]
            head = b"".join(number.to_bytes(4, "big") for number in numbers) + bytes.fromhex(index[path])
            entry = head + min(len(name), 0xFFF).to_bytes(2, "big") + name
            entries.append(entry + b"\0" * (8 - len(entry) % 8))
        data = b"DIRC\0\0\0\2" + len(entries).to_bytes(4, "big") + b"".join(entries)
        self._write("index", data + sha1(data, usedforsecurity=False).digest())

    def add(self, index: dict[str, str], path: str) -> bool:
        """A file, or all in a folder, as it is now: also that it is no more. Whether there is or was any."""
        start = "" if path == self.folder else posixpath.relpath(path, self.folder)
        known = [each for each in index if each == start or not start or each.startswith(start + "/")]
        now = [path] if self._disk.is_file(path) else list(self._disk.below(path)) if self._disk.is_folder(path) else []
        files = [each for each in now if self._disk.is_file(each) and "/.git/" not in each[len(self.folder) :]]
        for each in known:
            del index[each]
        above = posixpath.dirname(start)
        while files and above:
            index.pop(above, None)
            above = posixpath.dirname(above)
        for each in files:
            index[posixpath.relpath(each, self.folder)] = self._store("blob", self._disk.read(each))
        return bool(known or files or path == self.folder)


def _packed(data: bytes) -> bytes:
    """As zlib, stored."""
    blocks = [data[at : at + _MOST] for at in range(0, len(data), _MOST)] or [b""]
    stored = [
        bytes([place + 1 == len(blocks)])
        + len(each).to_bytes(2, "little")
        + (len(each) ^ 0xFFFF).to_bytes(2, "little")
        + each
        for place, each in enumerate(blocks)
    ]
    return b"\x78\x01" + b"".join(stored) + zlib.adler32(data).to_bytes(4, "big")


def _unquoted(value: str) -> str:
    if len(value) < 2 or not (value[0] == value[-1] == '"'):
        return value
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], value[1:-1])
