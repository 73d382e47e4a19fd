"""Documents: strict YAML and JSON as plain data, with the line of each value."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.document import DEEPEST, DocumentError, NotADocument, load, name, parse

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "on", "off", "y", "2026-03-13", "09:30", "0123", "0x1F", "0o17", "+49", "1_000", "5.", ".5", "="],
)
def test_what_yaml_1_1_would_turn_into_something_else_stays_a_text(text: str) -> None:
    assert parse(f"a: {text}") == {"a": text}
    assert parse(f"{text}: 1") == {text: 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("False", False),
        ("-7", -7),
        ("'7'", "7"),
        ('"null"', "null"),
    ],
)
def test_plain_words_of_the_core_schema(text: str, value: Any) -> None:
    assert parse(f"a: {text}") == {"a": value}


@pytest.mark.parametrize("digits", ["165.00", "0.10", "-3.5", "1e3", "2.50E-7"])
def test_numbers_with_a_point_keep_their_digits(digits: str) -> None:
    for text in (f"a: {digits}", f'{{"a": {digits}}}'):
        value = parse(text)["a"]
        assert isinstance(value, Decimal)
        assert str(value) == str(Decimal(digits))


def test_keys_keep_their_order() -> None:
    assert list(parse("b: 1\na: 2\nc: 3")) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3", 3, "twice, first on line 1"),
        ('{"a": 1,\n "a": 2}', 2, "twice, first on line 1"),
        ("a: &x 1", 1, "anchor"),
        ("a: 1\nb: *x", 2, "alias"),
        ("a:\n  <<: {b: 1}", 2, "not a text"),
        ("a: !!str 1", 1, "tag"),
        ("a: !python/object:os.system x", 1, "tag"),
        ("a: 1\n2: b", 2, "not a text"),
        ("? [a]\n: 1", 1, "plain text"),
        ("a: .inf", 1, "can be kept"),
        ("a: .nan", 1, "can be kept"),
        ('{"a": NaN}', 1, "can be kept"),
        ("a: 1\n---\nb: 2", 3, "second document"),
        ("a: 99999999999999999999", 1, "64 bits"),
        ("a: 1e999999999", 1, "exponent"),
        ("a: [1,\n  b", 2, "not YAML"),
        ("", 1, "empty"),
        ("# nothing", 1, "empty"),
        ("a: \ud800", 1, "surrogate"),
        ('{"a": "\\ud800"}', 1, "surrogate"),
        ("a: '\x01'", 1, "not YAML"),
    ],
)
def test_what_is_refused_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(DocumentError, match=says) as error:
        parse(text)
    assert error.value.line == line


@pytest.mark.parametrize("opening", ["[", '{"a":', "- ", "a: ["])
def test_deep_nesting_is_an_error_and_no_crash(opening: str) -> None:
    with pytest.raises(DocumentError):
        parse(opening * 100_000)


def test_nesting_is_allowed_up_to_its_limit() -> None:
    assert parse("[" * DEEPEST + "]" * DEEPEST) is not None
    with pytest.raises(DocumentError, match="nested deeper"):
        parse("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2))


def test_what_looks_like_json_but_is_yaml_is_read_as_yaml() -> None:
    assert parse("{a: 1, b: [x, 'y']}") == {"a": 1, "b": ["x", "y"]}


@pytest.mark.parametrize("text", ["people:\n  lena:\n    replies:\n      - {say: x}\n      - say: y\n", None])
def test_each_value_knows_its_line(text: str | None) -> None:
    text = text or '{"people":\n {"lena":\n  {"replies": \n  [{"say": "x"},\n {"say": "y"}]}}}'
    document = load(text)
    assert document.line(("people", "lena")) == 2
    assert document.line(("people", "lena", "replies", 1, "say")) == 5
    assert document.line(("people", "lena", "replies", 1, "nowhere", 3)) == 5
    assert document.line(("elsewhere",)) == 1


def test_paths_read_as_people_write_them() -> None:
    assert name(("people", "lena", "replies", 0, "say")) == "people.lena.replies[0].say"


@given(VALUES)
def test_json_reads_as_what_was_written(value: Any) -> None:
    def written(item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ",".join(f"{json.dumps(key)}: {written(inner)}" for key, inner in item.items()) + "}"
        if isinstance(item, list):
            return "[" + ", ".join(map(written, item)) + "]"
        return str(item) if isinstance(item, Decimal) else json.dumps(item)

    assert parse(f'\n {{"v": {written(value)}}}') == {"v": value}


@given(st.text(alphabet="{}[]:,-#'\"&*!|>%@`?\\ \n\tab0.e~\ufeff\x00", max_size=40))
def test_no_text_gives_anything_but_a_value_or_a_typed_error(text: str) -> None:
    try:
        parse(text)
    except DocumentError as error:
        line = error.line
    else:
        line = 1
    assert 1 <= line <= text.count("\n") + 1


def test_what_is_no_document_has_a_type_of_its_own() -> None:
    with pytest.raises(NotADocument):
        parse("a: [")
