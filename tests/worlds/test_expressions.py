"""The expression language: what it says, what it refuses, and that nothing in it is expensive."""

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.expressions import ExpressionError, evaluate, parse, reference, references, substitute, write

SCOPE: dict[str, Any] = {
    "$order": {"id": "O-1", "lamp": Decimal("165.00")},
    "@lines": [
        {"sku": "K-1", "price": Decimal("165.00"), "n": 2},
        {"sku": "K-2", "price": 150, "n": 1, "note": None},
        {"sku": "K-3", "price": Decimal("9.50"), "n": 4},
    ],
    "record": {"status": "open", "tags": ["a", "b"]},
    "args": {"amount": 3},
}


def value(text: str) -> Any:
    return evaluate(parse(text), SCOPE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 - 3 - 4", -5),
        ("-2 * 3", -6),
        ("7 % 3", 1),
        ("7 % -3", -2),
        ("-7.5 % 2", Decimal("0.5")),
        ("6 / 3", 2),
        ("1 / 4", Decimal("0.25")),
        ("1.50 + 1", Decimal("2.50")),
        ("2.5 * 2", Decimal("5.0")),
        ("1e3 + 0", 1000),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("'it\\'s'", "it's"),
        ("{a: 1, 'b c': [true, null]}", {"a": 1, "b c": [True, None]}),
        ("165 == 165.00", True),
        ("1 == '1'", False),
        ("true == 1", False),
        ("null == false", False),
        ("{a: 1, b: 2} == {b: 2.0, a: 1}", True),
        ("'2026-03-13' < '2026-03-14T09:00'", True),
        ("2 in [1, 2.0]", True),
        ("3 not in [1, 2]", True),
        ("not 1 in [2]", True),
        ("not record.status == 'open' or args.amount > 2", True),
        ("null or []", False),
        ("'x' and {a: 1}", True),
        ("@lines[0].price > $order.lamp - 1", True),
        ("@lines[-1].sku", "K-3"),
        ("record['status']", "open"),
        ("where(@lines, it.price > 100)[1].sku", "K-2"),
        ("each(@lines as l, l.n * 2)", [4, 2, 8]),
        ("each([1, 2], each([10] as x, x * it))", [[10], [20]]),
        ("any(@lines, it.n == 4) and all(@lines, it.n > 0)", True),
        ("first(sort(@lines as l, l.price)).sku", "K-3"),
        ("sort(['b', 'a'])", ["a", "b"]),
        ("reverse([1, 2])", [2, 1]),
        ("unique([1, 1.0, '1', 1])", [1, "1"]),
        ("sum(each(@lines, it.price * it.n))", Decimal("518.00")),
        ("min(3, 1, 2) + max([4, 5])", 6),
        ("min([])", None),
        ("round(2.5)", 3),
        ("round(-2.345, 2)", Decimal("-2.35")),
        ("floor(-1.5)", -2),
        ("ceil(1.1)", 2),
        ("abs(-1.50)", Decimal("1.50")),
        ("len('abc') + len(@lines)", 6),
        ("contains('Room 12', '12')", True),
        ("lower('AbC') + upper('d')", "abcD"),
        ("join(each(@lines, it.price), ' / ')", "165.00 / 150 / 9.50"),
        ("split('a, b,c', ',')", ["a", "b", "c"]),
        ("between('Room 12 at 5', 'Room', 'at')", "12"),
        ("between('Room 12', 'Hall', 'at')", None),
        ("number('165.00') + number('1')", Decimal("166.00")),
        ("text(1.50)", "1.50"),
        ("choose(false, 1 / 0, 'safe')", "safe"),
        ("date_add('2026-02-27', '2d')", "2026-03-01"),
        ("date_add('2026-03-13T09:00', '-1h30m')", "2026-03-13T07:30"),
        ("workday_add('2026-03-13', 1)", "2026-03-16"),
        ("workday_add('2026-03-16', -1)", "2026-03-13"),
        ("in_zone('2026-03-13T08:00', 'Europe/Berlin', 'Asia/Tokyo')", "2026-03-13T16:00"),
        ("in_zone('2026-07-13T08:00', 'Europe/Berlin', 'Asia/Tokyo')", "2026-07-13T15:00"),
        ("weekday('2026-03-13')", "Friday"),
        ("day_of('2026-03-13T16:05')", "2026-03-13"),
        ("time_of('2026-03-13T16:05')", "16:05"),
        ("at_time('2026-03-13', '16:05')", "2026-03-13T16:05"),
        ("days_between('2026-03-13', '2026-03-01')", 12),
        ("minutes_between('2026-03-13T10:00', '2026-03-13T08:30')", 90),
    ],
)
def test_what_expressions_come_to(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)
    assert str(found) == str(expected)


