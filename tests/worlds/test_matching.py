"""Typed values: when two are the same, and when a text mentions one."""

from __future__ import annotations

import time
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.matching import Reading, equal_to, identity, looks_like, mentions, needle, same
from coworkenv.worlds.patterns import LONGEST, PatternError

numbers = st.decimals(min_value=0, max_value=10**9, places=2)
ids = st.from_regex(r"[A-Z]{1,3}-[1-9][0-9]{0,4}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


# --- same --------------------------------------------------------------------------------------------------


@given(json_values)
def test_every_value_is_the_same_as_itself(value):
    assert same(value, value)


@given(json_values, json_values)
def test_sameness_has_no_direction(a, b):
    assert same(a, b) is same(b, a)


@given(json_values, json_values)
def test_what_is_the_same_has_the_same_identity(a, b):
    if same(a, b):
        assert identity(a) == identity(b)
    hash(identity(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (165, Decimal("165.00")),
        (165, "165"),
        (Decimal("165.0"), "165.00"),
        ("09:00", "09:00:00"),
        ("2026-03-12T09:00", "2026-03-12T09:00:00"),
        ("2026-03-12T09:00", "2026-03-12 09:00"),
        ("2026-03-12T09:00+01:00", "2026-03-12T08:00Z"),
        ([1, "a"], [Decimal("1.0"), "a"]),
        ({"a": 1, "b": 2}, {"b": Decimal("2.0"), "a": "1"}),
        (-3, "-3"),
    ],
)
def test_the_same_value_in_two_spellings(a, b):
    assert same(a, b)
    assert identity(a) == identity(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        (False, 0),
        (None, False),
        (None, ""),
        ("165", "165.00"),
        ("O-5512", "o-5512"),
        ("lamp", "lamp "),
        (165, "€165"),
        (165, "0165"),
        (165, "165 "),
        (1, "1e0"),
        ([1], 1),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": None}),
        ("2026-03-12T09:00", "2026-03-12T09:00+01:00"),
        ("2026-02-30T09:00", "2026-02-30T09:00:00"),
        ("2026-03-12", "2026-03-12T00:00"),
    ],
)
def test_other_values(a, b):
    assert not same(a, b)
    assert not equal_to(b)(a)


# --- numbers in texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("€165", "165.00", "165 EUR", "EUR165", "165eur", "165,00 €", "It cost 165.", "**165**", "$165/item", "165%"),
        *(
            "共165元",
            "(165)",
            "order #165",
            "a 165-page book",
            "160-165",
            "165/2",
            "total:165",
            "１６５",
            "2+165",
            "`165`",
        ),
    ],
)
def test_a_number_in_many_notations(text):
    assert mentions(text, 165)
    assert mentions(text, Decimal("165.00"))
    assert mentions(text, "165")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "O-165",
            "165-A",
            "RMA165",
            "165b",
            "x165",
            "PO/165",
            "v1.165",
            "165@example.org",
            "a@165",
            "_165",
            "165_a",
            "1651",
        ),
        *("-165", "165.5", "1,165", "0165", "165:00", "165k", "a-165-b", "3-165-2", "165万"),
    ],
)
def test_digits_that_are_another_number_or_none(text):
    assert not mentions(text, 165)


@pytest.mark.parametrize(
    "text", ["1,234.50", "1.234,50", "1'234.50", "1’234,50", "1 234.50", "1\u00a0234,50", "1234.5"]
)
def test_thousands_and_decimals_by_position(text):
    assert mentions(f"In all {text} EUR.", Decimal("1234.50"))


@pytest.mark.parametrize("text", ["1.234", "1,234", "1 234"])
def test_a_lone_separator_before_three_digits_is_read_both_ways(text):
    assert mentions(text, 1234)
    assert mentions("1.234", Decimal("1.234"))


