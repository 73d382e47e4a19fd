"""What two wordings of a text must have in common."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.entities import LONGEST, entities, preserved


def found(text, *known):
    return [(entity.kind, entity.value) for entity in entities(text, known)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order O-5512, RMA7741 and v1.2.", [("id", "O-5512"), ("id", "RMA7741"), ("id", "v1.2")]),
        ("€165.00", [("number", "165 EUR")]),
        ("1.840,50 EUR", [("number", "1840.5 EUR")]),
        ("12 %", [("number", "12 %")]),
        ("a 30-minute call", [("number", "30 minutes")]),
        ("13 March 2026", [("date", "[(2026, 3, 13)]")]),
        ("13.03.2026", [("date", "[(2026, 3, 13)]")]),
        ("2026-03-13T09:00", [("moment", "[(2026, 3, 13)] [32400]")]),
        ("at 4:30 pm", [("time", "[59400]")]),
        ("um 16 Uhr", [("time", "[57600]")]),
        ("ilse@firma.de", [("e-mail", "ilse@firma.de")]),
        ("${=$a.b + {'x': 1}.x} left", [("reference", "${=$a.b + {'x': 1}.x}")]),
        ("don't", [("negation", "not")]),
        ("nicht mehr als", [("restriction", "at most")]),
        ("kein Muss", [("restriction", "must"), ("negation", "no")][::-1]),
        (
            "bis morgen, nur heute",
            [("restriction", "until"), ("day", "morgen"), ("restriction", "only"), ("day", "heute")],
        ),
        ("Guten Morgen", []),
        ('Set it to "Closed"', [("quotation", "closed")]),
    ],
)
def test_what_a_text_says_is_read_as_typed_values(text, expected):
    assert found(text) == expected


def test_known_names_are_found_as_they_are_written():
    assert found("Lena asks lena.", "Lena", "lena") == [("name", "Lena"), ("name", "lena")]


SAME = [
    ("Refund Ms ${name} for the lamp. The lamp only, not the order.", "Only the lamp of Ms ${name}: not the order."),
    ("Pay €165.00 by 13 March 2026.", "By 2026-03-13, please pay EUR 165."),
    ("Do not send it before 16:00.", "Please don't send it before 4 pm."),
    ("Bitte bis morgen nicht buchen.", "Bis morgen bitte nicht buchen!"),
    ("No more than 3 days, please.", "At most 3 days."),
]


@pytest.mark.parametrize(("before", "after"), SAME)
def test_another_wording_of_the_same_is_the_same(before, after):
    assert preserved(before, after) == []


CHANGED = [
    ("Pay 165.", "Pay 156.", "number 165"),
    ("Pay EUR 165.", "Pay USD 165.", "165 EUR"),
    ("Pay 165.", "Pay the lot.", "lost"),
    ("Pay it.", "Pay 3 of it.", "new"),
    ("Pay O-1 once.", "Pay O-1, I mean O-1, once.", "once more"),
    ("Take two.", "Take 2.", "number word two"),
    ("By Monday.", "By Tuesday.", "day monday"),
    ("Ask Ms Okafor.", "Ask Mr Okafor.", "title ms"),
    ("Tell her.", "Tell her and Tomas.", "Tomas"),
    ("Tell her.", "Tell her about the VAT.", "VAT"),
    ("Do not pay.", "Pay.", "negation not"),
    ("Pay the lamp only.", "Pay the lamp.", "restriction only"),
    ("Zahl höchstens 3.", "Zahl mindestens 3.", "restriction at most"),
    ("Move ${a} to ${b}.", "Move ${b} to ${a}.", "changed places"),
    ("From 10:00 to 14:00.", "To 10:00 from 14:00, the other way: from 14:00 to 10:00.", "once more"),
    ("Refund the lamp, not the order.", "Refund the order, not the lamp.", "about something else"),
    ("Write to a@b.de.", "Write to a@b.com.", "e-mail"),
]


@pytest.mark.parametrize(("before", "after", "told"), CHANGED)
def test_a_wording_that_says_something_else_is_told_apart(before, after, told):
    assert any(told in difference for difference in preserved(before, after, ["Okafor"]))


def test_a_hidden_value_may_be_said_only_where_it_was_said_before():
    assert preserved("Which one?", "Which one, the sofa?", hidden=["sofa"]) == ["it gives away sofa."]
    assert preserved("Is it the sofa?", "The sofa, is it?", hidden=["sofa"]) == []


PARTS = st.sampled_from(
    [
        "Order O-17",
        "EUR 20.50",
        "13 March",
        "16:30",
        "not",
        "only",
        "${a.b}",
        "lena",
        "please",
        "the lamp",
        "x@y.de",
        "-",
        "€",
    ]
)
WORDINGS = st.one_of(st.text(max_size=200), st.lists(PARTS, max_size=20).map(" ".join))


@given(WORDINGS)
def test_every_text_says_what_it_says(text):
    assert preserved(text, text, ["lena"]) == []


@given(WORDINGS, WORDINGS)
def test_what_one_wording_has_more_is_seen_from_both_sides(one, other):
    assert preserved(one, f"{one} . O-99")
    assert preserved(f"{one} . O-99", one)
    assert isinstance(preserved(one, other), list)


@pytest.mark.parametrize(
    "piece", ["a", "1,", "-a1", "${", '"', "a.b@", "1 234 ", "no ", "a-", "e.", "not x,", "Ab ", "13.", "10:0"]
)
def test_reading_takes_about_as_long_as_the_text_is(piece):
    text = (piece * LONGEST)[:LONGEST]
    started = time.perf_counter()
    preserved(text, text, ["Lena"])
    assert time.perf_counter() - started < 3


def test_a_text_without_end_is_refused():
    assert preserved("Hi.", "x" * (LONGEST + 1))
