"""The expression language: what an expression evaluates to, which names it has in it, and with values put for names.

Knows the meaning of the syntax; values are the matter of `functions`. Does not know what `$fact` or `record` stand for:
names are looked up in a mapping that the caller gives, signs included (`{"record": …, "@line": …}`).

Looking for something that is not there gives null: a field that an object does not have, any field of null, an index
beyond a list, the first of an empty list. Computing with null, or asking a number for a field, is an error. `==`
between different kinds is false, `<` between them an error. `and`, `or`, `not` give booleans. An evaluation ends after
100,000 steps, so no expression is expensive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from ..events.event import Json
from . import functions
from .spelling import did_you_mean
from .syntax import (
    OVER_ITEMS,
    Binary,
    Call,
    ExpressionError,
    Field,
    Index,
    ListOf,
    Literal,
    Name,
    Node,
    ObjectOf,
    Unary,
    children,
    parse,
)
from .values import ValueProblem, is_number, items, kind, truth

__all__ = [
    "ExpressionError",
    "Node",
    "Reference",
    "Scope",
    "evaluate",
    "parse",
    "reference",
    "references",
    "substitute",
    "write",
]

Scope: TypeAlias = Mapping[str, Json]

STEPS = 100_000
SIZE = 16_000_000
"""Characters of a result, as it would be written out; a value counts as sixteen."""


# --- evaluating --------------------------------------------------------------------------------------------


def evaluate(node: Node, scope: Scope) -> Json:
    """The value of an expression. Raises `ExpressionError`."""
    if type(node) is Field:
        return _followed(node, scope)
    run = _Run(scope)
    value = run.value(node)
    if isinstance(value, (list, dict)) and not isinstance(node, (Name, Field, Index)):
        run.measure(value)
    return value


def _followed(node: Node, scope: Scope) -> Json:
    """A field, without the bookkeeping of a run: by far the most frequent expression, and never long."""
    if type(node) is Field:
        of = _followed(node.of, scope)
        if type(of) is dict:
            return of.get(node.name)
        if of is None:
            return None
    elif type(node) is Name and node.name in scope:
        return scope[node.name]
    return _Run(scope).value(node)


class _Run:
    """One evaluation: the names of items, and the steps that are left."""

    __slots__ = ("items", "left", "scope")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.items: dict[str, Json] = {}
        self.left = STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise ExpressionError(f"the expression takes more than {STEPS} steps.")

    def read(self, *values: Json) -> None:
        """Long texts take longer than one step: each 256 characters are another."""
        for value in values:
            if type(value) is str and len(value) > 255:
                self.spend(len(value) >> 8)

    def measure(self, value: Json) -> None:
        """Lists that share their items are small in memory and huge when written: refuse them."""
        left, waiting = SIZE, [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, dict):
                left -= sum(map(len, item))
                waiting.extend(item.values())
            elif isinstance(item, (list, tuple)):
                waiting.extend(item)
            left -= 16 + (len(item) if isinstance(item, str) else 0)
            if left < 0:
                raise ExpressionError("the result is too large.")

    def value(self, node: Node) -> Json:
        self.left -= 1
        if self.left < 0:
            self.spend(0)
        if type(node) is Literal:
            return node.value
        return _EVALUATE[type(node)](self, node)

    def name(self, node: Name) -> Json:
        if node.name in self.items:
            return self.items[node.name]
        try:
            return self.scope[node.name]
        except KeyError:
            known = [*self.scope, *self.items]
            raise ExpressionError(f"there is no {node.name} here{did_you_mean(node.name, known)}", node.at) from None

    def field(self, node: Field) -> Json:
        of = self.value(node.of)
        if type(of) is dict or isinstance(of, Mapping):  # the first is what it nearly always is, and much quicker
            return of.get(node.name)
        if of is None:
            return None
        raise ExpressionError(f"{kind(of)} has no field {node.name}.", node.at)

    def index(self, node: Index) -> Json:
        of, index = self.value(node.of), self.value(node.index)
        if of is None:
            return None
        if isinstance(of, Mapping) and isinstance(index, str):
            return of.get(index)
        if isinstance(of, (list, tuple)) and type(index) is int:
            return of[index] if -len(of) <= index < len(of) else None
        raise ExpressionError(f"{kind(of)} has no item {kind(index)}.", node.at)

    def list_of(self, node: ListOf) -> Json:
        return [self.value(item) for item in node.items]

    def object_of(self, node: ObjectOf) -> Json:
        return {key: self.value(item) for key, item in zip(node.keys, node.items)}

    def unary(self, node: Unary) -> Json:
        value = self.value(node.operand)
        if node.operator == "not":
            return not truth(value)
        return _at(node.at, functions.negative, value)

    def binary(self, node: Binary) -> Json:
        operator = node.operator
        left = self.value(node.left)
        if operator == "and":
            return truth(left) and truth(self.value(node.right))
        if operator == "or":
            return truth(left) or truth(self.value(node.right))
        right = self.value(node.right)
        if type(left) is str or type(right) is str:
            self.read(left, right)
        if operator == "==":
            return functions.equal(left, right, self.spend)
        if operator == "!=":
            return not functions.equal(left, right, self.spend)
        if operator == "in":
            options = _at(node.at, items, right, "'in'")
            self.spend(len(options))
            return any(functions.equal(left, option, self.spend) for option in options)
        if operator in ("<", "<=", ">", ">="):
            return _at(node.at, functions.compare, operator, left, right)
        return _at(node.at, functions.arithmetic, operator, left, right, self.spend)

    def call(self, node: Call) -> Json:
        if node.function == "choose":
            condition, then, otherwise = node.arguments
            return self.value(then if truth(self.value(condition)) else otherwise)
        if node.function in OVER_ITEMS:
            return self.over_items(node)
        arguments = [self.value(argument) for argument in node.arguments]
        self.read(*arguments)
        return _at(node.at, functions.FUNCTIONS[node.function], arguments, self.spend)

    def over_items(self, node: Call) -> Json:
        over = _at(node.at, items, self.value(node.arguments[0]), node.function)
        if len(node.arguments) == 1:
            return self.sort(node, over, over)
        hidden = self.items.get(node.item, _NOTHING)
        found: list[Json] = []
        by, stops = node.arguments[1], node.function in ("any", "all")
        for item in over:
            self.items[node.item] = item
            found.append(self.value(by))
            if stops and truth(found[-1]) == (node.function == "any"):
                break
        self.items.pop(node.item, None)
        if hidden is not _NOTHING:
            self.items[node.item] = hidden
        match node.function:
            case "each":
                return found
            case "where":
                return [item for item, keep in zip(over, found) if truth(keep)]
            case "any":
                return any(map(truth, found))
            case "all":
                return all(map(truth, found))
        return self.sort(node, over, found)

    def sort(self, node: Call, over: Any, by: Any) -> Json:
        """Items in order of `by`; those that are equal stay as they were."""
        self.spend(len(over) * max(1, len(over).bit_length()))
        _at(node.at, functions.rank, by, "sort")
        return [over[position] for position in sorted(range(len(over)), key=lambda position: by[position])]


_NOTHING: Any = object()

_EVALUATE: dict[Any, Callable[[_Run, Any], Json]] = {
    Name: _Run.name,
    Field: _Run.field,
    Index: _Run.index,
    ListOf: _Run.list_of,
    ObjectOf: _Run.object_of,
    Unary: _Run.unary,
    Binary: _Run.binary,
    Call: _Run.call,
}


def _at(position: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call, and say where in the expression it went wrong."""
    try:
        return function(*arguments)
    except ValueProblem as problem:
        raise ExpressionError(str(problem), position) from None


