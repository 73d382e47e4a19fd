"""Texts with signs in them: what in a text is meant literally, and what stands for a value.

Knows the signs `$`, `@` and `=`, how they are doubled, and how such a text is written. Does not know any value, nor
which sign may stand where (`facts`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

import msgspec

from .document import Path, name
from .expressions import ExpressionError, Node, parse, reference, write


class FactError(ValueError):
    """A reference that leads nowhere, or a text with a sign in it that is not understood. `path` says where it is."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(f"{name(path)}: {message}" if path else message)
        self.message = message
        self.path = path


class Hole(msgspec.Struct, frozen=True):
    """A value within a text: `${…}` or `@{…}`."""

    sign: str
    node: Node


class Whole(msgspec.Struct, frozen=True):
    """A text that is nothing but a value: `$…`, `@…` or `=…`."""

    node: Node


Pieces: TypeAlias = tuple[str | Hole, ...]

_OPENING = re.compile(r"(\$+|@+)\{")
_RUN = re.compile(r"\$+|@+|=")
_ENDING = re.compile(r"[{}]|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


@lru_cache(maxsize=8192)
def read(text: str) -> Whole | Pieces:
    """What a text with signs in it stands for. Raises `FactError`."""
    start = _RUN.match(text)
    if start is None:
        return _pieces(text)
    run, after = start[0], text[start.end() : start.end() + 1]
    if run == "=":
        return _pieces(text[1:], False) if after == "=" else Whole(parsed(text[1:]))
    if after == "{":
        return _pieces(text)
    if len(run) > 1:
        return _pieces(text[1:])
    return Whole(_path(text, text))


def _pieces(text: str, opening: bool = True) -> Pieces:
    pieces: list[str | Hole] = []
    plain, position = "", 0
    while match := _OPENING.search(text, position):
        sign, count = match[1][0], len(match[1])
        plain += text[position : match.start()] + sign * (count // 2)
        position = match.end()
        if count % 2 == 0:
            plain += "{"
            continue
        end = _closing(text, position)
        inside = text[position:end]
        node = parsed(inside[1:]) if inside.startswith("=") else _path(sign + inside, f"{sign}{{{inside}}}")
        pieces += [plain, Hole(sign, node)] if plain else [Hole(sign, node)]
        plain, position = "", end + 1
    plain += text[position:]
    return (*pieces, plain) if plain else tuple(pieces)


def _closing(text: str, position: int) -> int:
    """Where the bracket that is open at `position` closes; brackets and quotes inside count."""
    depth = 1
    for match in _ENDING.finditer(text, position):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    raise FactError(f"{text[max(0, position - 2) : position + 20]!r} is never closed by a bracket.")


def parsed(text: str) -> Node:
    try:
        return parse(text)
    except ExpressionError as error:
        raise FactError(f"in {shown(text)}, character {error.position + 1}: {error.message}") from None


def _path(text: str, whole: str) -> Node:
    """A reference that is only a name and what follows it."""
    try:
        node = parse(text)
    except ExpressionError:
        node = None
    if node is not None and reference(node) is not None:
        return node
    sign = text[0]
    raise FactError(
        f"{shown(whole)} is not a reference; within a text write {sign}{{name}}, and for the sign itself {sign}{sign}."
    )


def shown(text: str) -> str:
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}…`"


def unread(pieces: Pieces) -> str:
    """The text that reads as these pieces."""
    text = ""
    for number, piece in enumerate(pieces):
        if isinstance(piece, Hole):
            inner = write(piece.node)
            text += f"{piece.sign}{{{inner[1:] if is_path(piece.node, piece.sign) else '=' + inner}}}"
            continue
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        sign = following.sign if isinstance(following, Hole) else None
        text += _doubled(piece, number == 0, sign)
    return text


def is_path(node: Node, sign: str) -> bool:
    """Whether an expression is no more than a name with this sign and what follows it."""
    found = reference(node)
    return found is not None and found.name.startswith(sign)


def _doubled(plain: str, start: bool, hole: str | None) -> str:
    """A literal part of a text with its signs doubled; `hole` is the sign of a value that follows at once."""
    text = _OPENING.sub(lambda match: match[1] * 2 + "{", plain)
    if hole is not None:
        run = len(text) - len(text.rstrip(hole))
        text += hole * run
        if start and run == len(plain):
            return text
    if start and (first := _RUN.match(plain)) and not (plain[first.end() :].startswith("{") and first[0] != "="):
        text = first[0][0] + text
    return text


def literal(text: str) -> str:
    """How a text is written where references are read: with its signs doubled."""
    return unread((text,))
