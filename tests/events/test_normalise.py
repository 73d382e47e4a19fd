"""Whatever comes from outside is made JSON once, or refused with the place where it is not."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict, namedtuple
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coworkenv.events import NotJson, normalise
from coworkenv.events.codec import from_json, to_json

CHARACTERS = st.characters(exclude_categories=[]) | st.sampled_from("\ud800\udc00\udfff")
TEXT = st.text(CHARACTERS, max_size=6)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | TEXT | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(TEXT | st.integers(), inner, max_size=3)
        | st.sets(st.integers(), max_size=2)
    ),
    max_leaves=8,
)


@given(ANYTHING)
@example(["\ud83d", "\ude00", "\ud83d\ude00", "\ude00\ud83d"])
def test_what_passes_survives_being_json_and_passes_again(value: Any) -> None:
    try:
        plain, _ = normalise(value)
    except NotJson:
        return
    assert repr(from_json(to_json(plain))) == repr(plain)
    again, notes = normalise(plain)
    assert repr(again) == repr(plain)
    assert notes == ()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fractions_keep_the_digits_that_python_prints(number: float) -> None:
    plain, _ = normalise(number)
    assert isinstance(plain, (Decimal, int))  # an integer from 1e16 on, where the digits have no point
    assert float(plain) == number
    assert plain == Decimal(repr(number))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (math.nan, "$"),
        ({"a": [1, math.inf]}, "$.a[1]"),
        ({"a b": Decimal("sNaN")}, "$['a b']"),
        ({"tags": {"x", "y"}}, "$.tags"),
        ({"o": {1: 2}}, "$.o"),
        ([b"bytes"], "$[0]"),
        ([[object()]], "$[0][0]"),
        ({"n": 10**400}, "$.n"),
        ({"n": Decimal("1E+400")}, "$.n"),
        ({"n": Decimal("1E-401")}, "$.n"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value: Any, path: str) -> None:
    with pytest.raises(NotJson) as caught:
        normalise(value)
    assert caught.value.path == path
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**64), 10**399, -(10**399)])
def test_integers_beyond_64_bits_are_kept(number: int) -> None:
    plain, notes = normalise(number)
    assert (plain, notes) == (number, ())
    assert from_json(to_json(plain)) == number


@pytest.mark.parametrize(("number", "plain"), [("5", 5), ("-0", 0), ("5.0", Decimal("5.0")), ("1E+2", Decimal("1E+2"))])
def test_a_decimal_without_a_point_is_an_integer(number: str, plain: Any) -> None:
    assert repr(normalise(Decimal(number))[0]) == repr(plain)


def test_depth_64_passes_and_65_does_not() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for level in range(depth):
            value = [value] if level % 2 else {"k": value}
        return value

    assert normalise(nested(64))[0] == nested(64)
    with pytest.raises(NotJson, match="64"):
        normalise(nested(65))


def test_a_value_that_holds_itself_is_too_deep() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotJson, match="64"):
        normalise(loop)


def test_lone_surrogates_become_replacement_characters_and_are_noted() -> None:
    plain, notes = normalise({"text": "a\ud800b", "\udc00": "\ud83d\ude00"})
    assert plain == {"text": "a�b", "�": "😀"}
    assert len(notes) == 3
    assert notes[0].startswith("$.text: ")


def test_two_keys_that_become_one_are_noted() -> None:
    plain, notes = normalise({chr(0xD800): 1, chr(0xDFFF): 2})
    assert plain == {"�": 2}
    assert any("two keys" in note for note in notes)


def test_subclasses_become_plain() -> None:
    Pair = namedtuple("Pair", "a b")
    Colour = enum.StrEnum("Colour", ["RED"])
    Level = enum.IntEnum("Level", ["LOW"])
    plain, _ = normalise(OrderedDict(pair=Pair(1, 2), colour=Colour.RED, level=Level.LOW))
    assert plain == {"pair": [1, 2], "colour": "red", "level": 1}
    assert [type(item) for item in (plain, *plain.values())] == [dict, list, str, int]


def test_the_order_of_keys_is_kept() -> None:
    assert list(normalise({"z": 1, "a": 2, "m": 3})[0]) == ["z", "a", "m"]
