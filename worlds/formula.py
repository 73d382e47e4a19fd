"""Expressions as Python functions: for those that are evaluated again and again, such as a tool's guard.

Knows which expressions are simple: names, fields, literals, comparisons of them, and, or, not. Their cost is bounded by
their length, so they need no account of steps. All others are evaluated as ever, and both ways give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..events.event import Json
from .expressions import Scope, evaluate
from .syntax import Binary, Field, Literal, Name, Node, Unary
from .values import truth

Formula: TypeAlias = Callable[[Scope], Json]


def compiled(node: Node) -> Formula:
    """The function of a scope that an expression is. It raises ExpressionError as `evaluate` does."""
    simple = _simple(node)
    return simple if simple is not None else lambda scope: evaluate(node, scope)


def _simple(node: Node) -> Formula | None:
    if isinstance(node, Literal):
        value = node.value
        return lambda scope: value
    if isinstance(node, Field) and isinstance(node.of, Name):
        return _field(node, node.of.name, node.name)
    if isinstance(node, Unary) and node.operator == "not":
        operand = _simple(node.operand)
        return None if operand is None else lambda scope: not truth(operand(scope))
    if isinstance(node, Binary):
        return _binary(node)
    return None


def _field(node: Field, owner: str, name: str) -> Formula:
    def value(scope: Scope) -> Json:
        of = scope.get(owner)
        return of.get(name) if type(of) is dict else evaluate(node, scope)

    return value


def _binary(node: Binary) -> Formula | None:
    left, right = _simple(node.left), _simple(node.right)
    if left is None or right is None:
        return None
    match node.operator:
        case "and":
            return lambda scope: truth(left(scope)) and truth(right(scope))
        case "or":
            return lambda scope: truth(left(scope)) or truth(right(scope))
        case "==":
            return _comparison(node, left, right, True)
        case "!=":
            return _comparison(node, left, right, False)
    return None


def _comparison(node: Binary, left: Formula, right: Formula, wanted: bool) -> Formula:
    def value(scope: Scope) -> Json:
        a, b = left(scope), right(scope)
        if type(a) is str and type(b) is str:
            return (a == b) is wanted
        return evaluate(node, scope)

    return value
