"""Does what a command line asks for, on a tree: streams, variables, conditions, and which command is meant.

Knows what a shell knows. Does not know any command but its own (`cd`, `exit`, `set`, `export`, `bash`). Nothing of the
host is run. What is not supported ends with the code 127, as a command that is not there, and is kept in `refused`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from ....worlds.clawmark.tree import ROOT, Tree
from ....worlds.service import Instant
from .calls import Call, Command, Given
from .commands import COMMANDS as FILES
from .disk import LARGEST, Disk
from .filters import COMMANDS as TEXTS
from .git import git
from .language import Choice, Pipe, Script, Simple, Stream, script
from .tables import sqlite
from .words import Unsupported, Word

_COMMANDS: Mapping[str, Command] = {**FILES, **TEXTS, "sqlite3": sqlite, "git": git}
_MOST = 2_000
"""Commands of one command line."""
_WORDS = 50_000
"""Words of a command."""
_DEEPEST = 8
"""Scripts that call scripts."""
_ABSENT = 127
_NOWHERE = "/dev/null"


class Done(msgspec.Struct, frozen=True):
    """What a command line printed, and its exit code."""

    stdout: bytes
    stderr: bytes
    code: int


class _Exit(Exception):
    """A script is over."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class _Streams:
    given: Given = field(default_factory=Given)
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)


class Shell:
    """One command line at a time. `refused` is what was asked for in vain, in order, each once."""

    def __init__(self, tree: Tree, now: Instant) -> None:
        self._disk = Disk(tree)
        self._now = now
        self.refused: list[str] = []

    def run(self, line: str) -> Done:
        streams = _Streams()
        run = _Run(self._disk, self._now, self.refused)
        try:
            code = run.text(line, streams)
        except _Exit as over:
            code = over.code
        return Done(bytes(streams.out), bytes(streams.err), code)


