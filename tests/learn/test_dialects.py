"""How tool calls are written and read again."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.answers import CALLS_LIMIT, parse_json
from coworkenv.agents.counting import as_json
from coworkenv.learn.dialects import DIALECTS, HERMES, dialect_of, spoken

NAMES = [each.name for each in DIALECTS]
BY_NAME = {each.name: each for each in DIALECTS}
SIGNS = sorted({sign for each in DIALECTS for sign in each.signs} | {"</tool_call>", "\n", '"', "}", "</think>"})

texts = st.lists(st.sampled_from(SIGNS) | st.text(max_size=6)).map("".join)
numbers = st.integers(-(10**20), 10**20) | st.decimals(allow_nan=False, allow_infinity=False, places=2, max_value=10**9)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
names = st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True)
calls = st.lists(
    st.builds(lambda name, args: {"name": name, "args": args}, names, st.dictionaries(texts, values, max_size=4)),
    max_size=4,
)


def written(name: str, text: str, made) -> str:
    return "".join(piece.text for piece in BY_NAME[name].write(text, made))


@pytest.mark.parametrize("name", NAMES)
@given(made=calls, said=st.sampled_from(["", "I look it up.", "Zuerst\ndie Bestellung: {3}"]))
def test_what_is_written_is_read_as_the_same(name, made, said):
    """Whatever the values hold, and every number with its digits."""
    text, read = BY_NAME[name].read(written(name, said, made))
    assert (text, as_json(read)) == (said, as_json(made))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_keep_their_digits(name):
    made = [{"name": "pay", "args": {"amount": Decimal("315.60"), "n": 3, "to": "0012"}}]
    _, read = BY_NAME[name].read(written(name, "", made))
    assert as_json(read[0]["args"]) == '{"amount":315.60,"n":3,"to":"0012"}'


@pytest.mark.parametrize("name", NAMES)
@given(made=calls, text=texts, cut=st.integers(0, 200))
def test_whatever_is_read_is_text_and_calls_and_never_fails(name, made, text, cut):
    whole = written(name, "", made)
    for said in (text, whole[:cut], whole[cut:], text + whole):
        words, read = BY_NAME[name].read(said)
        assert isinstance(words, str)
        assert all(isinstance(call["name"], str) and ("error" in call) == (call["args"] is None) for call in read)
        parse_json(as_json(read))


@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_is_cut_off_is_one_that_its_agent_is_told_of(name):
    whole = written(name, "", [{"name": "find", "args": {"id": "K-1", "size": "large"}}])
    _, read = BY_NAME[name].read(whole[: whole.index("large")])
    assert [call["args"] for call in read] == [None]
    assert "not valid JSON" in read[0]["error"]
    assert read[0]["name"] == "find"


@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_limit_to_calls(name):
    made = [{"name": "find", "args": {}}] * (CALLS_LIMIT + 5)
    assert len(BY_NAME[name].read(written(name, "", made))[1]) == CALLS_LIMIT


@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_could_not_be_read_is_written_without_arguments(name):
    text, read = BY_NAME[name].read(written(name, "", [{"name": "find", "args": None, "error": "?"}]))
    assert (text, read) == ("", [{"name": "find", "args": {}}])


LOOSE = {
    "hermes": [
        '<tool_call>{"name": "f", "arguments": {"a": 1}}',
        '<tool_call>\n{"arguments": "{\\"a\\": 1}", "name": "f"}\n</tool_call> more',
        '<tool_call>{"name": "f", "parameters": {"a": 1}} </tool_call>',
    ],
    "llama": ['<|python_tag|>{"name": "f", "parameters": {"a": 1}}', '{"name": "f",\n "arguments": {"a":\n1}};'],
    "mistral": [
        '[TOOL_CALLS] {"name": "f", "arguments": {"a": 1}}',
        '[TOOL_CALLS][{"name":"f","arguments":{"a":1}}] x',
    ],
    "plain": ['<|call|>f{"a": 1}', '<|call|> f\n{"a": 1} and so on'],
}


@pytest.mark.parametrize("name", NAMES)
def test_small_liberties_are_forgiven(name):
    for said in LOOSE[name]:
        assert BY_NAME[name].read(said)[1] == [{"name": "f", "args": {"a": 1}}], said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("args", ["NaN", "[" * 100_000, "1" * 5000, '{"a": 1e999999999999}', "{'a': 1}"])
def test_what_is_not_json_is_an_error(name, args):
    made = written(name, "", [{"name": "f", "args": {}}]).replace("{}", args)
    (call,) = BY_NAME[name].read(made)[1]
    assert "error" in call


@pytest.mark.parametrize(
    ("said", "thinking", "left"),
    [
        ("<think>\nhm <tool_call>\n</think>\n\nYes.", False, "\n\nYes."),
        ("<think> cut off", False, ""),
        ("hm</think>Yes.", True, "Yes."),
        ("cut off", True, ""),
        ("It says </think> there.", False, "It says </think> there."),
        ("Yes.", False, "Yes."),
    ],
)
def test_a_thought_is_not_spoken(said, thinking, left):
    assert spoken(said, thinking) == left


def test_the_format_is_told_by_the_template_then_by_the_tokens():
    assert dialect_of("… <|python_tag|> …").name == "llama"
    assert dialect_of("… [TOOL_CALLS] …", ["<tool_call>"]).name == "mistral"
    assert dialect_of("…", ["<s>", "<|call|>"]).name == "plain"
    assert dialect_of("…", ["<s>"]) is HERMES
