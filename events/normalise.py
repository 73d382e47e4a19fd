"""The edge: what comes from outside passes here once, before it can become part of an event.

Knows what JSON can carry without loss and without depending on the machine. Does not know what a value means.
Models emit lone surrogates and NaN, libraries hand out sets and tuples; afterwards there are only null, booleans,
integers, `Decimal`s, strings, lists and objects with string keys, no deeper than 64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from .errors import NotJson
from .event import Json

DEPTH = 64
"""Lists and objects inside each other."""

DIGITS = 400
"""Digits that a number may have before or after its point: more than any `float`, and cheap to calculate with."""

_WORD = re.compile(r"\w+")
_INTEGER = re.compile(r"-?\d+")
_SMALL = 1 << 64
_LIMIT = 10**DIGITS

_Path: TypeAlias = "tuple[_Path, str | int] | None"


def normalise(value: object) -> tuple[Json, tuple[str, ...]]:
    """`value` as an event may hold it, and a sentence for each thing that could not be kept as it was.

    Fractions become `Decimal` with the digits that Python prints; tuples become lists; a lone surrogate becomes U+FFFD.
    Raises NotJson, with the path, for NaN, infinities, numbers of more than 400 digits, sets, bytes, keys that are no
    strings, other types, and values deeper than 64.
    """
    notes: list[str] = []
    return _normal(value, None, 0, notes), tuple(notes)


def _normal(value: Any, path: _Path, depth: int, notes: list[str]) -> Json:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value, path, notes)
    if kind is dict:
        return _object(value, path, _deeper(depth, path), notes)
    if kind is int:
        return value if -_SMALL < value < _SMALL else _integer(value, path)
    if value is None or kind is bool:
        return value
    if isinstance(value, (list, tuple)):
        depth = _deeper(depth, path)
        return [_normal(item, (path, index), depth, notes) for index, item in enumerate(value)]
    return _seldom(value, path, depth, notes)


def _seldom(value: Any, path: _Path, depth: int, notes: list[str]) -> Json:
    """Fractions, and subclasses of what JSON has, which become plain."""
    if isinstance(value, float):
        return _number(Decimal(float.__repr__(value)), path)
    if isinstance(value, Decimal):
        return _number(value, path)
    if isinstance(value, int):
        return _integer(int(value), path)
    if isinstance(value, str):
        return _text(str.__str__(value), path, notes)
    if isinstance(value, (dict, MappingProxyType)):
        return _object(value, path, _deeper(depth, path), notes)
    raise _refused(path, f"is a {type(value).__name__}, which JSON does not have")


def _object(value: Mapping[Any, Any], path: _Path, depth: int, notes: list[str]) -> Json:
    result: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _refused(path, f"has the key {key!r:.80}, which is not a string")
        name = key if type(key) is str and key.isascii() else _text(str.__str__(key), path, notes)
        if name in result:
            notes.append(f"{_spell(path)}: two keys became {name!r}; the later one was kept")
        result[name] = _normal(item, (path, name), depth, notes)
    return result


def _deeper(depth: int, path: _Path) -> int:
    if depth >= DEPTH:
        raise _refused(path, f"is deeper than {DEPTH} lists and objects inside each other")
    return depth + 1


def _text(text: str, path: _Path, notes: list[str]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        notes.append(f"{_spell(path)}: characters that are not text (lone surrogates) became U+FFFD")
        # Through UTF-16, so that two halves which belong together become the character that they mean.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _integer(number: int, path: _Path) -> int:
    if -_LIMIT < number < _LIMIT:
        return number
    raise _refused(path, f"is an integer of more than {DIGITS} digits")


def _number(number: Decimal, path: _Path) -> Json:
    if not number.is_finite():
        raise _refused(path, f"is {number}, which JSON does not have; use null, or leave it out")
    _, digits, exponent = number.as_tuple()
    if len(digits) > DIGITS or not -DIGITS <= int(exponent) <= DIGITS or not -DIGITS <= number.adjusted() < DIGITS:
        raise _refused(path, f"is a number of more than {DIGITS} digits")
    # Without a point it would be read back as an integer, so it is one from the start.
    text = str(number)
    return int(text) if _INTEGER.fullmatch(text) else Decimal(number)


def _refused(path: _Path, what: str) -> NotJson:
    spelled = _spell(path)
    return NotJson(f"{spelled} {what}", path=spelled)


def _spell(path: _Path) -> str:
    parts: list[str] = []
    while path is not None:
        path, step = path
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _WORD.fullmatch(step):
            parts.append(f".{step}")
        else:
            parts.append(f"[{step!r:.80}]")
    return "$" + "".join(reversed(parts))