# --- names -------------------------------------------------------------------------------------------------


class Reference(msgspec.Struct, frozen=True):
    """A name that an expression looks up, with the fields and indices that follow it literally."""

    name: str
    path: tuple[str | int, ...] = ()
    at: int = 0


def references(node: Node) -> tuple[Reference, ...]:
    """All names that an expression looks up, in order; not those of items, which it gives itself."""
    return tuple(_references(node, frozenset()))


def _references(node: Node, items: frozenset[str]) -> Iterator[Reference]:
    path = reference(node)
    if path is not None:
        if path.name not in items:
            yield path
        return
    for number, child in enumerate(children(node)):
        bound = isinstance(node, Call) and node.function in OVER_ITEMS and number > 0
        yield from _references(child, items | {node.item} if bound and isinstance(node, Call) else items)


_PATHS = frozenset((Name, Field, Index))


def reference(node: Node) -> Reference | None:
    """The reference that an expression is: a name followed by nothing but literal fields and indices."""
    if type(node) not in _PATHS:
        return None
    path: list[str | int] = []
    while isinstance(node, (Field, Index)):
        if isinstance(node, Field):
            path.append(node.name)
        elif isinstance(node.index, Literal) and type(node.index.value) in (str, int):
            path.append(node.index.value)
        else:
            return None
        node = node.of
    return Reference(node.name, tuple(reversed(path)), node.at) if isinstance(node, Name) else None


