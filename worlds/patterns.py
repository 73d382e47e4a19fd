"""Patterns of ids in texts: `#` is a run of digits, `*` a run of letters or digits, `x?` an optional `x`.

Knows the notation and how to find it. Does not know what is looked for, or why. A pattern comes from a file and the
text from an agent, so nothing here is handed to `re`: all readings of a pattern are followed at once, one step a
character, and no text or pattern can make that slow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .notations import fold, is_wide, is_word

LONGEST = 200
_RUN = "\ue000"
"""Stands for `*` while a pattern is folded: in texts, stars are marks of emphasis."""


class PatternError(ValueError):
    """A pattern that cannot be read."""


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _is_letter_or_digit(char: str) -> bool:
    return char.isalnum()


class Pattern:
    """A pattern, compiled: place `i` has a class of characters, and the places that may come after it."""

    __slots__ = ("_classes", "_ends", "_follow", "_literal", "_starts")

    def __init__(self, pattern: str) -> None:
        folded = fold(pattern.replace("*", _RUN)).replace(_RUN, "*")
        if not folded or len(folded) > LONGEST:
            raise PatternError(f"A pattern has 1 to {LONGEST} characters; this one has {len(folded)}.")
        self._classes: list[str] = []
        optional: list[bool] = []
        for char in folded:
            if char == "?":
                if not optional or optional[-1]:
                    raise PatternError(f"The `?` in {pattern!r} has nothing before it that it could make optional.")
                optional[-1] = True
            else:
                self._classes.append(char)
                optional.append(False)
        if all(optional):
            raise PatternError(f"{pattern!r} is found in every text, because all of it is optional.")
        self._starts = _reach(0, optional)
        self._ends = [all(optional[place + 1 :]) for place in range(len(optional))]
        self._follow = [
            [*([place] if char in "#*" else []), *_reach(place + 1, optional)]
            for place, char in enumerate(self._classes)
        ]
        required = "".join(" " if flag or c in "#*" else c for c, flag in zip(self._classes, optional, strict=True))
        self._literal = max(required.split(), key=len, default="")

    def found_in(self, folded: str) -> bool:
        """Whether a folded text has it as whole words."""
        if self._literal not in folded:
            return False
        if " " in self._classes:
            return self._search(folded)
        return any(self._literal in word and self._search(word) for word in folded.split(" "))

    def _search(self, text: str) -> bool:
        accepts = [_class(char) for char in self._classes]
        active: set[int] = set()
        previous = " "
        for char in text:
            if self._finished(active, previous, char):
                return True
            places = {follower for place in active for follower in self._follow[place]}
            if not _joined(previous, char):
                places.update(self._starts)
            active = {place for place in places if accepts[place](char)}
            previous = char
        return self._finished(active, previous, " ")

    def _finished(self, active: set[int], last: str, following: str) -> bool:
        return not _joined(last, following) and any(self._ends[place] for place in active)


def _reach(first: int, optional: list[bool]) -> list[int]:
    """The places that can come next, from `first` on: it, and those behind optional ones."""
    places = []
    for place in range(first, len(optional)):
        places.append(place)
        if not optional[place]:
            break
    return places


def _class(char: str) -> Callable[[str], bool]:
    if char == "#":
        return _is_digit
    return _is_letter_or_digit if char == "*" else char.__eq__


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours are inside one word."""
    return is_word(left) and is_word(right) and not is_wide(left)


@lru_cache(maxsize=256)
def pattern(text: str) -> Pattern:
    """The compiled pattern. Raises `PatternError`."""
    return Pattern(text)


def looks_like(text: str, wanted: str) -> bool:
    """Whether something in the text has the form of the pattern. Raises `PatternError`."""
    return pattern(wanted).found_in(fold(text))