@pytest.mark.parametrize(
    "text", ["null.a", "null[0].b", "record.missing", "@lines[9]", "first([])", "last(null)", "@lines[1].note.x"]
)
def test_what_is_not_there_is_null(text: str) -> None:
    assert value(text) is None


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 0, "empty"),
        ("1 +", 3, "the end"),
        ("(1", 2, "expected here"),
        ("a b", 2, "not expected"),
        ("1 < 2 < 3", 6, "do not chain"),
        ("record.status == = 1", 17, "not understood"),
        ("frist([1])", 0, "did you mean first"),
        ("recrod.x", 0, "did you mean record"),
        ("1 + @nowhere", 4, "there is no @nowhere"),
        ("first(1, 2)", 0, "takes 1 argument"),
        ("where(@lines as $x, 1)", 16, "plain name"),
        ("2d", 0, "not a number"),
        ("1 + null", 2, "null"),
        ("1 < 'a'", 2, "no order"),
        ("record.status.x", 13, "no field"),
        ("1 / 0", 2, "zero"),
        ("9223372036854775807 + 1", 20, "64 bits"),
        ("1e400 * 1e400 * 1e400", 14, "beyond"),
        ("date_add('2026-03-13', '2h')", 0, "whole days"),
        ("date_add('9999-12-31', '2d')", 0, "calendar"),
        ("date_add('tomorrow', '2d')", 0, "date or time"),
        ("in_zone('2026-03-29T02:30', 'Europe/Berlin', 'UTC')", 0, "skipped"),
        ("in_zone('2026-10-25T02:30', 'Europe/Berlin', 'UTC')", 0, "twice"),
        ("in_zone('2026-10-25T02:30', '../../etc/passwd', 'UTC')", 0, "not a time zone"),
        ("sort([1, 'a'])", 0, "numbers only"),
        ("sum(['a'])", 0, "needs a number"),
        ("round(1, 99)", 0, "digits"),
        ("x" * 2001, 0, "2000"),
        ("(" * 200 + "1" + ")" * 200, 80, "nested"),
        ("not " * 200 + "1", 320, "nested"),
        ("1" + "+1" * 500, 0, "nested"),
    ],
)
def test_what_goes_wrong_says_where(text: str, position: int, says: str) -> None:
    with pytest.raises(ExpressionError, match=says) as error:
        value(text)
    assert error.value.position == position


def test_names_are_found_with_the_fields_that_follow_them() -> None:
    node = parse("$order.lamp * 2 > sum(each(@lines[0].parts as p, p.price + it.x)) and record['a b'][@n]")
    assert [(found.name, found.path) for found in references(node)] == [
        ("$order", ("lamp",)),
        ("@lines", (0, "parts")),
        ("it", ("x",)),
        ("record", ("a b",)),
        ("@n", ()),
    ]
    assert reference(parse("$a.b[0]")) is not None
    assert reference(parse("$a.b + 1")) is None


def test_facts_can_be_put_in_and_the_rest_written_down() -> None:
    node = substitute(
        parse("@x.n > $limit and it in $names"), lambda found: {"$limit": -5, "$names": ["it's"]}[found.name]
    )
    assert write(node) == "(@x.n > (-5)) and (it in ['it\\'s'])"
    assert evaluate(parse(write(node)), {"@x": {"n": 1}, "it": "it's"}) is True


LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.decimals(-1000, 1000, places=2)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(LITERALS)
def test_every_value_can_be_written_as_an_expression(literal: Any) -> None:
    text = write(substitute(parse("$x"), lambda _: literal))
    found = evaluate(parse(text), {})
    assert found == literal
    assert str(found) == str(literal)


EXPRESSIONS = st.recursive(
    st.sampled_from(["1", "2.50", "'a'", "null", "true", "@x", "@x.a", "record.b[0]", "[]", "[1, 2]", "it"]),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in", "not in", "and", "or"]), inner
        ).map(lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"),
        inner.map(lambda text: f"not ({text})"),
        inner.map(lambda text: f"-({text})"),
        st.tuples(inner, inner).map(lambda parts: f"each({parts[0]} as y, {parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"where({parts[0]}, {parts[1]})"),
        inner.map(lambda text: f"({text})[0]"),
        inner.map(lambda text: f"({text}).a"),
        inner.map(lambda text: f"{{a: {text}}}"),
        st.tuples(st.sampled_from(["first", "len", "sum", "unique", "sort", "text", "abs"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_writing_keeps_the_meaning(text: str) -> None:
    scope = {"@x": {"a": [3, 1, 2]}, "record": {"b": [Decimal("1.5")]}, "it": 7}

    def outcome(expression: str) -> Any:
        try:
            return evaluate(parse(expression), scope)
        except ExpressionError as error:
            return error.message

    assert outcome(write(parse(text))) == outcome(text)
    assert write(parse(write(parse(text)))) == write(parse(text))


@given(st.text(alphabet="$@ab1.2'\"()[]{},:+-*/%<>=! infortd", max_size=40))
def test_no_text_gives_anything_but_a_value_or_a_typed_error(text: str) -> None:
    try:
        evaluate(parse(text), SCOPE)
    except ExpressionError as error:
        position = error.position
    else:
        position = 0
    assert 0 <= position <= len(text)


def nested(start: str, step: str, times: int) -> str:
    text = start
    for number in range(times):
        text = step.format(text, f"v{number}")
    return text


@pytest.mark.parametrize(
    "text",
    [
        nested(
            "[1, 2]", "each([{0}] as {1}, [{1}, {1}])", 38
        ),  # lists that share their items, 2^38 of them when written
        nested("[1, 1]", "each({0} as {1}, [{1}, {1}, {1}])", 24),
        nested("'aaaaaaaa'", "first(each([{0}] as {1}, {1} + {1}))", 24),
        nested("9", "first(each([{0}] as {1}, {1} * {1}))", 24),
        nested("[1, 2, 3, 4, 5, 6, 7, 8]", "each({0} as {1}, each([1,2,3,4,5,6,7,8], {0}))", 3),
        nested("[0]", "first(each([{0}] as {1}, {1} + {1}))", 24) + " == []",
        "workday_add('2026-01-01', 10000000)",
    ],
)
def test_nothing_can_be_made_expensive(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"large|longer|steps|64 bits|at most"):
        value(text)


@pytest.mark.parametrize(
    "inner",
    ["lower($text)", "upper($text)", "text($text)", "$text + 'a'", "$text == $same", "contains($text, 'xy')",
     "between($text, 'x', 'y')", "split($text, 'x')", "reverse($list)", "first(reverse($list))", "unique($list)",
     "sort($list)", "'q' in $list", "$list == $list", "$list + $list", "join($list, '')", "sum($list)", "max($list)"],
)  # fmt: skip
def test_no_function_is_a_way_around_the_limit_of_steps(inner: str) -> None:
    """Each would take minutes if what it reads cost nothing: 250,000 times 100,000 characters or items."""
    scope = {"$l": [0] * 500, "$text": "x" * 99_999, "$same": "x" * 99_998 + "x", "$list": list(range(100_000))}
    began = time.process_time()
    with pytest.raises(ExpressionError):
        evaluate(parse(f"each($l as a, each($l as b, len({inner}) > 0))"), scope)
    assert time.process_time() - began < 2
