"""The types a field can have: which values they accept, how a search compares them, how an agent is told of them.

Knows single values. Does not know records, tools or errors. Values are taken strictly: a number written as a text is
not a number. Searching is kinder: a text is found by any part of it, a time by its day, a list by what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import TypeAlias

from ...events.event import Json
from ..environment import Field
from ..matching import equal_to

Test: TypeAlias = Callable[[Json], bool]

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d(:\d\d)?", re.ASCII)
_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_WORD = 2**63
_ID = re.compile(r"[A-Za-z]{1,8}[-_]?\d+", re.ASCII)


# --- which values a field accepts --------------------------------------------------------------------------


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_filled(value: Json) -> bool:
    return isinstance(value, str) and value != ""


def _is_integer(value: Json) -> bool:
    return type(value) is int and -_WORD <= value < _WORD


def is_number(value: Json) -> bool:
    return _is_integer(value) or (type(value) is Decimal and value.is_finite())


def _is_boolean(value: Json) -> bool:
    return isinstance(value, bool)


def _parses(pattern: re.Pattern[str], read: Callable[[str], object]) -> Test:
    """A test for texts of this form that `read` takes: 2026-02-30 has the form of a date and is none."""

    def test(value: Json) -> bool:
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            return False
        try:
            read(value)
        except ValueError:
            return False
        return True

    return test


is_date = _parses(_DATE, date.fromisoformat)
_is_time = _parses(_TIME, time.fromisoformat)
_is_datetime = _parses(_DATETIME, datetime.fromisoformat)


def _is_email(value: Json) -> bool:
    return isinstance(value, str) and _EMAIL.fullmatch(value) is not None


def _is_list(value: Json) -> bool:
    return isinstance(value, list | tuple)


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


def _is_anything(value: Json) -> bool:
    return True


_ACCEPTS: Mapping[str, Test] = {
    "text": _is_text,
    "id": _is_filled,
    "integer": _is_integer,
    "number": is_number,
    "boolean": _is_boolean,
    "date": is_date,
    "time": _is_time,
    "datetime": _is_datetime,
    "email": _is_email,
    "list": _is_list,
    "object": _is_object,
    "any": _is_anything,
}

_EXPECTED: Mapping[str, str] = {
    "text": "a text",
    "id": "an id (a text that is not empty)",
    "integer": "a whole number without quotes, such as 3",
    "number": "a number without quotes, such as 165 or 164.99",
    "boolean": "true or false, without quotes",
    "date": 'a date such as "2026-03-13"',
    "time": 'a time of day such as "16:00"',
    "datetime": 'a date and time such as "2026-03-13T16:00"',
    "email": 'an e-mail address such as "kim@example.com"',
    "list": "a list",
    "object": "an object",
    "any": "any value",
}


def accepts(field: Field) -> Test:
    """Whether a value may stand in `field`. Null is the caller's matter."""
    if field.type == "choice":
        allowed = frozenset(field.of)
        return lambda value: isinstance(value, str) and value in allowed
    if field.type == "text" and field.required:
        return _is_filled
    return _ACCEPTS[field.type]


def expected(field: Field) -> str:
    """What `field` accepts, as a noun phrase."""
    if field.type == "choice":
        return "one of " + ", ".join(f'"{choice}"' for choice in field.of)
    if field.type == "text" and field.required:
        return "a text that is not empty"
    return _EXPECTED[field.type]


def shown(value: Json) -> str:
    """A value as a noun phrase for an error, cut to a readable length."""
    if isinstance(value, str):
        return f'the text "{value if len(value) <= 60 else value[:60] + "…"}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal) or _is_integer(value):
        return f"the number {str(value)[:40]}"
    if isinstance(value, float):
        return f"{value}, a float; use Decimal"
    if isinstance(value, list | tuple | dict):
        return "an object" if isinstance(value, dict) else "a list"
    return "a number that large"


# --- what a write changes, and what a search compares -----------------------------------------------------------


