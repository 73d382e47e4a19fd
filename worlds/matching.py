"""Typed values: when two are the same, and when a text mentions one.

Knows values as JSON has them. Does not know environments, or why a value is looked for.

`same` compares fields: numbers by value (165 is 165.00), also with a text that is nothing but a JSON number; ISO dates
with times, and times, by what they mean (`09:00` is `09:00:00`, and where both have an offset the instant counts);
every other text exactly, ids and case included; booleans only with booleans. It is reflexive and symmetric, and
deliberately not transitive: 165 is the text `165` and the text `165.00`, which as texts differ.

`mentions` looks into prose: a number, date or time in any of the `notations`; any other text as a phrase of whole
words, whatever its case and spacing. In scripts without spaces every place is between words. In an id a hyphen or
underscore belongs to it: `O-55` is not in `O-55-2`. A list or an object is mentioned if all its values are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from ..events.event import Json
from .notations import Reading, as_read, fold, is_word
from .patterns import looks_like

__all__ = ["Needle", "Reading", "as_read", "equal_to", "identity", "leaves", "looks_like", "mentions", "needle", "same"]

Needle: TypeAlias = Callable[[Reading], bool]

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")
_DATETIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)


def same(a: Json, b: Json) -> bool:
    """Whether two field values are the same value."""
    return equal_to(a)(b)


def equal_to(value: Json) -> Callable[[Json], bool]:
    """`same` with its first argument given: what can be read from it is read once."""
    if value is None or isinstance(value, bool):
        return lambda other: other is value
    if isinstance(value, int | Decimal):
        return lambda other: value == _as_number(other)
    if isinstance(value, str):
        return _equal_to_text(value)
    if isinstance(value, dict):
        members = {key: equal_to(item) for key, item in value.items()}
        return lambda other: (
            isinstance(other, dict)
            and other.keys() == members.keys()
            and all(equal(other[key]) for key, equal in members.items())
        )
    items = [equal_to(item) for item in value]
    return lambda other: (
        isinstance(other, list | tuple)
        and len(other) == len(items)
        and all(equal(item) for equal, item in zip(items, other, strict=True))
    )


def _equal_to_text(value: str) -> Callable[[Json], bool]:
    number, moment = _as_number(value), _moment(value)

    def equal(other: Json) -> bool:
        if isinstance(other, str):
            return other == value or (moment is not None and moment == _moment(other))
        return (
            number is not None and not isinstance(other, bool) and isinstance(other, int | Decimal) and other == number
        )

    return equal


def _as_number(value: Json) -> int | Decimal | None:
    if isinstance(value, str):
        return Decimal(value) if _NUMBER.fullmatch(value) else None
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _moment(text: str) -> datetime | int | None:
    """What an ISO date with a time, or a time (seconds of the day), means."""
    time = _TIME.fullmatch(text)
    if time:
        return (int(time[1]) * 60 + int(time[2])) * 60 + int(time[3] or 0)
    if _DATETIME.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    return None


def identity(value: Json) -> Hashable:
    """A key that is equal for all values that are the same as one another (and so for `165` and `165.00`, as texts)."""
    number = _as_number(value)
    if number is not None:
        return number
    if isinstance(value, str):
        moment = _moment(value)
        return value if moment is None else ("moment", moment)
    if isinstance(value, dict):
        return ("object", *((key, identity(value[key])) for key in sorted(value)))
    if isinstance(value, list | tuple):
        return ("list", *map(identity, value))
    return ("constant", str(value))


def mentions(text: str, value: Json) -> bool:
    """Whether the text mentions the value."""
    return needle(value)(Reading(text))


def needle(value: Json) -> Needle:
    """`mentions` for one value and many texts: what can be read from the value is read once."""
    if value is None:
        return _nowhere
    if isinstance(value, bool):
        return _phrase("true" if value else "false")
    if isinstance(value, int | Decimal):
        return lambda reading: value in reading.numbers
    if isinstance(value, str):
        return _text_needle(value)
    needles = [needle(item) for item in (value.values() if isinstance(value, dict) else value)]
    return lambda reading: bool(needles) and all(found(reading) for found in needles)


def _nowhere(reading: Reading) -> bool:
    return False


def _text_needle(value: str) -> Needle:
    if _NUMBER.fullmatch(value):
        number, digits = Decimal(value), _phrase(value)
        return lambda reading: number in reading.numbers or digits(reading)
    if _TIME.fullmatch(value):
        seconds = _moment(value)
        assert isinstance(seconds, int)
        return lambda reading: reading.says_time(seconds)
    try:
        if _DATE.fullmatch(value):
            day = date.fromisoformat(value)
            return lambda reading: reading.says_date(day.year, day.month, day.day)
        if _DATETIME.fullmatch(value):
            return _moment_needle(datetime.fromisoformat(value))
    except ValueError:
        pass  # 2026-02-30 is a text like any other
    return _phrase(value)


def _moment_needle(moment: datetime) -> Needle:
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return lambda reading: reading.says_date(moment.year, moment.month, moment.day) and reading.says_time(seconds)


def _phrase(value: str) -> Needle:
    phrase = fold(value)
    if not phrase:
        return _nowhere
    binds = "-_." if "@" in phrase else "-_" if any(map(str.isdigit, phrase)) else "_"

    def found(reading: Reading) -> bool:
        text = reading.text
        start = text.find(phrase)
        while start >= 0:
            end = start + len(phrase)
            if _is_edge(text, start - 1, -1, phrase[0], binds) and _is_edge(text, end, 1, phrase[-1], binds):
                return True
            start = text.find(phrase, start + 1)
        return False

    return found


def _is_edge(text: str, at: int, step: int, inside: str, binds: str) -> bool:
    """Whether the character at `at`, just outside of a find, does not belong to the same word or id."""
    if not 0 <= at < len(text) or not is_word(inside):
        return True
    if is_word(text[at]):
        return False
    beyond = at + step
    return not (text[at] in binds and 0 <= beyond < len(text) and is_word(text[beyond]))


def leaves(value: Json) -> Iterator[Json]:
    """All values in a value that are no list or object, in order."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value
