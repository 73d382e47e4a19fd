"""A command line as what it asks for: commands, their streams, and how they are joined.

Knows the grammar of the part of a shell that there is. Does not know any command. Pure, and total but for
`Unsupported`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from .words import Part, Sign, Token, Unsupported, Word, tokens

_DEEPEST = 20
_WORDS = ("if", "then", "elif", "else", "fi")
_OTHERS = ("for", "while", "until", "case", "function", "select", "do", "done", "esac", "{", "}", "[[", "!", "time")
_STREAMS = (">", ">>", ">|", "<", "<<", "<<-", ">&", "&>", "&>>")

Joint: TypeAlias = Literal[";", "&&", "||"]


class Stream(msgspec.Struct, frozen=True):
    """A redirection: of a number's stream, from or to a file, to another number, or from a text."""

    number: int
    kind: Literal["read", "write", "append", "same", "text"]
    word: Word


class Simple(msgspec.Struct, frozen=True):
    words: tuple[Word, ...] = ()
    sets: tuple[tuple[str, Word], ...] = ()
    streams: tuple[Stream, ...] = ()


class Choice(msgspec.Struct, frozen=True):
    """`if`: the first condition that holds says what is done."""

    cases: tuple[tuple[Script, Script], ...]
    otherwise: Script


class Pipe(msgspec.Struct, frozen=True):
    commands: tuple[Simple | Choice, ...]


class Script(msgspec.Struct, frozen=True):
    """Each with how it hangs together with the one before."""

    parts: tuple[tuple[Joint, Pipe], ...] = ()


def script(line: str) -> Script:
    """Raises Unsupported."""
    reader = _Reader(tokens(line))
    found = reader.script(0)
    if not reader.over:
        raise Unsupported(f"`{reader.shown()}` here")
    return found


class _Reader:
    def __init__(self, given: list[Token]) -> None:
        self._tokens = given
        self._at = 0

    @property
    def over(self) -> bool:
        return self._at >= len(self._tokens)

    def shown(self) -> str:
        token = self._tokens[self._at]
        return token.text.replace("\n", "a new line")[:40]

    def _sign(self) -> str:
        """The sign that is next; empty where it is none."""
        token = None if self.over else self._tokens[self._at]
        return token.text if isinstance(token, Sign) else ""

    def _plain(self) -> str:
        """The word that is next, if nothing in it is quoted."""
        token = None if self.over else self._tokens[self._at]
        return (token.plain or "") if isinstance(token, Word) else ""

    def script(self, depth: int) -> Script:
        if depth > _DEEPEST:
            raise Unsupported("so much within each other")
        parts: list[tuple[Joint, Pipe]] = []
        joint: Joint = ";"
        while True:
            self._skip(";\n" if joint == ";" else "\n")
            if self.over or self._plain() in _WORDS[1:] or self._sign() == ")":
                if joint != ";":
                    raise Unsupported(f"nothing after `{joint}`")
                return Script(tuple(parts))
            parts.append((joint, self._pipe(depth)))
            sign = self._sign()
            if sign in ("&&", "||"):
                joint = "&&" if sign == "&&" else "||"
                self._at += 1
            elif sign in (";", "\n"):
                joint = ";"
                self._at += 1
            else:
                return Script(tuple(parts))

    def _skip(self, signs: str) -> None:
        while self._sign() and self._sign() in signs:
            self._at += 1

    def _pipe(self, depth: int) -> Pipe:
        commands = [self._command(depth)]
        while self._sign() == "|":
            self._at += 1
            self._skip("\n")
            commands.append(self._command(depth))
        return Pipe(tuple(commands))

    def _command(self, depth: int) -> Simple | Choice:
        if self._plain() == "if":
            return self._choice(depth)
        if self._plain() in (*_OTHERS, *_WORDS):
            raise Unsupported(f"`{self._plain()}`")
        return self._simple()

    def _choice(self, depth: int) -> Choice:
        cases: list[tuple[Script, Script]] = []
        while self._plain() in ("if", "elif"):
            self._at += 1
            condition = self.script(depth + 1)
            self._expect("then")
            cases.append((condition, self.script(depth + 1)))
        otherwise = Script()
        if self._plain() == "else":
            self._at += 1
            otherwise = self.script(depth + 1)
        self._expect("fi")
        return Choice(tuple(cases), otherwise)

    def _expect(self, word: str) -> None:
        if self._plain() != word:
            raise Unsupported(f"an `if` without `{word}`")
        self._at += 1

    def _simple(self) -> Simple:
        words: list[Word] = []
        sets: list[tuple[str, Word]] = []
        streams: list[Stream] = []
        while not self.over:
            token = self._tokens[self._at]
            if isinstance(token, Sign):
                if token.text not in _STREAMS:
                    break
                self._at += 1
                streams += self._stream(token)
                continue
            self._at += 1
            assigned = None if words else _assigned(token)
            if assigned:
                sets.append(assigned)
            else:
                words.append(token)
        if not (words or sets or streams):
            raise Unsupported("nothing where a command should be" if self.over else f"`{self.shown()}` here")
        return Simple(tuple(words), tuple(sets), tuple(streams))

    def _stream(self, sign: Sign) -> list[Stream]:
        if sign.document is not None:
            return [Stream(sign.number or 0, "text", sign.document)]
        word = None if self.over else self._tokens[self._at]
        if not isinstance(word, Word):
            raise Unsupported(f"nothing after `{sign.text}`")
        self._at += 1
        if sign.text == "<":
            return [Stream(sign.number or 0, "read", word)]
        number = 1 if sign.number is None else sign.number
        if sign.text == ">&":
            if word.plain not in ("1", "2"):
                raise Unsupported("a stream of this number")
            return [Stream(number, "same", word)]
        kind: Literal["write", "append"] = "append" if sign.text.endswith(">>") else "write"
        both = [Stream(2, "same", _word("1"))] if sign.text.startswith("&") else []
        return [Stream(number, kind, word), *both]


def _word(text: str) -> Word:
    return Word((Part(text),))


def _assigned(word: Word) -> tuple[str, Word] | None:
    """`NAME=value`, if that is what a word is."""
    first = word.parts[0] if word.parts else None
    if first is None or first.quoted or first.variable or "=" not in first.text:
        return None
    name, _, rest = first.text.partition("=")
    if not name.isidentifier() or not name.isascii():
        return None
    return name, Word((msgspec.structs.replace(first, text=rest), *word.parts[1:]))
