"""The grammar of the expression language: text to frozen structs, and back.

Knows what can be written. Does not know what it evaluates to (`expressions`) or which values names have.

    or · and · not · == != < <= > >= in · + - · * / % · -x · x.field x[0] f(x)

Literals are numbers, 'texts', true, false, null, [lists] and {objects: …}. Names are `$fact`, `@step`, or plain such as
`record` and `it`. In `where`, `each`, `any`, `all` and `sort` the first argument may name its item: `where(@lines as x,
x.price > 5)`; without, it is called `it`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec

from ..events.event import Json
from .document import integer_or_decimal
from .spelling import did_you_mean

T = TypeVar("T")

LONGEST = 2_000
"""Characters of an expression."""
DEEPEST = 80
"""Levels of nesting."""


class ExpressionError(ValueError):
    """What is wrong with an expression, written or evaluated, and at which character (from 0) of it."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class Literal(msgspec.Struct, frozen=True):
    value: Json
    at: int = 0


class Name(msgspec.Struct, frozen=True):
    """A name with its sign: `$order`, `@line`, `record`."""

    name: str
    at: int = 0


class Field(msgspec.Struct, frozen=True):
    of: Node
    name: str
    at: int = 0


class Index(msgspec.Struct, frozen=True):
    of: Node
    index: Node
    at: int = 0


class ListOf(msgspec.Struct, frozen=True):
    items: tuple[Node, ...]
    at: int = 0


class ObjectOf(msgspec.Struct, frozen=True):
    keys: tuple[str, ...]
    items: tuple[Node, ...]
    at: int = 0


class Unary(msgspec.Struct, frozen=True):
    operator: str
    operand: Node
    at: int = 0


class Binary(msgspec.Struct, frozen=True):
    operator: str
    left: Node
    right: Node
    at: int = 0


class Call(msgspec.Struct, frozen=True):
    function: str
    arguments: tuple[Node, ...]
    item: str = "it"
    """What each item of the first argument is called in the others."""
    at: int = 0


Node: TypeAlias = Literal | Name | Field | Index | ListOf | ObjectOf | Unary | Binary | Call

#: Functions that evaluate their second argument once for each item of the first.
OVER_ITEMS = frozenset({"where", "each", "any", "all", "sort"})

#: How many arguments each function takes, at least and at most.
ARITIES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("first", "last", "len", "unique", "reverse", "sum", "floor", "ceil", "abs"), (1, 1)),
    **dict.fromkeys(("lower", "upper", "text", "number", "weekday", "day_of", "time_of"), (1, 1)),
    **dict.fromkeys(("where", "each", "any", "all", "contains", "join", "split"), (2, 2)),
    **dict.fromkeys(("date_add", "workday_add", "at_time", "days_between", "minutes_between"), (2, 2)),
    **dict.fromkeys(("choose", "between", "in_zone"), (3, 3)),
    **dict.fromkeys(("sort", "round"), (1, 2)),
    **dict.fromkeys(("min", "max"), (1, 20)),
}

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d[\w.]*(?:(?<=[eE])[+-]\d+)?)
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<name>[$@]?[^\W\d]\w*)
    |(?P<sign>==|!=|<=|>=|[-+*/%<>()\[\]{}.,:]))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_WORDS = frozenset({"and", "or", "not", "in", "as", *_CONSTANTS})
