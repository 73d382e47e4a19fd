"""Whatever is in a log, what reaches a screen is text: on one line, no wider than there is room."""

import unicodedata
from decimal import Decimal

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from coworkenv.engine.printable import as_json, brief, elided, printable, printable_lines, shortened

texts = st.text() | st.text(alphabet="ab \x1b[31m\x07\x9b\u202e\u200d\t\r\n日本🎉e\u0301")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts | st.decimals(-1000, 1000, places=2),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=12,
)


encode = msgspec.json.Encoder(decimal_format="number").encode
decode = msgspec.json.Decoder(float_hook=Decimal).decode


def is_safe(text: str) -> bool:
    return not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\ufeff"
        for c in text
    )


@given(texts)
def test_what_is_printed_has_no_control_characters_and_is_one_line(text):
    assert is_safe(printable(text))
    assert all(is_safe(line) for line in printable_lines(text))


def test_an_escape_sequence_is_seen_and_not_obeyed():
    assert printable("\x1b[31mred\x9b0m\u202e") == "\\x1b[31mred\\x9b0m\\u202e"


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S"], max_codepoint=0x2FFF)))
def test_ordinary_text_is_left_as_it_is(text):
    assert printable(text) == text


@given(texts, st.integers(-2, 60))
def test_a_shortened_text_takes_no_more_cells_than_it_may(text, cells):
    assert cell_len(shortened(text, cells)) <= max(0, cells)
    assert cell_len(elided(text, cells)) <= max(0, cells)
    assert is_safe(shortened(text, cells))


@given(st.text(alphabet="abc日", min_size=1, max_size=40))
def test_a_text_that_fits_is_not_shortened(text):
    assert shortened(text, cell_len(text)) == text
    assert elided(text, cell_len(text)) == text


def test_names_that_end_differently_can_be_told_apart_when_they_are_cut():
    first, second = (elided(f"office.late-change/0001@{twin}", 20) for twin in ("fish", "later"))
    assert first != second
    assert first.endswith("@fish")


@given(values, st.integers(1, 80))
def test_a_brief_value_fits_and_is_safe(value, cells):
    assert cell_len(brief(value, cells)) <= cells
    assert is_safe(brief(value, cells))


@given(values.filter(lambda value: "\ud800" not in str(value)))
def test_json_for_a_terminal_is_safe_and_says_the_same(value):
    text = as_json(value)
    assert not set(text) & {chr(c) for c in (*range(32), *range(0x7F, 0xA0), 0x202E, 0x2028)}
    assert decode(text) == decode(encode(value))


def test_megabytes_are_cut_without_being_looked_at_whole():
    assert shortened("x" * 50_000_000, 10) == "xxxxxxxxx…"
    assert brief({"text": ["x" * 50_000_000]}, 12) == "text: [xxxx…"
