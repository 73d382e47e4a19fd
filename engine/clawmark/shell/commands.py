"""Commands on files and folders.

Knows their options and sentences, which are those of GNU's. Does not know streams, nor what is in a file.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, timedelta
from fnmatch import fnmatchcase
from hashlib import md5, sha1, sha256

from ....worlds.clawmark.tree import ALWAYS
from .calls import Call, Command
from .words import Unsupported

_ABSENT = "No such file or directory"


def _mkdir(call: Call) -> None:
    options, names = call.options("pv", long={"parents": "p"})
    if not names:
        call.fail("missing operand")
    for name in names:
        path = call.path(name)
        if call.disk.is_file(path) or ("p" not in options and call.disk.exists(path)):
            call.fail(f"cannot create directory ‘{name}’: File exists")
        elif "p" not in options and not call.disk.is_folder(posixpath.dirname(path)):
            call.fail(f"cannot create directory ‘{name}’: {_ABSENT}")
        elif not call.disk.make(path):
            call.fail(f"cannot create directory ‘{name}’: Not a directory")


def _touch(call: Call) -> None:
    names = call.options("", long={})[1]
    if not names:
        call.fail("missing file operand")
    for name in names:
        path = call.path(name)
        if name.endswith("/") and not call.disk.is_folder(path):
            why = "Not a directory" if call.disk.is_file(path) else _ABSENT
            call.fail(f"cannot touch '{name}': {why}")
        elif not call.disk.exists(path) and not call.disk.write(path, b""):
            call.fail(f"cannot touch '{name}': {_ABSENT}")


def _cp(call: Call) -> None:
    options, names = call.options("rRapfv", long={"recursive": "r", "archive": "a", "force": "f"})
    _each_to(
        call, names, lambda path, target, shown: _copied(call, path, target, shown, bool(set("rRa") & set(options)))
    )


def _copied(call: Call, path: str, target: str, shown: str, all: bool) -> None:
    if call.disk.is_file(path):
        if not call.disk.copy(path, target):
            call.fail(f"cannot create regular file '{target}': {_ABSENT}")
    elif not all:
        call.fail(f"-r not specified; omitting directory '{shown}'")
    elif f"{target}/".startswith(f"{path.rstrip('/')}/"):
        call.fail(f"cannot copy a directory, '{shown}', into itself, '{target}'")
    elif call.disk.is_file(target) or not call.disk.is_folder(posixpath.dirname(target)):
        call.fail(f"cannot create directory '{target}': {_ABSENT}")
    else:
        call.disk.copy_all(path, target)


def _mv(call: Call) -> None:
    _, names = call.options("fv", long={"force": "f"})
    _each_to(call, names, lambda path, target, shown: _moved(call, path, target, shown))


def _moved(call: Call, path: str, target: str, shown: str) -> None:
    if f"{target}/".startswith(f"{path.rstrip('/')}/"):
        call.fail(f"cannot move '{shown}' to a subdirectory of itself, '{target}'")
        return
    if call.disk.is_folder(target):
        call.fail(f"cannot overwrite directory '{target}'")
        return
    if _stood_on(call, path):
        call.fail(f"refusing to move '{shown}'")
        return
    before = call.code
    _copied(call, path, target, shown, all=True)
    if call.code == before:
        call.disk.remove(path)


def _stood_on(call: Call, path: str) -> bool:
    """Whether it is a folder that is always there, or in which the command is."""
    return path in ALWAYS or f"{call.cwd}/".startswith(f"{path}/")


def _each_to(call: Call, names: list[str], act: Callable[[str, str, str], None]) -> None:
    """Each of the names but the last, to the last."""
    if len(names) < 2:
        call.fail("missing file operand" if not names else f"missing destination file operand after '{names[0]}'")
        return
    *sources, last = names
    target = call.path(last)
    into = call.disk.is_folder(target)
    if len(sources) > 1 and not into:
        call.fail(f"target '{last}': {'Not a directory' if call.disk.is_file(target) else _ABSENT}")
        return
    for name in sources:
        path = call.path(name)
        there = posixpath.join(target, posixpath.basename(path)) if into else target
        if into and name.endswith("/."):
            there = target
        if not call.disk.exists(path):
            call.fail(f"cannot stat '{name}': {_ABSENT}")
        elif path == there:
            call.fail(f"'{name}' and '{last}' are the same file")
        elif last.endswith("/") and not into and call.disk.is_file(path):
            call.fail(f"cannot create regular file '{last}': Not a directory")
        else:
            act(path, there, name)


def _rm(call: Call) -> None:
    options, names = call.options("rRfv", long={"recursive": "r", "force": "f"})
    if not names and "f" not in options:
        call.fail("missing operand")
    for name in names:
        path = call.path(name)
        if not call.disk.exists(path):
            if "f" not in options:
                call.fail(f"cannot remove '{name}': {_ABSENT}")
        elif call.disk.is_folder(path) and not {"r", "R"} & set(options):
            call.fail(f"cannot remove '{name}': Is a directory")
        elif _stood_on(call, path):
            call.fail(f"refusing to remove '{name}'")
        else:
            call.disk.remove(path)


def _pwd(call: Call) -> None:
    call.say(call.cwd + "\n")


# --- looking -----------------------------------------------------------------------------------------------


def _ls(call: Call) -> None:
    options, names = call.options("laAR1dFh", long={"all": "a", "recursive": "R"})
    places = [(name, call.path(name)) for name in names or ["."]]
    for name, path in places:
        if not call.disk.exists(path):
            call.fail(f"cannot access '{name}': {_ABSENT}", 2)
    files = [each for each in places if call.disk.is_file(each[1]) or ("d" in options and call.disk.is_folder(each[1]))]
    folders = [each for each in places if call.disk.is_folder(each[1]) and "d" not in options]
    for name, path in files:
        call.say(_line(call, name, path, options))
    many = len(places) > 1 or "R" in options
    for number, (name, path) in enumerate(folders):
        call.say(("\n" if number or files else "") + (f"{name}:\n" if many else ""))
        _inside(call, name, path, options)


def _inside(call: Call, name: str, path: str, options: Mapping[str, str]) -> None:
    children = [child for child in call.disk.children(path) if {"a", "A"} & set(options) or not child.startswith(".")]
    if "a" in options:
        call.say(_line(call, ".", path, options) + _line(call, "..", posixpath.dirname(path), options))
    for child in children:
        call.say(_line(call, child, posixpath.join(path, child), options))
    if "R" in options:
        for child in children:
            there = posixpath.join(path, child)
            if call.disk.is_folder(there):
                call.say(f"\n{posixpath.join(name, child)}:\n")
                _inside(call, posixpath.join(name, child), there, options)


def _line(call: Call, name: str, path: str, options: Mapping[str, str]) -> str:
    folder = call.disk.is_folder(path)
    shown = name + ("/" if folder and "F" in options else "")
    if "l" not in options:
        return shown + "\n"
    tree = call.disk.tree
    record = tree.folders.get(path, {}) if folder else tree.files[path]
    date = (call.now.start.astimezone(UTC) + timedelta(microseconds=int(record.get("at", 0)))).astimezone(
        call.now.start.tzinfo
    )
    size = 4096 if folder else record["size"]
    return f"{'drwxr-xr-x' if folder else '-rw-r--r--'} 1 root root {size:>9} {date:%Y-%m-%d %H:%M} {shown}\n"


def _find(call: Call) -> None:
    args = list(call.args)
    starts = []
    while args and not args[0].startswith(("-", "!", "(", ")")):
        starts.append(args.pop(0))
    wanted = _Wanted(call, args)
    for start in starts or ["."]:
        root = call.path(start)
        if not call.disk.exists(root):
            call.fail(f"‘{start}’: {_ABSENT}")
            continue
        for path in (root, *call.disk.below(root)):
            below = path[len(root.rstrip("/")) :] if path != root else ""
            shown = (start.rstrip("/") or "/" if not below else start.rstrip("/")) + below
            if wanted.fits(path, shown, below.count("/")):
                call.say(shown + "\n")


class _Wanted:
    """The tests of `find`: a list of alternatives, each a list of tests."""

    def __init__(self, call: Call, args: list[str]) -> None:
        self._call = call
        self._depths = [0, 1 << 30]
        self._any: list[list[tuple[bool, str, str]]] = [[]]
        words = iter(args)
        no = False
        for word in words:
            if word in ("-o", "-or"):
                self._any.append([])
            elif word in ("!", "-not"):
                no = not no
            elif word in ("-name", "-iname", "-type", "-path"):
                self._any[-1].append((no, word, self._value(word, words)))
                no = False
            elif word == "-empty":
                self._any[-1].append((no, word, ""))
                no = False
            elif word in ("-mindepth", "-maxdepth"):
                self._depths[word == "-maxdepth"] = self._number(word, words)
            elif word not in ("-print", "-a", "-and"):
                raise call.unsupported(word)

    def _value(self, word: str, words: Iterator[str]) -> str:
        value = next(words, None)
        if value is None or (word == "-type" and value not in ("f", "d")):
            raise self._call.unsupported(f"{word} {value or ''}".strip())
        return value

    def _number(self, word: str, words: Iterator[str]) -> int:
        value = self._value(word, words)
        if not (value.isascii() and value.isdecimal() and len(value) < 9):
            raise self._call.unsupported(f"{word} {value}")
        return int(value)

    def fits(self, path: str, shown: str, depth: int) -> bool:
        low, high = self._depths
        if not low <= depth <= high:
            return False
        return any(all(self._holds(test, value, path, shown) != no for no, test, value in each) for each in self._any)

    def _holds(self, test: str, value: str, path: str, shown: str) -> bool:
        disk, name = self._call.disk, posixpath.basename(shown.rstrip("/")) or "/"
        if test == "-type":
            return disk.is_folder(path) if value == "d" else disk.is_file(path)
        if test == "-empty":
            return not disk.children(path) if disk.is_folder(path) else not disk.tree.files[path]["size"]
        if test == "-path":
            return fnmatchcase(shown, value)
        return fnmatchcase(name.lower(), value.lower()) if test == "-iname" else fnmatchcase(name, value)


# --- sums and tests ----------------------------------------------------------------------------------------


def _sum(method: Callable[[bytes], object]) -> Command:
    def act(call: Call) -> None:
        for name, data in call.contents(call.options("bt")[1]):
            call.say(f"{method(data).hexdigest()}  {name}\n")  # type: ignore[attr-defined]

    return act


def _test(call: Call) -> None:
    args = list(call.args)
    if call.name == "[":
        if args[-1:] != ["]"]:
            call.fail("missing ‘]’", 2)
            return
        args.pop()
    no = args[:1] == ["!"]
    call.code = int(_holds(call, args[no:]) == no)


def _holds(call: Call, args: list[str]) -> bool:
    if len(args) <= 1:
        return bool(args and args[0])
    if len(args) == 2 and args[0] in ("-n", "-z"):
        return bool(args[1]) == (args[0] == "-n")
    if len(args) == 2 and args[0] in ("-e", "-f", "-d", "-s", "-r"):
        path, disk = call.path(args[1]), call.disk
        if args[0] == "-s":
            return disk.is_folder(path) or (disk.is_file(path) and bool(disk.tree.files[path]["size"]))
        return {"-e": disk.exists, "-r": disk.exists, "-f": disk.is_file, "-d": disk.is_folder}[args[0]](path)
    if len(args) == 3 and args[1] in ("=", "==", "!="):
        return (args[0] == args[2]) == (args[1] != "!=")
    raise Unsupported(f"{call.name} {' '.join(args)[:40]}")


def _true(call: Call) -> None:
    pass


def _false(call: Call) -> None:
    call.code = 1


COMMANDS: Mapping[str, Command] = {
    "mkdir": _mkdir,
    "touch": _touch,
    "cp": _cp,
    "mv": _mv,
    "rm": _rm,
    "pwd": _pwd,
    "ls": _ls,
    "find": _find,
    "md5sum": _sum(lambda data: md5(data, usedforsecurity=False)),
    "sha1sum": _sum(lambda data: sha1(data, usedforsecurity=False)),
    "sha256sum": _sum(sha256),
    "test": _test,
    "[": _test,
    "true": _true,
    ":": _true,
    "false": _false,
}
