"""Phrases: each half has alternatives of its own, references stay as they are, and a style is a manner of speaking."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.grammar import LANGUAGES, MANNERS, STYLES, Grammar, capital, filled, halved
from coworkenv.worlds.synth.origin import Draw, Half

HALVES: tuple[Half, Half] = ("first", "second")
texts = st.lists(
    st.text(st.characters(codec="ascii", exclude_characters="[]{}|$@"), min_size=1), min_size=2, unique=True
)


def grammar(half: Half = "first", style: str = "plain", language: str = "en", key: bytes = b"x") -> Grammar:
    return Grammar(Draw(key), half, language, style)


@given(texts)
def test_halves_share_nothing_and_leave_nothing_out(alternatives: list[str]) -> None:
    first, second = (halved(alternatives, half) for half in HALVES)
    assert not set(first) & set(second)
    assert sorted([*first, *second]) == sorted(alternatives)
    assert len(first) - len(second) in (0, 1)


def test_a_list_of_one_is_for_both() -> None:
    assert halved(["only"], "first") == halved(["only"], "second") == ["only"]


@given(texts, st.binary())
def test_a_phrase_is_one_of_its_half(alternatives: list[str], key: bytes) -> None:
    for half in HALVES:
        assert grammar(half, key=key).phrase(alternatives, {}) in halved(alternatives, half)


@given(st.binary())
def test_choices_and_words_are_put_in_and_references_are_left(key: bytes) -> None:
    said = grammar(key=key).phrase(["[Take|Use] {the} ${a1.value} of @{row.id} and @{=len(@x)} {deep}"], WORDS)
    assert re.fullmatch(r"(Take|Use) the cost centre \$\{a1.value\} of @\{row.id\} and @\{=len\(@x\)\} an id", said)


WORDS = {"the": "the {noun}", "noun": "cost centre", "deep": "an {id}", "id": "id"}


def test_a_word_that_is_not_given_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("Hello {nobody}", {})


def test_a_capital_is_for_words_not_for_references() -> None:
    assert [capital(text) for text in ("so", "${a}", "")] == ["So", "${a}", ""]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("language", LANGUAGES)
@given(key=st.binary())
def test_a_message_opens_and_closes_in_the_manner_of_its_half(key: bytes, style: str, language: str) -> None:
    manner = MANNERS[language][style]
    for half in HALVES:
        said = grammar(half, style, language, key).message(["Do ${a}.", "Then ${b}."])
        assert said.startswith(tuple(halved(manner.opening, half)) or ("",))
        assert said.endswith(tuple(halved(manner.closing, half)) or ("",))
        assert said.index("${a}") < said.index("${b}")
        assert said == said.strip()


def test_in_a_hurry_there_are_no_capitals_and_no_full_stops_but_names_stay() -> None:
    said = grammar(style="hurried").message(["Please do it.", "E-88 goes first."])
    assert "please do it" in said
    assert "E-88 goes first" in said
    assert "it." not in said


def test_every_style_is_in_every_language_with_a_half_for_each() -> None:
    for language in LANGUAGES:
        assert tuple(MANNERS[language]) == STYLES
        for style, manner in MANNERS[language].items():
            for part in (manner.opening, manner.closing):
                assert len(part) in (1, 2, 4), (language, style)