_POWERS = {"or": 1, "and": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "in": 4}
_POWERS |= {"+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_NOT, _COMPARED, _MINUS, _POSTFIX = 3, 4, 7, 8


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    tokens, position = [], 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            raise ExpressionError(f"{text[start]!r} is not understood here.", start)
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


@lru_cache(maxsize=4096)
def parse(text: str) -> Node:
    """The expression that a text is. Raises `ExpressionError`."""
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression has at most {LONGEST} characters.")
    return _Parser(text).whole()


class _Parser:
    """Pratt's method: each operator binds with a power, and prefixes parse what binds at least as tightly."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        if self.tokens[0].kind == "end":
            raise ExpressionError("the expression is empty.")
        node = self.expression(0)
        if self.peek().kind != "end":
            raise ExpressionError(f"{self.peek().text!r} is not expected here.", self.peek().at)
        if _depth(node) > DEEPEST:
            raise ExpressionError(f"the expression is nested deeper than {DEEPEST} levels.")
        return node

    def peek(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def taken(self, text: str) -> bool:
        token = self.peek()
        if token.text != text or token.kind == "text":
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        if not self.taken(text):
            token = self.peek()
            found = f"not {token.text!r}" if token.text else "but the expression ends"
            raise ExpressionError(f"{text!r} is expected here, {found}.", token.at)

    def expression(self, power: int) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"the expression is nested deeper than {DEEPEST} levels.", self.peek().at)
        node = self.prefix()
        while (next_power := self.binds()) > power:
            node = self.infix(node, next_power)
        self.depth -= 1
        return node

    def binds(self) -> int:
        token = self.peek()
        if token.kind == "sign" and token.text in (".", "["):
            return _POSTFIX
        if token.kind == "name" and token.text == "not":
            following = self.tokens[self.at + 1]
            return _COMPARED if following.kind == "name" and following.text == "in" else 0
        return _POWERS.get(token.text, 0) if token.kind in ("sign", "name") else 0

    def infix(self, left: Node, power: int) -> Node:
        token = self.take()
        if token.text == ".":
            field = self.take()
            if field.kind != "name" or field.text[0] in "$@":
                raise ExpressionError("a field name is expected after the point.", field.at)
            return Field(left, field.text, token.at)
        if token.text == "[":
            index = self.expression(0)
            self.expect("]")
            return Index(left, index, token.at)
        if token.text == "not":
            self.take()
            return Unary("not", Binary("in", left, self.expression(power), token.at), token.at)
        right = self.expression(power)
        if power == _COMPARED and self.binds() == _COMPARED:
            raise ExpressionError("comparisons do not chain; join them with 'and'.", self.peek().at)
        return Binary(token.text, left, right, token.at)

    def prefix(self) -> Node:
        token = self.take()
        if token.kind == "number":
            try:
                number = integer_or_decimal(token.text)
            except ValueError as error:
                raise ExpressionError(str(error), token.at) from None
            if number is None:
                raise ExpressionError(f"{token.text!r} is not a number.", token.at)
            return Literal(number, token.at)
        if token.kind == "text":
            return Literal(_ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), token.text[1:-1]), token.at)
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            node = self.expression(0)
            self.expect(")")
            return node
        if token.text == "[":
            return ListOf(tuple(self.several("]", lambda: self.expression(0))), token.at)
        if token.text == "{":
            pairs = self.several("}", self.pair)
            return ObjectOf(tuple(key for key, _ in pairs), tuple(value for _, value in pairs), token.at)
        if token.text == "-":
            return Unary("-", self.expression(_MINUS), token.at)
        found = repr(token.text) if token.text else "the end"
        raise ExpressionError(f"a value is expected here, not {found}.", token.at)

    def named(self, token: _Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], token.at)
        if token.text == "not":
            return Unary("not", self.expression(_NOT), token.at)
        if token.text in _WORDS:
            raise ExpressionError(f"a value is expected here, not {token.text!r}.", token.at)
        if token.text[0] in "$@" or not self.taken("("):
            return Name(token.text, token.at)
        return self.call(token)

    def call(self, token: _Token) -> Node:
        name = token.text
        if name not in ARITIES:
            raise ExpressionError(f"there is no function {name}{did_you_mean(name, list(ARITIES))}", token.at)
        item = "it"
        arguments: list[Node] = []
        while not arguments or self.taken(","):
            arguments.append(self.expression(0))
            if len(arguments) == 1 and name in OVER_ITEMS and self.taken("as"):
                word = self.take()
                if word.kind != "name" or word.text[0] in "$@" or word.text in _WORDS:
                    raise ExpressionError("a plain name is expected after 'as'.", word.at)
                item = word.text
        self.expect(")")
        least, most = ARITIES[name]
        if not least <= len(arguments) <= most:
            count = str(least) if least == most else f"{least} to {most}"
            raise ExpressionError(f"{name} takes {count} arguments, not {len(arguments)}.", token.at)
        return Call(name, tuple(arguments), item, token.at)

    def several(self, end: str, one: Callable[[], T]) -> list[T]:
        items: list[T] = []
        if self.taken(end):
            return items
        items.append(one())
        while self.taken(","):
            items.append(one())
        self.expect(end)
        return items

    def pair(self) -> tuple[str, Node]:
        key = self.take()
        if key.kind == "text":
            name = _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), key.text[1:-1])
        elif key.kind == "name" and key.text[0] not in "$@":
            name = key.text
        else:
            raise ExpressionError("a key is expected here.", key.at)
        self.expect(":")
        return name, self.expression(0)


def children(node: Node) -> tuple[Node, ...]:
    """The expressions directly inside one."""
    match node:
        case Field(of):
            return (of,)
        case Index(of, index):
            return (of, index)
        case ListOf(items) | ObjectOf(_, items):
            return items
        case Unary(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Call(_, arguments):
            return arguments
    return ()


def _depth(node: Node) -> int:
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        inner, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in children(inner)]
    return deepest