class _Run:
    """A command line at work, with what it has set."""

    def __init__(self, disk: Disk, now: Instant, refused: list[str], depth: int = 0) -> None:
        self._disk, self._now, self._refused, self._depth = disk, now, refused, depth
        self._cwd = ROOT
        self._values: dict[str, str] = {}
        self._exported: set[str] = set()
        self._code = 0
        self._strict = False
        self._decides = False
        """Whether what is being done is a condition."""
        self._count = [0]

    def text(self, line: str, streams: _Streams) -> int:
        """Raises _Exit."""
        try:
            parsed = script(line)
        except Unsupported as found:
            return self._refuse(found.what, streams)
        return self._script(parsed, streams)

    def _refuse(self, what: str, streams: _Streams) -> int:
        if what not in self._refused:
            self._refused.append(what)
        streams.err += f"unsupported command: {what}\n".encode(errors="replace")
        return _ABSENT

    # --- how commands are joined ---------------------------------------------------------------------------

    def _script(self, given: Script, streams: _Streams) -> int:
        """The code of the last one. After `set -e`, one that fails is the last, except where its code decides."""
        for place, (joint, pipe) in enumerate(given.parts):
            if (joint == "&&" and self._code) or (joint == "||" and not self._code):
                continue
            decides = place + 1 < len(given.parts) and given.parts[place + 1][0] != ";"
            with self._deciding(decides):
                self._code = self._pipe(pipe, streams)
            if self._code and self._strict and not (decides or self._decides):
                raise _Exit(self._code)
        return self._code

    @contextmanager
    def _deciding(self, decides: bool) -> Iterator[None]:
        before = self._decides
        self._decides = before or decides
        try:
            yield
        finally:
            self._decides = before

    def _pipe(self, given: Pipe, streams: _Streams) -> int:
        """Of several commands, none changes this shell."""
        *firsts, last = given.commands
        if not firsts:
            return self._command(last, streams)
        data = streams.given
        for command in firsts:
            between = _Streams(data, err=streams.err)
            self._apart(command, between)
            data = Given(bytes(between.out))
        return self._apart(last, _Streams(data, streams.out, streams.err))

    def _apart(self, given: Simple | Choice, streams: _Streams) -> int:
        try:
            return self._within(self._depth)._command(given, streams)
        except _Exit as over:
            return over.code

    def _within(self, depth: int) -> _Run:
        """A shell that begins as this one is."""
        inner = _Run(self._disk, self._now, self._refused, depth)
        inner._cwd, inner._values, inner._code = self._cwd, dict(self._values), self._code
        inner._exported = set(self._exported)
        inner._count, inner._strict, inner._decides = self._count, self._strict, self._decides
        return inner

    def _command(self, given: Simple | Choice, streams: _Streams) -> int:
        self._count[0] += 1
        if self._count[0] > _MOST:
            self._refuse(f"more than {_MOST:,} commands", streams)
            raise _Exit(_ABSENT)
        return self._choice(given, streams) if isinstance(given, Choice) else self._simple(given, streams)

    def _choice(self, given: Choice, streams: _Streams) -> int:
        for condition, then in given.cases:
            with self._deciding(True):
                code = self._script(condition, streams)
            if code == 0:
                return self._script(then, streams)
        if not given.otherwise.parts:
            return 0
        return self._script(given.otherwise, streams)

    # --- a command -----------------------------------------------------------------------------------------

    def _simple(self, given: Simple, streams: _Streams) -> int:
        try:
            words = self._words(given.words)
            sets = {name: self._text(word) for name, word in given.sets}
            files: list[tuple[str, bytearray]] = []
            inner = self._redirected(given.streams, streams, files)
            if inner is None:
                return 1
            if not words:
                self._values.update(sets)
                return 0
            code = self._called(words, sets, inner)
            for path, content in files:
                self._disk.write(path, bytes(content))
            if len(streams.out) + len(streams.err) > 2 * LARGEST:
                self._overflown(streams)
        except Unsupported as found:
            return self._refuse(found.what, streams)
        return code

    def _overflown(self, streams: _Streams) -> None:
        """What is over the limit is dropped, and nothing more is done."""
        for each in (streams.out, streams.err):
            del each[LARGEST:]
        self._count[0] = _MOST + 1
        self._refuse(f"more than {LARGEST:,} bytes of output", streams)
        raise _Exit(_ABSENT)

    def _called(self, words: list[str], sets: Mapping[str, str], streams: _Streams) -> int:
        name, args = words[0], words[1:]
        values = {**{each: self._values[each] for each in self._exported if each in self._values}, **sets}
        if name in ("bash", "sh"):
            return self._bash(args, values, streams)
        own = getattr(self, f"_do_{name}", None) if name in _OWN else None
        if own is not None:
            return int(own(args, streams))
        command = _COMMANDS.get(name)
        if command is None:
            raise Unsupported(name[:60])
        given, out, err = streams.given, streams.out, streams.err
        call = Call(name, args, given, out, err, self._disk, self._cwd, values, self._now)
        command(call)
        return call.code

    def _redirected(
        self, given: tuple[Stream, ...], streams: _Streams, files: list[tuple[str, bytearray]]
    ) -> _Streams | None:
        """The streams of a command; None, after a sentence, where a file cannot be opened. What goes to files is added
        to them."""
        to = {1: streams.out, 2: streams.err}
        data = streams.given
        for each in given:
            if each.number not in (0, 1, 2) or (each.kind in ("read", "text")) != (each.number == 0):
                raise Unsupported("a stream of this number")
            if each.kind == "same":
                to[each.number] = to[int(each.word.text)]
                continue
            if each.kind == "text":
                data = Given(self._text(each.word).encode(errors="replace"))
                continue
            shown = self._text(each.word)
            path = self._path(shown)
            if path == _NOWHERE:
                data, to = (Given(), to) if each.kind == "read" else (data, {**to, each.number: bytearray()})
                continue
            if each.kind == "read":
                if not self._disk.is_file(path):
                    self._unopened(shown, path, streams)
                    return None
                data = Given(self._disk.read(path))
                continue
            before = self._disk.read(path) if each.kind == "append" and self._disk.is_file(path) else b""
            if not shown or not self._disk.write(path, before):
                self._unopened(shown, path, streams)
                return None
            to[each.number] = bytearray(before)
            files.append((path, to[each.number]))
        return _Streams(data, to[1], to[2])

    def _unopened(self, shown: str, path: str, streams: _Streams) -> None:
        why = "Is a directory" if self._disk.is_folder(path) else "No such file or directory"
        streams.err += f"bash: {shown}: {why}\n".encode(errors="replace")

    # --- words ---------------------------------------------------------------------------------------------

    def _path(self, written: str) -> str:
        return self._disk.tree.path(written, self._cwd)

    def _value(self, name: str) -> str:
        if name == "?":
            return str(self._code)
        return self._values.get(name, self._cwd if name == "PWD" else "")

    def _text(self, word: Word) -> str:
        parts = [self._value(part.text) if part.variable else part.text for part in word.parts]
        if sum(map(len, parts)) > LARGEST:
            raise Unsupported(f"a word of more than {LARGEST:,} characters")
        return "".join(parts)

    def _words(self, given: tuple[Word, ...]) -> list[str]:
        found: list[str] = []
        for word in given:
            found += self._expanded(word)
            if len(found) > _WORDS:
                raise Unsupported(f"a command of more than {_WORDS:,} words")
        return found

    def _expanded(self, word: Word) -> list[str]:
        """What a word stands for: itself, or the paths that fit it."""
        loose = [part for part in word.parts if not part.quoted]
        if any(part.variable and set(self._value(part.text)) & set(" \t\n*?[") for part in loose):
            raise Unsupported("a variable of several words without quotes")
        plain = self._text(Word(tuple(loose)))
        if word.parts and not word.parts[0].quoted and plain.startswith("~"):
            raise Unsupported("~")
        if "{" in plain and "}" in plain and ("," in plain or ".." in plain):
            raise Unsupported("braces for several words")
        text = self._text(word)
        if not text and not any(part.quoted for part in word.parts):
            return []
        if not any(sign in plain for sign in "*?["):
            return [text]
        whole = ((part, self._value(part.text) if part.variable else part.text) for part in word.parts)
        pattern = "".join(_literal(text) if part.quoted else text for part, text in whole)
        return self._disk.matching(pattern, self._cwd) or [text]

    # --- the shell's own -----------------------------------------------------------------------------------

    def _do_cd(self, args: list[str], streams: _Streams) -> int:
        if len(args) != 1 or args[0].startswith("-"):
            raise Unsupported("cd " + " ".join(args)[:40])
        path = self._path(args[0])
        if not self._disk.is_folder(path):
            why = "Not a directory" if self._disk.is_file(path) else "No such file or directory"
            streams.err += f"bash: cd: {args[0]}: {why}\n".encode(errors="replace")
            return 1
        self._cwd = path
        return 0

    def _do_exit(self, args: list[str], streams: _Streams) -> int:
        if args and not (len(args[0]) < 4 and args[0].isascii() and args[0].isdecimal()):
            raise Unsupported("exit " + args[0][:40])
        raise _Exit(int(args[0]) % 256 if args else self._code)

    def _do_set(self, args: list[str], streams: _Streams) -> int:
        if args not in (["-e"], ["+e"]):
            raise Unsupported("set " + " ".join(args)[:40])
        self._strict = args == ["-e"]
        return 0

    def _do_export(self, args: list[str], streams: _Streams) -> int:
        for each in args:
            name, sign, value = each.partition("=")
            if not name.isidentifier():
                raise Unsupported("export " + each[:40])
            if sign:
                self._values[name] = value
            self._exported.add(name)
        return 0

    def _bash(self, args: list[str], values: dict[str, str], streams: _Streams) -> int:
        """A script in a file, or `-c TEXT`. It has a folder of its own, and the variables that are handed to it."""
        if len(args) == 2 and args[0] == "-c":
            text = args[1]
        elif len(args) == 1 and not args[0].startswith("-"):
            path = self._path(args[0])
            if not self._disk.is_file(path):
                streams.err += f"bash: {args[0]}: No such file or directory\n".encode(errors="replace")
                return _ABSENT
            text = self._disk.read(path).decode(errors="replace")
        else:
            raise Unsupported("bash " + " ".join(args)[:40])
        if self._depth >= _DEEPEST:
            raise Unsupported("scripts that call so many scripts")
        inner = self._within(self._depth + 1)
        inner._values, inner._exported = values, set(values)
        inner._code, inner._strict, inner._decides = 0, False, False
        try:
            return inner.text(text, streams)
        except _Exit as over:
            return over.code


_OWN = ("cd", "exit", "set", "export")


def _literal(text: str) -> str:
    """A text in which no sign of a pattern counts."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)