def substitute(node: Node, value: Callable[[Reference], Json], sign: str = "$") -> Node:
    """The expression with the values of all names of a sign in their place."""
    if type(node) is Literal:
        return node
    path = reference(node)
    if path is not None and path.name.startswith(sign):
        return Literal(value(path), path.at)
    inner = [substitute(child, value, sign) for child in children(node)]
    match node:
        case Field(_, name, at):
            return Field(inner[0], name, at)
        case Index(_, _, at):
            return Index(inner[0], inner[1], at)
        case ListOf(_, at):
            return ListOf(tuple(inner), at)
        case ObjectOf(keys, _, at):
            return ObjectOf(keys, tuple(inner), at)
        case Unary(operator, _, at):
            return Unary(operator, inner[0], at)
        case Binary(operator, _, _, at):
            return Binary(operator, inner[0], inner[1], at)
        case Call(function, _, item, at):
            return Call(function, tuple(inner), item, at)
    return node


# --- writing -----------------------------------------------------------------------------------------------


def write(node: Node) -> str:
    """A text that parses to an expression of the same meaning."""
    match node:
        case Literal(value):
            return _written(value)
        case Name(name):
            return name
        case Field(of, name):
            number = isinstance(of, Literal) and is_number(of.value)
            return f"({write(of)}).{name}" if number else f"{_closed(of)}.{name}"
        case Index(of, index):
            return f"{_closed(of)}[{write(index)}]"
        case ListOf(items):
            return f"[{', '.join(map(write, items))}]"
        case ObjectOf(keys, items):
            return f"{{{', '.join(f'{_written(key)}: {write(item)}' for key, item in zip(keys, items))}}}"
        case Unary(operator, operand):
            return f"{operator} {_closed(operand)}" if operator == "not" else f"-{_closed(operand)}"
        case Binary(operator, left, right):
            return f"{_closed(left)} {operator} {_closed(right)}"
        case Call(function, arguments, item):
            first = write(arguments[0]) + (f" as {item}" if function in OVER_ITEMS and item != "it" else "")
            return f"{function}({', '.join([first, *map(write, arguments[1:])])})"


def _closed(node: Node) -> str:
    """In brackets, where what stands beside it could otherwise take it apart."""
    negative = isinstance(node, Literal) and is_number(node.value) and node.value < 0
    return f"({write(node)})" if negative or isinstance(node, (Unary, Binary)) else write(node)


def _written(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case list() | tuple():
            return f"[{', '.join(map(_written, value))}]"
        case dict():
            return f"{{{', '.join(f'{_written(key)}: {_written(item)}' for key, item in value.items())}}}"
    raise ExpressionError(f"{kind(value)} cannot be written in an expression.")
