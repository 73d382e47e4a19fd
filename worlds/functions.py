"""What the operators and functions of the expression language do with values.

Knows values: null, booleans, numbers, texts, lists, objects. Does not know how expressions are written or how names
are resolved. Integers and decimals are one kind, numbers; a result without digits after its point is an integer again.
Everything is bounded: numbers by 64 bits and 34 digits, texts and lists by the budget of the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, DecimalException
from typing import Any

from ..events.event import Json
from . import dates
from .document import integer_or_decimal
from .values import NUMBERS, Spend, ValueProblem, is_number, items, kind, number, text, written

TEXT = 100_000
"""Characters of the longest text that can be made."""


# --- comparing ---------------------------------------------------------------------------------------------


def equal(left: Json, right: Json, spend: Spend) -> bool:
    """Equality of the same kind: numbers by value, texts exactly, objects in any order. Other kinds are never equal."""
    if type(left) is str:  # first, since ids and names are what is compared most
        return type(right) is str and left == right
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        spend(len(left))
        return len(left) == len(right) and all(equal(a, b, spend) for a, b in zip(left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        spend(len(left))
        return left.keys() == right.keys() and all(equal(left[name], right[name], spend) for name in left)
    return type(left) is type(right) and bool(left == right)


def compare(operator: str, left: Json, right: Json) -> bool:
    both_numbers = is_number(left) and is_number(right)
    if not both_numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise ValueProblem(f"{kind(left)} and {kind(right)} have no order; '{operator}' compares numbers or texts.")
    match operator:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
    return bool(left >= right)


def rank(values: Sequence[Json], what: str) -> None:
    """Raise unless the values are all numbers or all texts."""
    if not all(is_number(value) for value in values) and not all(isinstance(value, str) for value in values):
        raise ValueProblem(f"{what} needs numbers only or texts only.")


# --- numbers -----------------------------------------------------------------------------------------------


def settled(value: int | Decimal) -> int | Decimal:
    """A result as JSON can keep it: an integer unless it has digits after the point (or is huge)."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueProblem("the result is not a finite number.")
        if exponent != 0:
            return value
        value = int(value)
    if not -(2**63) <= value < 2**63:
        raise ValueProblem("the result does not fit into 64 bits.")
    return value


def arithmetic(operator: str, left: Json, right: Json, spend: Spend) -> Json:
    if operator == "+" and isinstance(left, str) and isinstance(right, str):
        return short(left + right)
    if operator == "+" and isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        spend(len(left) + len(right))
        return [*left, *right]
    a, b = number(left, f"'{operator}'"), number(right, f"'{operator}'")
    if operator in "/%" and b == 0:
        raise ValueProblem("division by zero.")
    try:
        return settled(_whole(operator, a, b) if type(a) is int and type(b) is int else _point(operator, a, b))
    except DecimalException:
        raise ValueProblem("the result is beyond what a number can hold.") from None


def _whole(operator: str, a: int, b: int) -> int | Decimal:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "%":
            return a % b
    return a // b if a % b == 0 else NUMBERS.divide(Decimal(a), Decimal(b))


def _point(operator: str, left: int | Decimal, right: int | Decimal) -> Decimal:
    a, b = Decimal(left), Decimal(right)
    match operator:
        case "+":
            return NUMBERS.add(a, b)
        case "-":
            return NUMBERS.subtract(a, b)
        case "*":
            return NUMBERS.multiply(a, b)
        case "/":
            return NUMBERS.divide(a, b)
    rest = NUMBERS.remainder(a, b)
    return NUMBERS.add(rest, b) if rest and (rest < 0) != (b < 0) else rest


def rounded(value: Json, digits: Json, mode: str) -> Json:
    """To so many digits after the point; halves go away from zero."""
    places = number(digits, "round")
    if not isinstance(places, int) or not 0 <= places <= 12:
        raise ValueProblem("round needs 0 to 12 digits.")
    exact = Decimal(number(value, "round"))
    try:
        return settled(exact.quantize(Decimal(1).scaleb(-places), rounding=mode, context=NUMBERS))
    except DecimalException:
        raise ValueProblem("the number is too large to round.") from None


def negative(value: Json) -> Json:
    return settled(-number(value, "'-'") if type(value) is int else NUMBERS.minus(Decimal(number(value, "'-'"))))


def extreme(arguments: Sequence[Json], what: str, spend: Spend) -> Json:
    """The smallest or largest of one list, or of several arguments; null of an empty list."""
    values = items(arguments[0], what) if len(arguments) == 1 else arguments
    spend(len(values))
    rank(values, what)
    chosen = min if what == "min" else max
    return chosen(values) if values else None


def total(value: Json, spend: Spend) -> Json:
    result: Json = 0
    for item in items(value, "sum"):
        spend(1)
        result = arithmetic("+", result, number(item, "sum"), spend)
    return result


def parsed_number(value: Json) -> Json:
    try:
        result = integer_or_decimal(text(value, "number").strip())
    except ValueError as error:
        raise ValueProblem(str(error)) from None
    if result is None:
        raise ValueProblem(f"{value!r} is not a number.")
    return result


