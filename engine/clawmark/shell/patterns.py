"""Patterns of `grep`, matched in a time that grows with the text alone.

Knows literal signs, `.`, `^`, `$`, sets, groups, alternatives and `* + ?`. Does not know files. Python's own engine may
take for ever on a pattern that an agent wrote; here a pattern is an automaton (Thompson, 1968), its states made when a
text first comes to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from .words import Unsupported

_LONGEST = 500
"""Characters of a pattern."""
_STATES = 2_000
"""Sets of states that are kept."""
_WORK = 300_000
"""States that are looked at for one pattern."""
_DEEPEST = 50
"""Groups in groups."""
_CLASSES: dict[str, Callable[[str], bool]] = {
    "digit": str.isdecimal,
    "alpha": str.isalpha,
    "alnum": str.isalnum,
    "space": str.isspace,
    "upper": str.isupper,
    "lower": str.islower,
}


class Pattern(Protocol):
    def found(self, line: str) -> bool:
        """Whether it is in a line, anywhere."""
        ...


def pattern(text: str, extended: bool = False, fixed: bool = False, folded: bool = False) -> Pattern:
    """Raises Unsupported. As in grep, lines of a pattern are alternatives only here: one is enough."""
    if len(text) > _LONGEST or "\n" in text:
        raise Unsupported("a pattern of this length")
    if fixed or not set(text) & set(".^$[]*\\+?(){}|"):
        return _Fixed(text.lower() if folded else text, folded)
    return _Automaton(text, extended, folded)


@dataclass(frozen=True)
class _Fixed:
    text: str
    folded: bool

    def found(self, line: str) -> bool:
        return self.text in (line.lower() if self.folded else line)


@dataclass(eq=False)
class _State:
    """Where a match can be: a sign to take, or ways to go without one."""

    takes: Callable[[str], bool] | None = None
    edge: str = ""
    """`^` or `$`."""
    next: list[_State] = field(default_factory=list)


@dataclass
class _Piece:
    """A part of the automaton: where it begins, and where it ends."""

    start: _State
    end: _State


class _Automaton:
    def __init__(self, text: str, extended: bool, folded: bool) -> None:
        self._folded = folded
        piece = _Reader(text.lower() if folded else text, extended).all()
        self._begin, self._over = piece.start, piece.end
        self._known: dict[tuple[frozenset[_State], str], frozenset[_State]] = {}
        self._left = _WORK

    def found(self, line: str) -> bool:
        text = line.lower() if self._folded else line
        now = self._open([self._begin], first=True, last=not text)
        for place, sign in enumerate(text):
            if self._done(now):
                return True
            last = place + 1 == len(text)
            key = (now, sign + ("$" if last else ""))
            if key not in self._known:
                if len(self._known) > _STATES:
                    self._known.clear()
                self._known[key] = self._open([*self._taken(now, sign), self._begin], first=False, last=last)
            now = self._known[key]
        return self._done(now)

    def _taken(self, states: frozenset[_State], sign: str) -> list[_State]:
        return [each for state in states if state.takes and state.takes(sign) for each in state.next]

    def _done(self, states: frozenset[_State]) -> bool:
        return self._over in states

    def _open(self, states: list[_State], first: bool, last: bool) -> frozenset[_State]:
        """All states that are reached without taking a sign."""
        found: set[_State] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            self._left -= 1
            if state in found or (state.edge == "^" and not first) or (state.edge == "$" and not last):
                continue
            found.add(state)
            if state.takes is None:
                waiting += state.next
        if self._left < 0:
            raise Unsupported("a pattern that takes so long")
        return frozenset(found)


class _Reader:
    """Reads a pattern, basic or extended. A basic one has a backslash before the signs `+ ? | ( )`."""

    def __init__(self, text: str, extended: bool) -> None:
        self._text, self._extended = text, extended
        self._at = self._depth = 0

    def all(self) -> _Piece:
        found = self._either()
        if self._at < len(self._text):
            raise Unsupported(f"the pattern {self._text[:40]}")
        return found

    def _sign(self, wanted: str) -> bool:
        """Whether an operator is next, which is then passed."""
        written = wanted if self._extended or wanted == "*" else "\\" + wanted
        if not self._text.startswith(written, self._at):
            return False
        self._at += len(written)
        return True

    def _seen(self, wanted: str) -> bool:
        before = self._at
        found = self._sign(wanted)
        self._at = before
        return found

    def _either(self) -> _Piece:
        choices = [self._sequence()]
        while self._sign("|"):
            choices.append(self._sequence())
        if len(choices) == 1:
            return choices[0]
        end = _State()
        for each in choices:
            each.end.next.append(end)
        return _Piece(_State(next=[each.start for each in choices]), end)

    def _sequence(self) -> _Piece:
        start = end = _State()
        while self._at < len(self._text) and not self._seen("|") and not self._seen(")"):
            piece = self._repeated(first=end is start)
            end.next.append(piece.start)
            end = piece.end
        return _Piece(start, end)

    def _repeated(self, first: bool) -> _Piece:
        piece = self._one(first)
        while self._at < len(self._text):
            if self._sign("*"):
                piece = _again(piece, none=True, more=True)
            elif self._sign("+"):
                piece = _again(piece, none=False, more=True)
            elif self._sign("?"):
                piece = _again(piece, none=True, more=False)
            elif self._seen("{"):
                raise Unsupported(f"the pattern {self._text[:40]}")
            else:
                break
        return piece

    def _one(self, first: bool) -> _Piece:
        if self._sign("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise Unsupported("a pattern of this depth")
            piece = self._either()
            if not self._sign(")"):
                raise Unsupported(f"the pattern {self._text[:40]}")
            self._depth -= 1
            return piece
        sign, self._at = self._text[self._at], self._at + 1
        if sign == "[":
            return _taking(self._set())
        if sign == ".":
            return _taking(lambda given: True)
        if sign == "^" and (first or self._extended):
            return _edge("^")
        if sign == "$" and (self._extended or self._at == len(self._text) or self._seen(")") or self._seen("|")):
            return _edge("$")
        if sign == "\\":
            sign, self._at = self._text[self._at : self._at + 1], self._at + 1
            if not sign or sign.isalnum() or sign in "<>'`":
                raise Unsupported(f"the pattern {self._text[:40]}")
        elif self._extended and sign in "*+?{":
            raise Unsupported(f"the pattern {self._text[:40]}")
        return _taking(lambda given, sign=sign: given == sign)  # type: ignore[misc]

    def _set(self) -> Callable[[str], bool]:
        no = self._text.startswith("^", self._at)
        self._at += no
        signs: list[tuple[str, str]] = []
        classes: list[Callable[[str], bool]] = []
        first = True
        while first or not self._text.startswith("]", self._at):
            first = False
            sign, self._at = self._text[self._at : self._at + 1], self._at + 1
            if not sign:
                raise Unsupported(f"the pattern {self._text[:40]}")
            if sign == "[" and self._text[self._at : self._at + 1] in (":", ".", "="):
                end = self._text.find(":]", self._at)
                name = self._text[self._at + 1 : end] if end > 0 else ""
                if name not in _CLASSES:
                    raise Unsupported(f"the pattern {self._text[:40]}")
                classes.append(_CLASSES[name])
                self._at = end + 2
            elif self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in (
                "",
                "]",
            ):
                signs.append((sign, self._text[self._at + 1]))
                self._at += 2
            else:
                signs.append((sign, sign))
        self._at += 1
        return lambda given: no != (any(a <= given <= b for a, b in signs) or any(each(given) for each in classes))


def _taking(takes: Callable[[str], bool]) -> _Piece:
    end = _State()
    return _Piece(_State(takes=takes, next=[end]), end)


def _edge(sign: str) -> _Piece:
    state = _State(edge=sign)
    return _Piece(state, state)


def _again(piece: _Piece, none: bool, more: bool) -> _Piece:
    """A piece any number of times: perhaps never, perhaps more than once."""
    end = _State()
    start = _State(next=[piece.start, *([end] if none else [])])
    piece.end.next += [*([piece.start] if more else []), end]
    return _Piece(start, end)
