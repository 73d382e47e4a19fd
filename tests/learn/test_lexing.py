"""The tokenizer of `pocket`: what a small model can copy, a policy of it can write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.learn.lessons import Lesson
from coworkenv.learn.lexing import SPECIAL, lesson_texts, train_tokenizer
from coworkenv.learn.rendering import Rendering

TEXTS = [
    "Please dispose of the sample from project Larkspur Omega, and then of Saltmarsh Alpha.",
    '[{"id":"LB-1248","study":"Larkspur Omega","volume_ml":97,"stored_until":"2026-12-16"}]',
    "laboratory_samples_find(id?, study?, volume_ml?:num)\nlaboratory_discard(id, sticker_no)",
] * 20


@pytest.fixture(scope="module")
def rendering() -> Rendering:
    return Rendering(train_tokenizer(TEXTS, 400))


@given(st.text())
def test_every_text_comes_back_as_it_was(rendering: Rendering, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert rendering.tokens.text(rendering.tokens.untrusted(text)) == text


def test_a_name_has_the_same_ids_in_prose_and_in_a_record(rendering: Rendering) -> None:
    name = rendering.tokens.untrusted("Larkspur Omega")
    for around in (
        "project Larkspur Omega, please",
        '{"study":"Larkspur Omega"}',
        "Larkspur Omega",
        "\nLarkspur Omega.",
    ):
        ids = rendering.tokens.untrusted(around)
        assert any(ids[place : place + len(name)] == name for place in range(len(ids)))


def test_no_token_is_longer_than_a_word_and_each_digit_is_one(rendering: Rendering) -> None:
    tokenizer = rendering.tokens.tokenizer
    for i in range(len(tokenizer)):
        text = tokenizer.decode([i], skip_special_tokens=False)
        # A byte that is no whole character is decoded as the replacement character.
        assert text in SPECIAL or re.fullmatch(r"[0-9]|[A-Za-z]+|[^A-Za-z0-9\s]+|\s", text), text
    assert len(rendering.tokens.untrusted("20261116")) == 8


def test_the_same_texts_give_the_same_tokenizer(rendering: Rendering) -> None:
    assert Rendering(train_tokenizer(TEXTS, 400)).digest == rendering.digest
    assert Rendering(train_tokenizer(TEXTS, 300)).digest != rendering.digest


def test_it_has_no_more_tokens_than_asked_for(rendering: Rendering) -> None:
    assert 256 + len(SPECIAL) < len(rendering.tokens.tokenizer) <= 400


def test_its_template_does_all_that_chats_need(rendering: Rendering) -> None:
    assert rendering.template.notes == []
    assert rendering.dialect.name == "plain"
    assert rendering.template.end == rendering.tokens.tokenizer.eos_token_id


@given(st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20), st.integers(0, 10**6))
def test_calls_are_read_as_they_were_written(rendering: Rendering, name: str, number: int) -> None:
    calls = [{"name": "a_find", "args": {"name": name}}, {"name": "b_add", "args": {"number": number}}]
    text, read = rendering.read(rendering.answer("", calls))
    assert text == ""
    assert [call["name"] for call in read] == ["a_find", "b_add"]
    assert read[1]["args"] == {"number": number}


def test_demonstrations_are_read_whole() -> None:
    call = {"function": {"name": "wiki_find", "arguments": '{"id":"P-1"}'}}
    lesson = Lesson(
        messages=(
            {"role": "user", "content": "Look it up."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ),
        tools=({"function": {"name": "wiki_find", "parameters": {"properties": {"id": {"type": "string"}}}}},),
    )
    assert lesson_texts([lesson]) == ["wiki_find(id?)", "Look it up.", "", 'wiki_find {"id":"P-1"}']