def identical(a: Json, b: Json) -> bool:
    """Whether writing `b` over `a` changes nothing: numbers count by value, everything else as it is written."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(identical(value, b[name]) for name, value in a.items())
    return bool(a == b)


def _contains_text(wanted: Json) -> Test:
    part = wanted.casefold()
    return lambda value: isinstance(value, str) and part in value.casefold()


def _equals_text(wanted: Json) -> Test:
    return lambda value: isinstance(value, str) and value == wanted


def _equals_number(wanted: Json) -> Test:
    return lambda value: value is not True and value is not False and value == wanted


def _at_moment(wanted: Json) -> Test:
    """A time is found by its day, too."""
    if is_date(wanted):
        return lambda value: isinstance(value, str) and value.startswith(wanted)
    return equal_to(wanted)


def _holds(wanted: Json) -> Test:
    tests = [equal_to(item) for item in (wanted if isinstance(wanted, list | tuple) else [wanted])]
    return lambda value: isinstance(value, list | tuple) and all(any(map(test, value)) for test in tests)


_FINDS: Mapping[str, Callable[[Json], Test]] = {
    "text": _contains_text,
    "email": _contains_text,
    "id": _equals_text,
    "choice": _equals_text,
    "date": _equals_text,
    "integer": _equals_number,
    "number": _equals_number,
    "boolean": equal_to,
    "time": equal_to,
    "datetime": _at_moment,
    "list": _holds,
    "object": equal_to,
    "any": equal_to,
}


def finds(field: Field) -> Callable[[Json], Test]:
    """The comparison a search makes: the wanted value gives the test of a record's value."""
    return _FINDS[field.type]


def accepts_wanted(field: Field) -> Test:
    """Which values a search may ask for in `field`."""
    if field.type == "email":
        return _is_text
    if field.type == "list":
        return _is_anything
    if field.type == "datetime":
        return lambda value: _is_datetime(value) or is_date(value)
    return accepts(field)


# --- what agents are told, and what records tell ------------------------------------------------------------

_SCHEMAS: Mapping[str, dict[str, Json]] = {
    "text": {"type": "string"},
    "id": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "description": "HH:MM"},
    "datetime": {"type": "string", "description": "ISO 8601, such as 2026-03-13T16:00"},
    "email": {"type": "string", "format": "email"},
    "list": {"type": "array", "items": {}},
    "object": {"type": "object"},
    "any": {},
}

_WANTED: Mapping[str, dict[str, Json]] = {
    "text": {"type": "string", "description": "Any part of the text."},
    "email": {"type": "string", "description": "Any part of the address."},
    "datetime": {"type": "string", "description": "A day such as 2026-03-13, or an exact date and time."},
    "list": {"description": "An item that the list holds."},
}


def schema(field: Field, wanted: bool = False) -> dict[str, Json]:
    """JSON Schema of a value of `field`, or with `wanted` of what a search may ask for in it."""
    if field.type == "choice":
        plain: dict[str, Json] = {"type": "string", "enum": list(field.of)}
    else:
        plain = dict(_WANTED.get(field.type, _SCHEMAS[field.type]) if wanted else _SCHEMAS[field.type])
    about = " ".join(filter(None, (field.about, plain.pop("description", ""))))
    if about:
        plain["description"] = about
    if field.default is not None and not wanted:
        plain["default"] = field.default
    return plain


#: In this order: the first type that accepts all values of a field is its type. Whole numbers count as numbers,
#: since a price list without cents says nothing about the next price.
_INFERRED = (
    ("boolean", _is_boolean),
    ("number", is_number),
    ("date", is_date),
    ("datetime", _is_datetime),
    ("time", _is_time),
    ("email", _is_email),
    ("id", lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None),
    ("text", _is_text),
    ("list", _is_list),
    ("object", _is_object),
)


def infer(records: Iterable[Mapping[str, Json]]) -> dict[str, Field]:
    """The fields that records have, in order of appearance, with the narrowest type that fits all their values."""
    values: dict[str, list[Json]] = {}
    for record in records:
        for name, value in record.items():
            seen = values.setdefault(name, [])
            if value is not None:
                seen.append(value)
    return {name: Field(type=_type_of(seen)) for name, seen in values.items()}


def _type_of(values: list[Json]) -> Json:
    fitting = (name for name, test in _INFERRED if all(map(test, values)))
    return next(fitting, "any") if values else "any"
