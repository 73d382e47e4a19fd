"""Slips of the pen: which of the known words somebody meant.

Knows words. Does not know what they name, nor how the question is put, beyond the end of a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The most similar of `words`, if one is similar enough to have been meant; their order does not matter."""
    found = get_close_matches(word, list(words), 1, 0.6)
    return found[0] if found else None


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """The end of a sentence about an unknown word."""
    near = nearest(word, words)
    return f"; did you mean {near}?" if near else "."