# --- texts and lists ---------------------------------------------------------------------------------------


def short(value: str) -> str:
    if len(value) > TEXT:
        raise ValueProblem(f"the text would be longer than {TEXT} characters.")
    return value


def joined(value: Json, separator: Json, spend: Spend) -> str:
    parts = items(value, "join")
    spend(len(parts))
    for part in parts:
        if isinstance(part, (list, tuple, dict)):
            raise ValueProblem(f"join needs a list of texts and numbers, not of {kind(part)}.")
    pieces = [written(part) for part in parts]
    between_them = text(separator, "join")
    if sum(map(len, pieces)) + len(between_them) * len(pieces) > TEXT:
        raise ValueProblem(f"the text would be longer than {TEXT} characters.")
    return between_them.join(pieces)


def splits(value: Json, separator: Json, spend: Spend) -> list[Json]:
    if not separator:
        raise ValueProblem("split needs a separator.")
    parts = text(value, "split").split(text(separator, "split"))
    spend(len(parts))
    return [part.strip() for part in parts]


def contains(value: Json, part: Json, spend: Spend) -> bool:
    """Whether a text has another one in it, letter by letter."""
    whole = text(value, "contains")
    spend(len(whole) // 256)
    return text(part, "contains") in whole


def between(value: Json, left: Json, right: Json, spend: Spend) -> Json:
    """What stands in a text between two others, which may be empty; null where they do not occur."""
    whole, opening, closing = text(value, "between"), text(left, "between"), text(right, "between")
    spend(len(whole) // 256)
    start = whole.find(opening)
    if start < 0:
        return None
    start += len(opening)
    end = whole.find(closing, start) if closing else len(whole)
    return whole[start:end].strip() if end >= 0 else None


def reverse(value: Json, spend: Spend) -> list[Json]:
    whole = items(value, "reverse")
    spend(len(whole))
    return list(reversed(whole))


def unique(value: Json, spend: Spend) -> list[Json]:
    kept: list[Json] = []
    for item in items(value, "unique"):
        spend(len(kept) + 1)
        if not any(equal(item, other, spend) for other in kept):
            kept.append(item)
    return kept


def length(value: Json) -> int:
    if isinstance(value, (str, list, tuple, dict)):
        return len(value)
    raise ValueProblem(f"len needs a text, a list or an object, not {kind(value)}.")


#: Functions of values alone, by name; those with lazy arguments are the evaluator's.
FUNCTIONS: dict[str, Callable[[Sequence[Any], Spend], Json]] = {
    "first": lambda a, _: next(iter(items(a[0] if a[0] is not None else [], "first")), None),
    "last": lambda a, _: next(reversed(items(a[0] if a[0] is not None else [], "last")), None),
    "len": lambda a, _: length(a[0]),
    "unique": lambda a, spend: unique(a[0], spend),
    "reverse": lambda a, spend: reverse(a[0], spend),
    "sum": lambda a, spend: total(a[0], spend),
    "min": lambda a, spend: extreme(a, "min", spend),
    "max": lambda a, spend: extreme(a, "max", spend),
    "round": lambda a, _: rounded(a[0], a[1] if len(a) > 1 else 0, ROUND_HALF_UP),
    "floor": lambda a, _: rounded(a[0], 0, ROUND_FLOOR),
    "ceil": lambda a, _: rounded(a[0], 0, ROUND_CEILING),
    "abs": lambda a, _: negative(a[0]) if number(a[0], "abs") < 0 else a[0],
    "contains": lambda a, spend: contains(a[0], a[1], spend),
    "lower": lambda a, _: short(text(a[0], "lower").lower()),
    "upper": lambda a, _: short(text(a[0], "upper").upper()),
    "join": lambda a, spend: joined(a[0], a[1], spend),
    "split": lambda a, spend: splits(a[0], a[1], spend),
    "between": lambda a, spend: between(a[0], a[1], a[2], spend),
    "text": lambda a, _: joined([a[0]], "", lambda _: None),
    "number": lambda a, _: parsed_number(a[0]),
    "date_add": lambda a, _: dates.date_add(a[0], a[1]),
    "workday_add": lambda a, spend: dates.workday_add(a[0], a[1], spend),
    "in_zone": lambda a, _: dates.in_zone(a[0], a[1], a[2]),
    "weekday": lambda a, _: dates.WEEKDAYS[dates.moment(a[0], "weekday").weekday()],
    "day_of": lambda a, _: dates.moment(a[0], "day_of").date().isoformat(),
    "time_of": lambda a, _: dates.time_of(a[0]),
    "at_time": lambda a, _: dates.at_time(a[0], a[1]),
    "days_between": lambda a, _: dates.difference(a[0], a[1], timedelta(days=1), "days_between"),
    "minutes_between": lambda a, _: dates.difference(a[0], a[1], timedelta(minutes=1), "minutes_between"),
}
