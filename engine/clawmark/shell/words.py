"""A command line cut into words and signs, as a POSIX shell cuts it.

Knows quotes, escapes, variables, comments and here-documents. Does not know what a command is. What a shell would do
and this one does not (substitution of commands, arithmetic, background) is `Unsupported`, never done half.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

_LONGEST = 1 << 20
"""Characters of a command line."""
_SIGNS = (
    "&>>",
    "<<-",
    "<<<",
    "&&",
    "||",
    ">>",
    "<<",
    ">&",
    "<&",
    "&>",
    ">|",
    ";;",
    "\n",
    ";",
    "|",
    "&",
    "(",
    ")",
    "<",
    ">",
)
_ENDS = " \t\n;|&()<>"
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_ESCAPED = {'"': '"\\$`', "<<": "\\$`"}
"""What a backslash takes the meaning of, within double quotes and here-documents."""


class Unsupported(Exception):
    """What is asked is no part of this shell, in a few words."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Part(msgspec.Struct, frozen=True):
    """A piece of a word: a text, or the name of a variable."""

    text: str
    quoted: bool = False
    variable: bool = False


class Word(msgspec.Struct, frozen=True):
    parts: tuple[Part, ...]

    @property
    def plain(self) -> str | None:
        """Its text, where nothing in it is quoted or a variable."""
        return None if any(part.quoted or part.variable for part in self.parts) else self.text

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class Sign(msgspec.Struct, frozen=True):
    """An operator. `number` is that of the stream where a redirection names one; `document` what belongs to `<<`."""

    text: str
    number: int | None = None
    document: Word | None = None


Token: TypeAlias = Word | Sign


def tokens(line: str) -> list[Token]:
    """Raises Unsupported."""
    if len(line) > _LONGEST:
        raise Unsupported("a command line of this length")
    return _Cutter(line).cut()


class _Cutter:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._found: list[Token] = []
        self._awaited: list[tuple[int, str, bool, bool]] = []
        """Here-documents that begin on the next line: place of their sign, tag, without tabs, as they are."""

    def cut(self) -> list[Token]:
        while self._blank():
            if not self._sign():
                self._word()
        self._documents()
        return self._found

    def _next(self, ahead: int = 0) -> str:
        return self._line[self._at + ahead : self._at + ahead + 1]

    def _blank(self) -> bool:
        """Skip to what is next; whether there is anything."""
        while self._next():
            if self._next() in " \t\r":
                self._at += 1
            elif self._line.startswith("\\\n", self._at):
                self._at += 2
            elif self._next() == "#":
                self._at = _found_or_end(self._line, "\n", self._at)
            else:
                return True
        return False

    def _sign(self, number: int | None = None) -> bool:
        text = next((sign for sign in _SIGNS if self._line.startswith(sign, self._at)), None)
        if text is None:
            return False
        self._at += len(text)
        self._found.append(Sign(text, number))
        if text in ("<<", "<<-"):
            self._tag(text == "<<-")
        if text == "\n":
            self._documents()
        return True

    def _word(self) -> None:
        parts: list[Part] = []
        while self._next() and self._next() not in _ENDS:
            parts += self._piece()
        word = Word(tuple(parts))
        plain = word.plain
        if plain is not None and plain.isdecimal() and plain.isascii() and self._next() in ("<", ">") and self._next():
            self._sign(int(plain[:3]))
            return
        self._found.append(word)

    def _piece(self) -> list[Part]:
        sign = self._next()
        if sign == "'":
            end = self._line.find("'", self._at + 1)
            text, self._at = self._line[self._at + 1 : end], end + 1
            if end < 0:
                raise Unsupported("a quote that does not end")
            return [Part(text, quoted=True)]
        if sign == '"':
            self._at += 1
            return self._quoted()
        if sign == "\\":
            text, self._at = self._next(1), self._at + 2
            return [] if text == "\n" else [Part(text, quoted=True)]
        if sign in "$`":
            return [self._variable(quoted=False)]
        start = self._at
        while self._next() and self._next() not in _ENDS + "'\"\\$`":
            self._at += 1
        return [Part(self._line[start : self._at])]

    def _quoted(self) -> list[Part]:
        parts = [Part("", quoted=True)]
        while self._next() != '"':
            if not self._next():
                raise Unsupported("a quote that does not end")
            parts += self._piece_within('"')
        self._at += 1
        return parts

    def _piece_within(self, kind: str) -> list[Part]:
        sign = self._next()
        if sign == "\\" and self._next(1) == "\n":
            self._at += 2
            return []
        if sign == "\\" and self._next(1) and self._next(1) in _ESCAPED[kind]:
            self._at += 2
            return [Part(self._line[self._at - 1], quoted=True)]
        if sign in "$`":
            return [self._variable(quoted=True)]
        start = self._at
        self._at += 1
        while self._next() and self._next() not in '\\$`"':
            self._at += 1
        return [Part(self._line[start : self._at], quoted=True)]

    def _variable(self, quoted: bool) -> Part:
        """What stands at a `$`."""
        if self._next() == "`" or self._next(1) == "(":
            raise Unsupported("a command within a command")
        self._at += 1
        if self._next() == "?":
            self._at += 1
            return Part("?", quoted, variable=True)
        braces = self._next() == "{"
        start = self._at + braces
        end = start
        while self._line[end : end + 1] and self._line[end] in _NAME + "0123456789":
            end += 1
        name = self._line[start:end]
        if not braces and not name and (not self._next() or self._next() in _ENDS + '"%/.,:'):
            return Part("$", quoted=True)
        if not name or name[0] not in _NAME or (braces and self._line[end : end + 1] != "}"):
            raise Unsupported(f"the variable {self._line[self._at - 1 : end + 1]}")
        self._at = end + braces
        return Part(name, quoted, variable=True)

    def _tag(self, tabs: bool) -> None:
        if not self._blank() or self._next() in _ENDS:
            raise Unsupported("a here-document without its end")
        parts: list[Part] = []
        while self._next() and self._next() not in _ENDS:
            parts += self._piece()
        as_it_is = any(part.quoted for part in parts)
        self._awaited.append((len(self._found) - 1, Word(tuple(parts)).text, tabs, as_it_is))

    def _documents(self) -> None:
        for place, tag, tabs, as_it_is in self._awaited:
            lines = []
            while self._at < len(self._line):
                end = _found_or_end(self._line, "\n", self._at)
                line, self._at = self._line[self._at : end], end + 1
                line = line.lstrip("\t") if tabs else line
                if line == tag:
                    break
                lines.append(line + "\n")
            text = "".join(lines)
            word = Word((Part(text, quoted=True),)) if as_it_is else _filled(text)
            sign = self._found[place]
            self._found[place] = msgspec.structs.replace(sign, document=word)
        self._awaited = []


def _filled(text: str) -> Word:
    """A here-document in which variables count."""
    cutter = _Cutter(text)
    parts: list[Part] = []
    while cutter._next():
        parts += cutter._piece_within("<<")
    return Word(tuple(parts))


def _found_or_end(text: str, sign: str, start: int) -> int:
    found = text.find(sign, start)
    return len(text) if found < 0 else found
