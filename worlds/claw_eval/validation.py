"""Request bodies as Claw-Eval's services accept them: declared fields, lenient coercion, and HTTP 422 bodies.

Knows the rules by which a JSON object becomes a body with defaults filled in (those of pydantic 2 in lax mode, which
upstream uses; `docs/claw-eval.md` has the table). Knows no endpoint. An unknown key is dropped, an explicit null
is not a default, and every fault of a body is reported at once, in the order of the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec

from ...events.event import Json

Kind: TypeAlias = Literal["string", "integer", "boolean", "number", "strings"]

#: What is trimmed around a number: Unicode White_Space. (Python's `strip()` also takes U+001C to U+001F.)
_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_INTEGER = re.compile(r"([+-]?[0-9]+(?:_[0-9]+)*)(?:\.0+)?\Z")
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:e[+-]?[0-9]+(?:_[0-9]+)*)?"
    r"|nan|inf|infinity)\Z",
    re.IGNORECASE,
)
_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})
_LONGEST_INTEGER = 4300
_WORD = 2**63

_MESSAGES = {
    "missing": "Field required",
    "model_attributes_type": "Input should be a valid dictionary or object to extract fields from",
    "string_type": "Input should be a valid string",
    "list_type": "Input should be a valid list",
    "int_type": "Input should be a valid integer",
    "int_parsing": "Input should be a valid integer, unable to parse string as an integer",
    "int_parsing_size": "Unable to parse input string as an integer, exceeded maximum size",
    "int_from_float": "Input should be a valid integer, got a number with a fractional part",
    "finite_number": "Input should be a finite number",
    "float_type": "Input should be a valid number",
    "float_parsing": "Input should be a valid number, unable to parse string as a number",
    "bool_type": "Input should be a valid boolean",
    "bool_parsing": "Input should be a valid boolean, unable to interpret input",
}


class Field(msgspec.Struct, frozen=True):
    """One field of a body, as an endpoint declares it."""

    name: str
    kind: Kind = "string"
    required: bool = True
    default: Json = None
    nullable: bool = False


def defaulted(name: str, default: Json, kind: Kind = "string") -> Field:
    """A field that may be left out, but not be null."""
    return Field(name, kind, required=False, default=default)


def nullable(name: str, kind: Kind = "string") -> Field:
    """A field that may be left out or be null; both mean null."""
    return Field(name, kind, required=False, nullable=True)


class Invalid(Exception):
    """A body that does not fit. `detail` is the list of faults as upstream reports it."""

    def __init__(self, detail: list[dict[str, Json]]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in detail))
        self.detail = detail


class _Unfit(Exception):
    """A value that does not fit: one `(kind of fault, offending value, path below the field)` for each reason."""

    def __init__(self, *reasons: tuple[str, Json, tuple[int, ...]]) -> None:
        self.reasons = reasons


def validate(fields: Sequence[Field], body: Json) -> dict[str, Json]:
    """The body with coerced values and defaults, in the order of `fields`. Raises `Invalid`."""
    if not isinstance(body, dict):
        raise Invalid([_fault("missing" if body is None else "model_attributes_type", ["body"], body)])
    clean: dict[str, Json] = {}
    faults: list[dict[str, Json]] = []
    for field in fields:
        if field.name not in body:
            clean[field.name] = list(field.default) if isinstance(field.default, list) else field.default
            if field.required:
                faults.append(_fault("missing", ["body", field.name], body))
            continue
        value = body[field.name]
        try:
            clean[field.name] = None if value is None and field.nullable else _COERCIONS[field.kind](value)
        except _Unfit as unfit:
            faults += [_fault(kind, ["body", field.name, *at], item) for kind, item, at in unfit.reasons]
    if faults:
        raise Invalid(faults)
    return clean


def as_json(body: dict[str, Json]) -> dict[str, Json]:
    """A clean body as JSON has it: infinities and NaN, which a text may mean, are null there."""
    return {
        name: None if isinstance(value, Decimal) and not value.is_finite() else value for name, value in body.items()
    }


def _fault(kind: str, loc: list[Json], value: Json) -> dict[str, Json]:
    return {"type": kind, "loc": loc, "msg": _MESSAGES[kind], "input": value}


def _string(value: Json) -> str:
    if isinstance(value, str):
        return value
    raise _Unfit(("string_type", value, ()))


def _strings(value: Json) -> list[str]:
    if not isinstance(value, list | tuple):
        raise _Unfit(("list_type", value, ()))
    wrong = [("string_type", item, (index,)) for index, item in enumerate(value) if not isinstance(item, str)]
    if wrong:
        raise _Unfit(*wrong)
    return list(value)


def _integer(value: Json) -> int:
    """Also takes booleans, numbers without a fraction, and texts that write one of these two kinds of number."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal):
        return _whole(value)
    if not isinstance(value, str):
        raise _Unfit(("int_type", value, ()))
    match = _INTEGER.match(value.strip(_SPACE))
    if match is None:
        raise _Unfit(("int_parsing", value, ()))
    if sum(map(str.isdigit, match[1])) > _LONGEST_INTEGER:
        raise _Unfit(("int_parsing_size", value, ()))
    return int(match[1])


def _whole(value: float | Decimal) -> int:
    number = float(value)
    if number - number != 0:
        raise _Unfit(("finite_number", value, ()))
    if not number.is_integer():
        raise _Unfit(("int_from_float", value, ()))
    if not -_WORD <= number < _WORD:
        raise _Unfit(("int_parsing_size", value, ()))
    return int(number)


def _number(value: Json) -> Decimal:
    """A double, written as upstream writes it: `5` becomes `5.0`. May be infinite or NaN, as upstream's."""
    if isinstance(value, str):
        text = value.strip(_SPACE)
        if _NUMBER.match(text) is None:
            raise _Unfit(("float_parsing", value, ()))
        return Decimal(repr(float(text)))
    if not isinstance(value, int | float | Decimal):
        raise _Unfit(("float_type", value, ()))
    try:
        return Decimal(repr(float(value)))
    except OverflowError:
        raise _Unfit(("float_type", value, ())) from None


def _boolean(value: Json) -> bool:
    if isinstance(value, str):
        word = value.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise _Unfit(("bool_parsing", value, ()))
    if not isinstance(value, int | float | Decimal):
        raise _Unfit(("bool_type", value, ()))
    if value in (0, 1):
        return bool(value)
    whole = isinstance(value, int) or float(value).is_integer()
    raise _Unfit(("bool_parsing" if whole and -_WORD <= value < _WORD else "bool_type", value, ()))


_COERCIONS: Mapping[Kind, Callable[[Json], Json]] = {
    "string": _string,
    "strings": _strings,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}
