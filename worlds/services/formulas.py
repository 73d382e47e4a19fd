"""Expressions in a definition: guards, and values that a tool computes from its arguments and the record.

Knows how they are written (`=args.amount * 2` is an expression, `==x` the text `=x`, all else stands for itself) and
that the names in them exist. Does not know what becomes of a value. What cannot be computed is an ExpressionError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...events.event import Json
from ..expressions import ExpressionError, Node, Scope, evaluate, parse, references
from .table import ServiceError, hint

Formula: TypeAlias = Callable[[Scope], Json]
#: The names a formula may use; for each the fields it has, or None for a plain value.
Names: TypeAlias = Mapping[str, Mapping[str, object] | None]


def condition(text: str, names: Names, where: str) -> Formula:
    """A guard, with or without `=` in front of it."""
    node = _parsed(text.removeprefix("="), names, where)
    return lambda scope: evaluate(node, scope)


def formula(value: Json, names: Names, where: str) -> Formula:
    """A value of a definition, as a function of the call."""
    if isinstance(value, str) and value.startswith("=="):
        return lambda scope: value[1:]
    if isinstance(value, str) and value.startswith("="):
        return condition(value, names, where)
    if isinstance(value, dict):
        members = formulas(value, names, where)
        return lambda scope: {name: member(scope) for name, member in members.items()}
    if isinstance(value, list | tuple):
        items = [formula(item, names, f"{where}[{index}]") for index, item in enumerate(value)]
        return lambda scope: [item(scope) for item in items]
    return lambda scope: value


def formulas(values: Mapping[str, Json], names: Names, where: str) -> dict[str, Formula]:
    return {name: formula(value, names, f"{where}.{name}") for name, value in values.items()}


def _parsed(text: str, names: Names, where: str) -> Node:
    try:
        node = parse(text)
    except ExpressionError as error:
        raise ServiceError(where, error.message) from None
    for reference in references(node):
        if reference.name not in names:
            raise ServiceError(where, f"there is no {reference.name} here{hint(reference.name, names)}")
        fields = names[reference.name]
        field = reference.path[0] if reference.path else None
        if fields is not None and isinstance(field, str) and field not in fields:
            raise ServiceError(where, f'{reference.name} has no "{field}"{hint(field, fields)}')
    return node