@pytest.mark.parametrize(
    ("text", "value"),
    [("12k", 12000), ("1.2 million", 1_200_000), ("3万", 30_000), ("-7", -7), ("−7", -7), ("minus -7", -7)],
)
def test_factors_and_signs(text, value):
    assert mentions(text, value)


def test_a_blank_groups_digits_by_threes_only():
    assert not mentions("1234 567", 234567)
    assert not mentions("12 3456", 123456)
    assert mentions("12 345 678", 12345678)


@given(numbers, st.sampled_from(["{} EUR", "€{}", "paid {}.", "({})", "{}元", "**{}**", "from {} on"]))
def test_any_amount_is_found_in_any_sentence(amount, sentence):
    assert mentions(sentence.format(amount), amount)
    assert mentions(sentence.format(f"{amount:,}"), amount)
    german = f"{amount:,}".replace(",", "_").replace(".", ",").replace("_", ".")
    assert mentions(sentence.format(german), amount)


@given(ids, st.sampled_from(["{}", "Order {}.", "({}),", "“{}”", "{}'s", "see {}: done", "客户{}的"]))
def test_an_id_is_found_and_its_digits_are_not(name, sentence):
    text = sentence.format(name)
    assert mentions(text, name)
    assert mentions(text, name.lower())
    assert not mentions(text, int(name.split("-")[1]))
    assert not mentions(sentence.format(name + "-2"), name)
    assert not mentions(sentence.format(name + "7"), name)
    assert not mentions(sentence.format("X" + name), name)


# --- dates and times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2026-03-13",
            "2026/03/13",
            "13 March 2026",
            "March 13",
            "Mar 13th",
            "on the 13th of March, 2026",
            "13.03.2026",
        ),
        *("13.3.2026", "am 13.3. um", "03/13/2026", "13/03/2026", "13/03/26", "13. März", "3月13日", "2026年3月13日"),
        *("2026-03-13T16:00", "Fri 13 Mar at 16:00", "March 13, 2026", "13-03-2026", "12-13 March"),
    ],
)
def test_a_date_in_many_notations(text):
    assert mentions(f"Moved: {text}", "2026-03-13")


@pytest.mark.parametrize(
    "text", ["Friday", "March 2026", "14 March", "13.03.2025", "13 March 2027", "2026-03-131", "13", "x13.3."]
)
def test_no_such_date(text):
    assert not mentions(text, "2026-03-13")


@given(
    st.dates(date(1900, 1, 1), date(2100, 12, 31)),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%B %d, %Y", "%d/%m/%Y", "%m/%d/%Y", "%Y年%m月%d日"]),
)
def test_any_date_is_found_in_any_notation_and_no_number_with_it(day, notation):
    text = f"It is on {day.strftime(notation)}."
    assert mentions(text, day.isoformat())
    assert not mentions(text, day.year)
    ambiguous = "/" in notation
    other = day + timedelta(days=1)
    assert ambiguous or not mentions(text, other.isoformat())


@pytest.mark.parametrize(
    "text",
    [
        *("16:00", "4 pm", "4pm", "4:00 p.m.", "16 Uhr", "16.00 Uhr", "下午4点", "16:00:00", "15:00-16:00", "16点"),
        *("2026-03-13T16:00+01:00", "at 16:00, please", "16:00 Japan time", "4 PM"),
    ],
)
def test_a_time_in_many_notations(text):
    assert mentions(text, "16:00")
    assert not mentions(text, 16)


@pytest.mark.parametrize("text", ["4:00", "4 am", "16:30", "116:00", "16", "16h", "4 o'clock"])
def test_another_time(text):
    assert not mentions(text, "16:00")


def test_a_date_with_a_time_needs_both():
    assert mentions("Friday, 13 March, 8:00", "2026-03-13T08:00")
    assert not mentions("13 March", "2026-03-13T08:00")
    assert not mentions("13 March at 9:00", "2026-03-13T08:00")


