"""Values as expressions see them: what kind they are, and how they stand in a text.

Knows null, booleans, numbers (integers and decimals are one kind), texts, lists and objects. Does not know operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import TypeAlias

from ..events.event import Json

Spend: TypeAlias = Callable[[int], None]
"""Takes steps from the budget of an evaluation; raises when they run out."""


#: All arithmetic is done in this context, whatever the process has set.
NUMBERS = Context(prec=34, Emin=-999, Emax=999)


class ValueProblem(ValueError):
    """A value on which an operation makes no sense; the evaluator adds where."""


def kind(value: Json) -> str:
    """What people call such a value."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", Decimal: "a number", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__}")


def is_number(value: Json) -> bool:
    return type(value) is int or type(value) is Decimal


def number(value: Json, what: str) -> int | Decimal:
    if type(value) is int or type(value) is Decimal:
        return value
    raise ValueProblem(f"{what} needs a number, not {kind(value)}.")


def text(value: Json, what: str) -> str:
    if isinstance(value, str):
        return value
    raise ValueProblem(f"{what} needs a text, not {kind(value)}.")


def items(value: Json, what: str) -> Sequence[Json]:
    if isinstance(value, (list, tuple)):
        return value
    raise ValueProblem(f"{what} needs a list, not {kind(value)}.")


def truth(value: Json) -> bool:
    """False are null, false, 0, and what is empty."""
    return bool(value)


def written(value: Json) -> str:
    """A value inside a text: numbers as written, null as `null`, lists with commas, objects as `name: value`."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (list, tuple)):
        return ", ".join(written(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {written(item)}" for name, item in value.items())
    return str(value)
