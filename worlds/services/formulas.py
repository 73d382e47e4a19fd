"""Expressions in a definition: guards, and values that a tool computes from its arguments and the record.

Knows that the names in them exist. How they are written is `signs`: `=args.amount * 2` is an expression, `"Re:
${=record.subject}"` a text with one in it, and a sign that is meant literally is doubled. Does not know what becomes
of a value. What cannot be computed is an ExpressionError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...events.event import Json
from ..environment import Field
from ..expressions import ExpressionError, Node, parse, references
from ..formula import Formula, compiled
from ..signs import FactError, Hole, Whole, read
from ..values import written
from .table import ServiceError, check, hint

#: The names a formula may use; for each the fields it has, or None for a plain value.
Names: TypeAlias = Mapping[str, Mapping[str, object] | None]


def condition(text: str, names: Names, where: str) -> Formula:
    """A guard: an expression as it stands."""
    try:
        node = parse(text)
    except ExpressionError as error:
        raise ServiceError(where, error.message) from None
    return _evaluated(node, names, where)


def formula(value: Json, names: Names, where: str) -> Formula:
    """A value of a definition, as a function of the call."""
    if isinstance(value, str):
        return _text(value, names, where)
    if isinstance(value, dict):
        members = formulas(value, names, where)
        return lambda scope: {name: member(scope) for name, member in members.items()}
    if isinstance(value, list | tuple):
        items = [formula(item, names, f"{where}[{index}]") for index, item in enumerate(value)]
        return lambda scope: [item(scope) for item in items]
    return lambda scope: value


def formulas(values: Mapping[str, Json], names: Names, where: str) -> dict[str, Formula]:
    return {name: formula(value, names, f"{where}.{name}") for name, value in values.items()}


def check_constants(values: Mapping[str, Json], fields: Mapping[str, Field], where: str) -> None:
    """Raises ServiceError for a field that does not exist, or a value known beforehand that it does not accept."""
    for name, value in values.items():
        if name not in fields:
            raise ServiceError(f"{where}.{name}", f"there is no such field{hint(name, fields)}")
        what = read(value) if isinstance(value, str) else ()
        if not isinstance(what, Whole) and not any(isinstance(piece, Hole) for piece in what):
            check(f"{where}.{name}", fields[name], value)


def _text(text: str, names: Names, where: str) -> Formula:
    try:
        what = read(text)
    except FactError as error:
        raise ServiceError(where, error.message) from None
    if isinstance(what, Whole):
        return _evaluated(what.node, names, where)
    pieces = [_evaluated(piece.node, names, where) if isinstance(piece, Hole) else piece for piece in what]
    return lambda scope: "".join(piece if isinstance(piece, str) else written(piece(scope)) for piece in pieces)


def _evaluated(node: Node, names: Names, where: str) -> Formula:
    for reference in references(node):
        if reference.name not in names:
            raise ServiceError(where, f"there is no {reference.name} here{hint(reference.name, names)}")
        fields = names[reference.name]
        field = reference.path[0] if reference.path else None
        if fields is not None and isinstance(field, str) and field not in fields:
            raise ServiceError(where, f'{reference.name} has no "{field}"{hint(field, fields)}')
    return compiled(node)
