"""What responses of chat servers mean: whatever comes, there is a verdict, and it can go into a log."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.agent import Outside
from coworkenv.agents.answers import Again, Hopeless, judge
from coworkenv.events.normalise import normalise

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


def mutated(base, path, value):
    """`base` with whatever stands at `path` replaced."""
    if not path:
        return value
    if isinstance(base, dict) and base:
        key = sorted(base)[path[0] % len(base)]
        return {**base, key: mutated(base[key], path[1:], value)}
    if isinstance(base, list) and base:
        index = path[0] % len(base)
        return [*base[:index], mutated(base[index], path[1:], value), *base[index + 1 :]]
    return value


GOOD = {
    "choices": [
        {
            "message": {"content": "Hi", "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": "{}"}}]},
            "finish_reason": "stop",
            "token_ids": [1, 2],
            "logprobs": {"content": []},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
}


@given(st.sampled_from([200, 400, 401, 404, 413, 429, 500]), st.binary(max_size=200))
def test_any_bytes_have_a_verdict(status, body):
    assert isinstance(judge(status, {}, body, "prompt"), Outside | Again | Hopeless)


@given(st.lists(st.integers(0, 9), max_size=8), ANYTHING)
def test_an_answer_with_anything_anywhere_in_it_can_be_logged(path, value):
    body = json.dumps(mutated(GOOD, path, value)).encode()
    verdict = judge(200, {}, body, "prompt")
    if isinstance(verdict, Outside):
        normal, notes = normalise(verdict.answer.value)
        assert normal == verdict.answer.value
        assert notes == ()
        normalise(verdict.observed)
        if verdict.answer.refused is None:
            assert set(verdict.answer.value) - {"ids"} == {"text", "calls", "stop"}
            assert verdict.answer.tokens is not None
            assert verdict.answer.tokens >= 0


@given(ANYTHING)
def test_any_arguments_are_an_object_or_another_value_or_an_error(value):
    body = json.loads(json.dumps(GOOD))
    body["choices"][0]["message"]["tool_calls"] = [{"function": {"name": "look", "arguments": json.dumps(value)}}]
    verdict = judge(200, {}, json.dumps(body).encode(), "prompt")
    assert isinstance(verdict, Outside)
    [call] = verdict.answer.value["calls"]
    assert call["name"] == "look"
    assert ("error" in call) <= (call["args"] is None)


def test_only_so_many_calls_are_taken():
    body = json.loads(json.dumps(GOOD))
    body["choices"][0]["message"]["tool_calls"] = [{"function": {"name": "look", "arguments": "{}"}}] * 1000
    verdict = judge(200, {}, json.dumps(body).encode(), "prompt")
    assert isinstance(verdict, Outside)
    assert len(verdict.answer.value["calls"]) == 64


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, ""), ("Hi", "Hi"), ([{"type": "text", "text": "H"}, {"text": "i"}, 5, {"x": 1}], "Hi"), (5, "")],
)
def test_content_comes_in_several_dialects(content, text):
    verdict = judge(200, {}, json.dumps({"choices": [{"message": {"content": content}}]}).encode(), "prompt")
    assert isinstance(verdict, Outside)
    assert verdict.answer.value["text"] == text


def test_a_refusal_in_words_is_words():
    verdict = judge(200, {}, b'{"choices": [{"message": {"content": null, "refusal": "I will not."}}]}', "prompt")
    assert isinstance(verdict, Outside)
    assert verdict.answer.value["text"] == "I will not."


@pytest.mark.parametrize(
    ("headers", "after"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "Tue, 03 Mar 2026 10:00:09 GMT"}, None),
        ({"retry-after": "Tue, 03 Mar 2026 10:00:09 GMT", "date": "Tue, 03 Mar 2026 10:00:00 GMT"}, 9.0),
        ({"retry-after": "Tue, 03 Mar 2026 09:00:00 GMT", "date": "Tue, 03 Mar 2026 10:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_by_the_servers_own_clock(headers, after):
    verdict = judge(503, headers, b"", "prompt")
    assert isinstance(verdict, Again)
    assert verdict.after == after


def test_a_servers_own_words_are_kept_short_and_on_one_line():
    verdict = judge(418, {}, json.dumps({"error": {"message": "a\nb\x1b[31m" + "x" * 5000}}).encode(), "prompt")
    assert isinstance(verdict, Hopeless)
    assert len(verdict.reason) < 400
    assert verdict.reason.isprintable()
