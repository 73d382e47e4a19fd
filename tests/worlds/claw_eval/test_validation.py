"""Bodies are accepted and refused as pydantic 2 does in lax mode."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.claw_eval.validation import Field, Invalid, defaulted, nullable, validate

ACCEPTED: list[tuple[str, Any, Any]] = [
    ("integer", "7", 7),
    ("integer", " 7 ", 7),
    ("integer", Decimal("7.0"), 7),
    ("integer", "7.0", 7),
    ("integer", True, 1),
    ("integer", "+7", 7),
    ("integer", "007", 7),
    ("integer", "1_000", 1000),
    *[("integer", f"{space}7{space}", 7) for space in "\t\n\r \x85\xa0\u2009\u3000"],
    ("integer", Decimal("1E+2"), 100),
    ("integer", 10**30, 10**30),
    ("string", "", ""),
    ("string", " 7 ", " 7 "),
    ("strings", [], []),
    ("strings", ["a", "b"], ["a", "b"]),
    ("number", 5, Decimal("5.0")),
    ("number", "5", Decimal("5.0")),
    ("number", " 1.50 ", Decimal("1.5")),
    ("number", ".5", Decimal("0.5")),
    ("number", "1e3", Decimal("1000.0")),
    ("number", True, Decimal("1.0")),
    ("number", Decimal("0.10"), Decimal("0.1")),
    *[("boolean", text, True) for text in (True, 1, Decimal("1.0"), "true", "YES", "On", "y", "t", "1")],
    *[("boolean", text, False) for text in (False, 0, Decimal("0.0"), "false", "No", "off", "n", "F", "0")],
]

REFUSED: list[tuple[str, Any, str, str]] = [
    ("integer", None, "int_type", "Input should be a valid integer"),
    ("integer", [], "int_type", "Input should be a valid integer"),
    (
        "integer",
        Decimal("7.5"),
        "int_from_float",
        "Input should be a valid integer, got a number with a fractional part",
    ),
    ("integer", "x", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
    ("integer", "7.5", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
    ("integer", "7\x1f", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
    ("integer", "7.", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
    ("integer", "1e3", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
    ("integer", "٣", "int_parsing", "Input should be a valid integer, unable to parse string as an integer"),
    (
        "integer",
        "9" * 4301,
        "int_parsing_size",
        "Unable to parse input string as an integer, exceeded maximum size",
    ),
    (
        "integer",
        Decimal("1E+30"),
        "int_parsing_size",
        "Unable to parse input string as an integer, exceeded maximum size",
    ),
    ("integer", Decimal("1E+400"), "finite_number", "Input should be a finite number"),
    ("string", None, "string_type", "Input should be a valid string"),
    ("string", 7, "string_type", "Input should be a valid string"),
    ("string", True, "string_type", "Input should be a valid string"),
    ("strings", "a", "list_type", "Input should be a valid list"),
    ("strings", None, "list_type", "Input should be a valid list"),
    ("strings", {"a": 1}, "list_type", "Input should be a valid list"),
    ("number", None, "float_type", "Input should be a valid number"),
    ("number", "x", "float_parsing", "Input should be a valid number, unable to parse string as a number"),
    ("number", "", "float_parsing", "Input should be a valid number, unable to parse string as a number"),
    ("number", 10**400, "float_type", "Input should be a valid number"),
    ("boolean", None, "bool_type", "Input should be a valid boolean"),
    ("boolean", [], "bool_type", "Input should be a valid boolean"),
    ("boolean", Decimal("0.5"), "bool_type", "Input should be a valid boolean"),
    ("boolean", 2, "bool_parsing", "Input should be a valid boolean, unable to interpret input"),
    ("boolean", 2**63, "bool_type", "Input should be a valid boolean"),
    ("boolean", " true", "bool_parsing", "Input should be a valid boolean, unable to interpret input"),
]


@pytest.mark.parametrize(("kind", "given_value", "kept"), ACCEPTED)
def test_coercions(kind: Any, given_value: Any, kept: Any) -> None:
    value = validate([Field("v", kind)], {"v": given_value})["v"]
    assert (value, type(value), str(value)) == (kept, type(kept), str(kept))


@pytest.mark.parametrize(("kind", "value", "fault", "message"), REFUSED)
def test_refusals(kind: Any, value: Any, fault: str, message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        validate([Field("v", kind)], {"v": value})
    assert refusal.value.detail == [{"type": fault, "loc": ["body", "v"], "msg": message, "input": value}]


def test_a_missing_field_shows_the_whole_body() -> None:
    with pytest.raises(Invalid) as refusal:
        validate([Field("a")], {"b": 1})
    assert refusal.value.detail == [
        {"type": "missing", "loc": ["body", "a"], "msg": "Field required", "input": {"b": 1}}
    ]


def test_all_faults_are_reported_in_the_order_of_the_fields() -> None:
    fields = [Field("a"), Field("l", "strings"), defaulted("n", 7, "integer")]
    with pytest.raises(Invalid) as refusal:
        validate(fields, {"n": None, "l": ["x", 1, None]})
    assert [(fault["type"], fault["loc"]) for fault in refusal.value.detail] == [
        ("missing", ["body", "a"]),
        ("string_type", ["body", "l", 1]),
        ("string_type", ["body", "l", 2]),
        ("int_type", ["body", "n"]),
    ]
    assert str(refusal.value).startswith("a: Field required; l.1: Input should be a valid string")


def test_unknown_fields_are_dropped_and_defaults_filled_in_order() -> None:
    fields = [Field("a"), defaulted("n", 7, "integer"), nullable("c"), defaulted("l", [], "strings")]
    assert list(validate(fields, {"junk": 1, "c": None, "a": "x"}).items()) == [
        ("a", "x"),
        ("n", 7),
        ("c", None),
        ("l", []),
    ]


def test_null_is_a_value_only_where_it_is_declared() -> None:
    assert validate([nullable("a", "integer")], {"a": None}) == {"a": None}
    with pytest.raises(Invalid):
        validate([defaulted("a", 7, "integer")], {"a": None})


@pytest.mark.parametrize(
    ("body", "fault"), [(None, "missing"), ([], "model_attributes_type"), ("x", "model_attributes_type")]
)
def test_a_body_that_is_no_object(body: Any, fault: str) -> None:
    with pytest.raises(Invalid) as refusal:
        validate([], body)
    assert [(each["type"], each["loc"]) for each in refusal.value.detail] == [(fault, ["body"])]


FIELDS = [
    Field("s"),
    Field("l", "strings"),
    defaulted("i", 1, "integer"),
    defaulted("n", Decimal("1.0"), "number"),
    nullable("b", "boolean"),
]
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False) | st.text(max_size=8) | st.just("7.0")
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)


@given(st.dictionaries(st.sampled_from("slinbx"), VALUES) | VALUES)
def test_a_body_is_either_clean_or_explained_and_a_clean_one_stays_as_it_is(body: Any) -> None:
    clean, detail = _outcome(body)
    if clean is None:
        assert detail
        assert all(fault["loc"][0] == "body" and fault["msg"] for fault in detail)
    else:
        assert list(clean) == ["s", "l", "i", "n", "b"]
        assert _outcome(clean) == (clean, [])


def _outcome(body: Any) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    try:
        return validate(FIELDS, body), []
    except Invalid as refusal:
        return None, refusal.detail
