"""Values that tell something: numbers, dates, times, ids, addresses and names that hardly coincide by chance.

Knows how such values look, alone and in prose. Does not know environments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from ....events.event import Json

_ADDRESS = r"[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?"
_ID = r"(?=[A-Za-z0-9_-]*[0-9])[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*"
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"

_NAMED = re.compile(f"{_ADDRESS}|{_MOMENT}|{_TIME}|{_ID}", re.ASCII)
_WHOLE_NUMBER = re.compile(_NUMBER, re.ASCII)
_IN_PROSE = re.compile(rf"(?<![A-Za-z0-9_])(?:{_ADDRESS}|{_MOMENT}|{_TIME}|{_ID}|{_NUMBER})(?![A-Za-z0-9_])", re.ASCII)

_SAMPLE = re.compile(r"such as [^\s,;]+")


def is_telling(value: Json) -> bool:
    """Whether a value is a number of two significant digits, a date, a time, an id, an address or a full name."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | Decimal):
        return digits(value) >= 2
    if not isinstance(value, str):
        return False
    if _WHOLE_NUMBER.fullmatch(value):
        return digits(Decimal(value)) >= 2
    return is_naming(value)


def is_naming(value: Json) -> bool:
    """Whether a value is a text that names one thing or moment: a date, a time, an id, an address or a full name."""
    return isinstance(value, str) and (_NAMED.fullmatch(value) is not None or _is_full_name(value))


def digits(number: int | Decimal) -> int:
    """How many significant digits a number has: 1 in 40, 2 in 2.5, 4 in 247.50."""
    return len("".join(map(str, Decimal(number).as_tuple().digits)).strip("0"))


def told_in(prose: str) -> Iterator[str]:
    """The telling values in a text, as they stand there; names of people are not recognised in prose."""
    for match in _IN_PROSE.finditer(prose):
        if is_telling(match[0]):
            yield match[0]


def without_samples(text: str) -> str:
    """A description without the samples in it (`a date such as 2026-03-13`), which say nothing of this world."""
    return _SAMPLE.sub("", text)


def _is_full_name(text: str) -> bool:
    words = text.split(" ")
    return 2 <= len(words) <= 4 and all(word[:1].isupper() and word.replace("-", "").isalpha() for word in words)