@pytest.mark.parametrize(
    ("text", "value"),
    [("12 am", "00:00"), ("12 pm", "12:00"), ("12:30 am", "00:30"), ("9点30分", "09:30"), ("9点半", "09:30")],
)
def test_half_days_and_half_hours(text, value):
    assert mentions(text, value)


# --- words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Which ORDER is it?", "order"),
        ("It was not  **approved**.", "not approved"),
        ("She is at the clinic-based desk", "clinic"),
        ("客户是张三。", "张三"),
        ("write to kenji@hoshi.example.", "kenji@hoshi.example"),
        ("STRASSE", "straße"),
        ("cafe\u0301", "café"),
        ("all of it: O-1 and 165 €", ["O-1", 165]),
        ("O-1 for 165", {"order": "O-1", "amount": 165}),
        ("that is true", True),
    ],
)
def test_words_and_phrases(text, value):
    assert mentions(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("two customers", "customer"),
        ("reorder", "order"),
        ("not yet approved", "not approved"),
        ("kenji@hoshi.example.org", "kenji@hoshi.example"),
        ("anything", ""),
        ("null", None),
        ("only O-1", ["O-1", 165]),
        ("anything", []),
    ],
)
def test_words_that_are_not_there(text, value):
    assert not mentions(text, value)


@given(st.text(), json_values)
def test_nothing_that_is_written_or_wanted_breaks_it(text, value):
    assert needle(value)(Reading(text)) is mentions(text, value)


# --- patterns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["TRK-88120", "see trk88120!", "(TRK-1)", "号TRK-1号"])
def test_a_pattern_is_found_as_a_whole_word(text):
    assert looks_like(text, "TRK-?#")


@pytest.mark.parametrize("text", ["TRK-", "XTRK-1", "TRK-1A", "TRK--1", "TRK 1", ""])
def test_a_pattern_is_not_found_in_part(text):
    assert not looks_like(text, "TRK-?#")


def test_a_run_of_letters_or_digits_and_blanks():
    assert looks_like("ref 12-ab7-c", "#-*-c")
    assert looks_like("the code  is 77", "code is #")
    assert not looks_like("the code 77", "code is #")
    assert looks_like("ab", "a#?b")


@pytest.mark.parametrize("pattern", ["", "?a", "a??", "a?", "#?*?", "a" * (LONGEST + 1)])
def test_a_pattern_that_says_nothing_is_refused(pattern):
    with pytest.raises(PatternError):
        looks_like("a", pattern)


@given(st.from_regex(r"[A-Z]{2,3}-?[0-9]{1,6}", fullmatch=True), st.text(alphabet=" .,;()!"))
def test_a_pattern_finds_every_id_of_its_form(name, around):
    family = name.rstrip("0123456789").rstrip("-")
    assert looks_like(around + name + around, f"{family}-?#")
    assert looks_like(around + name + around, f"{family.lower()}-?*")
    assert not looks_like(around + name + "x" + around, f"{family}-?#")


# --- time --------------------------------------------------------------------------------------------------

HARD = {
    "digits": "1" * 10**6,
    "points": "1." * 500_000,
    "hyphens": "1-" * 500_000,
    "colons": "1:" * 500_000,
    "letters": "a" * 10**6,
    "marks": "a" + "\u0301\u0323" * 500_000,
    "months": "march " * 170_000,
    "days": "13 march " * 110_000,
    "groups": "1 000 " * 160_000,
    "wide": "中文3月" * 250_000,
}


@pytest.mark.parametrize("name", HARD)
def test_a_megabyte_of_anything_is_read_in_linear_time(name):
    """Twice the text takes about twice as long; a quadratic reading would take minutes."""
    text = HARD[name]
    start = time.perf_counter()
    for part in (text[: len(text) // 2], text):
        assert not mentions(part, 987654321)
        assert not mentions(part, "zz-9")
        assert not looks_like(part, "*-?*-?*#z?#y")
    assert time.perf_counter() - start < 30
