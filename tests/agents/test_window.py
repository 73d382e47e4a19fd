"""What of a history is sent to a model: it fits, it is well formed, and what is missing is said."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.agents.counting import RULES, UTF8_4, as_json, utf8_4
from coworkenv.agents.window import LEFT_OUT, TURNS_LEFT_OUT, fit, length, shorten

TEXT = st.text(alphabet='ab \n"ü漢🙂', max_size=30).flatmap(
    lambda text: st.sampled_from([1, 1, 1, 10, 200]).map(lambda times: text * times)
)


@st.composite
def histories(draw):
    """Tools, instructions, a request, then turns: an answer with calls, their results, and messages."""
    history = [
        {"tools": []},
        {"role": "system", "content": "Work."},
        {"role": "user", "content": draw(TEXT)},
    ]
    for turn in range(draw(st.integers(0, 6))):
        calls = [
            {
                "id": f"{turn}.{index}",
                "type": "function",
                "function": {"name": "f", "arguments": as_json({"a": draw(TEXT)})},
            }
            for index in range(draw(st.integers(0, 3)))
        ]
        message = {"role": "assistant", "content": draw(TEXT)}
        history.append({**message, "tool_calls": calls} if calls else message)
        history += [{"role": "tool", "tool_call_id": call["id"], "content": draw(TEXT)} for call in calls]
        history += [{"role": "user", "content": draw(TEXT)} for _ in range(draw(st.integers(0, 2)))]
    return history


def tokens(messages) -> int:
    return sum(length(message, utf8_4) for message in messages)


@given(histories(), st.integers(10, 3000), st.integers(10, 500))
def test_calls_and_results_stay_together_and_the_request_stays(history, budget, result):
    messages = fit(history, budget, keep=3, result=result).messages
    assert messages[0] == history[0]
    assert messages[1] == history[1]
    assert messages[2]["role"] == "user"
    wanted: list[str] = []
    for message in messages[3:]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == wanted.pop(0)
        else:
            assert wanted == []
            wanted = [call["id"] for call in message.get("tool_calls", ())]
    assert wanted == []


@given(histories(), st.integers(10, 3000), st.integers(10, 500))
def test_it_fits_wherever_the_last_turn_can_be_made_to_fit(history, budget, result):
    window = fit(history, budget, keep=3, result=result)
    assert window.tokens == tokens(window.messages)
    last = max((i for i, m in enumerate(history) if m.get("role") == "assistant"), default=2)
    smallest = sum(
        min(length(m, utf8_4), 140 + 60 * len(m.get("tool_calls", ()))) for m in [*history[:3], *history[last:]]
    )
    if smallest + 40 <= budget:
        assert window.tokens <= budget


@given(histories(), st.integers(10, 3000), st.integers(10, 500))
def test_every_difference_is_reported_and_nothing_else(history, budget, result):
    window = fit(history, budget, keep=3, result=result)
    sent = list(window.messages)
    if window.left_out:
        assert sent.pop(3) == {"role": "user", "content": TURNS_LEFT_OUT}
    kept = [i for i in range(len(history)) if i not in window.left_out]
    assert len(kept) == len(sent)
    assert [i for i, message in zip(kept, sent) if message != history[i]] == list(window.shortened)


@given(histories(), st.integers(500, 3000))
def test_what_fits_is_sent_as_it_is(history, result):
    window = fit(history, tokens(history), keep=3, result=tokens(history))
    assert list(window.messages) == history
    assert window.left_out == window.shortened == ()


@given(histories(), st.integers(10, 3000))
def test_it_is_a_function_and_leaves_its_history_alone(history, budget):
    before = as_json(history)
    assert fit(history, budget, keep=3, result=100) == fit(history, budget, keep=3, result=100)
    assert as_json(history) == before


def turn(number: int, result: str):
    call = {"id": str(number), "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": str(number), "content": result},
    ]


START = [{"tools": []}, {"role": "system", "content": "s"}, {"role": "user", "content": "r"}]


def test_the_oldest_results_go_first_and_then_the_oldest_turns():
    history = START + [message for number in range(6) for message in turn(number, "x" * 400)]
    window = fit(history, tokens(history) - 100, keep=3, result=1000)
    assert window.shortened == (4, 6)
    assert window.messages[4]["content"] == LEFT_OUT
    assert window.left_out == ()
    window = fit(history, 230, keep=3, result=1000)
    assert window.left_out == tuple(range(3, 9))
    assert window.shortened == (10, 12)
    assert window.messages[-1] == history[-1]


def test_a_long_result_loses_its_middle_and_says_how_much():
    history = START + turn(0, "a" * 40_000 + "b" * 40_000)
    window = fit(history, 100_000, keep=3, result=1000)
    content = window.messages[-1]["content"]
    assert content.startswith("aaa")
    assert content.endswith("bbb")
    assert "of 80000 characters are left out" in content
    assert utf8_4(content) <= 1000
    assert window.shortened == (4,)


def test_a_result_of_870_kb_in_a_small_window_costs_little_time():
    history = START + turn(0, '{"k": "ü漢"}' * 62_000)
    before = time.perf_counter()
    window = fit(history, 2000, keep=3, result=10_000)
    assert window.tokens <= 2000
    assert time.perf_counter() - before < 1


def test_a_long_request_is_never_left_out_and_shortened_only_where_it_is_the_longest():
    long = [*START[:2], {"role": "user", "content": "r" * 12_000}, *turn(0, "x" * 40_000)]
    window = fit(long, 8_000, keep=3, result=20_000)
    assert window.shortened == (4,)
    assert 6_000 < window.tokens <= 8_000
    window = fit(long, 2000, keep=3, result=20_000)
    assert window.shortened == (2, 4)
    assert 1_000 < window.tokens <= 2000


@given(st.text(max_size=400), st.integers(0, 120), st.sampled_from(sorted(RULES)))
def test_a_shortened_text_is_within_its_limit_or_only_says_what_is_missing(text, limit, rule):
    count = RULES[rule]
    short = shorten(text, limit, count)
    if count(text) <= limit:
        assert short == text
    else:
        assert (
            count(short) <= limit or short.strip() == f"[… {len(text)} of {len(text)} characters are left out here …]"
        )


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("漢字", 2), ("\ud83d", 1)])
def test_four_bytes_of_utf_8_are_a_token(text, count):
    assert RULES[UTF8_4](text) == count
