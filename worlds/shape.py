"""Whether data has the shape of an environment: every unknown key, missing key and wrong kind of value, all at once.

Knows the structs of `environment` only through msgspec's description of them. Does not know what the values mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cache

import msgspec
from msgspec import inspect

from ..events.event import Json
from .document import Path
from .environment import Environment
from .spelling import nearest
from .values import kind


class Finding(msgspec.Struct, frozen=True):
    """A problem before it is known on which line it stands."""

    path: Path
    message: str
    hint: str | None = None


def findings(data: Json, path: Path = ()) -> Iterator[Finding]:
    """All that keeps data from being an environment."""
    return _check(data, _environment(), path)


@cache
def _environment() -> inspect.Type:
    return inspect.type_info(Environment)


def _check(value: Json, type_: inspect.Type, path: Path) -> Iterator[Finding]:
    match type_:
        case inspect.UnionType(types):
            yield from _union(value, types, path)
        case inspect.StructType():
            if isinstance(value, dict):
                yield from _struct(value, type_, path)
            else:
                yield _wrong(value, type_, path)
        case inspect.DictType(value_type=inner):
            if isinstance(value, dict):
                for key, item in value.items():
                    yield from _check(item, inner, (*path, key))
            else:
                yield _wrong(value, type_, path)
        case inspect.VarTupleType(item_type=inner):
            if isinstance(value, list):
                for position, item in enumerate(value):
                    yield from _check(item, inner, (*path, position))
            else:
                yield _wrong(value, type_, path)
        case inspect.LiteralType(values):
            if value not in values or not isinstance(value, str):
                yield _no_choice(value, values, path)
        case _:
            if not _fits(value, type_):
                yield _wrong(value, type_, path)


def _union(value: Json, types: tuple[inspect.Type, ...], path: Path) -> Iterator[Finding]:
    """`X | None` is the only union there is."""
    if value is not None:
        for inner in types:
            if not isinstance(inner, inspect.NoneType):
                yield from _check(value, inner, path)


def _struct(value: dict[str, Json], type_: inspect.StructType, path: Path) -> Iterator[Finding]:
    fields = {field.encode_name: field for field in type_.fields}
    for key, item in value.items():
        if key in fields:
            yield from _check(item, fields[key].type, (*path, key))
        else:
            yield Finding((*path, key), f"{key!r} is not a key here.", _instead(key, list(fields)))
    for key, field in fields.items():
        if field.required and key not in value:
            yield Finding(path, f"the key {key!r} is missing.")


def _instead(word: str, words: list[str]) -> str:
    near = nearest(word, words)
    return f"Did you mean {near!r}?" if near else f"There are {', '.join(words)}."


def _no_choice(value: Json, values: tuple[object, ...], path: Path) -> Finding:
    words = [str(word) for word in values]
    if not isinstance(value, str):
        return Finding(path, f"this must be one of {', '.join(words)}, not {kind(value)}.")
    return Finding(path, f"{value!r} is not a choice here.", _instead(value, words))


def _fits(value: Json, type_: inspect.Type) -> bool:
    match type_:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return type(value) is int
        case inspect.DecimalType():
            return type(value) in (int, Decimal)
    return True


def _wrong(value: Json, type_: inspect.Type, path: Path) -> Finding:
    found = "nothing" if value is None else kind(value)
    if isinstance(value, Decimal) and isinstance(type_, inspect.IntType):
        found = f"{value}"
    hint = None
    if isinstance(type_, inspect.StrType) and value is not None and not isinstance(value, (list, dict)):
        hint = "Put it in quotes."
    return Finding(path, f"this must be {_wanted(type_)}, not {found}.", hint)


def _wanted(type_: inspect.Type) -> str:
    match type_:
        case inspect.StrType():
            return "a text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number"
        case inspect.DecimalType():
            return "a number"
        case inspect.VarTupleType():
            return "a list"
        case inspect.StructType(fields=fields):
            return f"an object with {', '.join(field.encode_name for field in fields[:4])} …"
    return "an object"
