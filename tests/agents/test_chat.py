"""The client for chat servers, against a real server on loopback that answers well, badly, late and not at all."""

import json
from decimal import Decimal

import pytest
import trio

from coworkenv.agents.agent import Outside, Request, Unavailable
from coworkenv.agents.chat import chat, pause
from coworkenv.agents.counting import utf8_4
from coworkenv.agents.server import DEFAULT_URL, Server, server_url
from tests.loopback import Answering, ModelServer, Reply, completion, in_turn

KEY = "sk-secret-123"
PROMPT = Request(
    "model",
    ({"tools": [{"type": "function", "function": {"name": "look"}}]}, {"role": "user", "content": "Hello, €5"}),
    {"model": "m", "temperature": Decimal("0.70"), "top_k": 3},
)


async def ask(answer: Answering, request: Request = PROMPT, *, attempts: int = 4, timeout: float = 5.0) -> Outside:
    async with ModelServer(answer).serving() as server:
        return await connect(server, attempts=attempts, timeout=timeout)(request)


def connect(server: ModelServer, *, attempts: int = 4, timeout: float = 5.0):
    return chat(Server(url=server.url, attempts=attempts, timeout=timeout, first_wait=0.001), key=KEY)


async def test_the_request_holds_messages_tools_and_settings_and_the_key_is_only_in_its_header():
    async with ModelServer(in_turn(completion("Hi"))).serving() as server:
        await connect(server)(PROMPT)
    assert server.requests == [
        {
            "model": "m",
            "temperature": 0.7,
            "top_k": 3,
            "messages": [{"role": "user", "content": "Hello, €5"}],
            "tools": [{"type": "function", "function": {"name": "look"}}],
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(server.requests)


async def test_text_calls_and_usage_become_the_answer():
    body = completion("Let me see.", [("look", {"n": 1.50}), ("look", "")], tokens=7, prompt_tokens=9)
    answer = (await ask(in_turn(body))).answer
    assert answer.value == {
        "text": "Let me see.",
        "calls": [{"name": "look", "args": {"n": Decimal("1.5")}}, {"name": "look", "args": {}}],
        "stop": "tool_calls",
    }
    assert (answer.tokens, answer.prompt_tokens, answer.counted) == (7, 9, None)


async def test_what_a_server_does_not_count_is_counted_by_a_named_rule():
    answer = (await ask(in_turn(completion("Größe", tokens=None, prompt_tokens=None)))).answer
    assert answer.counted == "utf8/4"
    assert answer.tokens == utf8_4("Größe") == 2
    assert answer.prompt_tokens is not None
    assert answer.prompt_tokens > 10


async def test_arguments_that_are_no_json_become_a_call_with_an_error():
    calls = [
        ("look", "{'a': 1}"),
        ("look", '{"a": NaN}'),
        ("look", "[" * 100 + "]" * 100),
        ("look", '"' + "x" * 300_000 + '"'),
    ]
    answer = (await ask(in_turn(completion("", calls)))).answer
    assert [call["args"] for call in answer.value["calls"]] == [None] * 4
    assert all(call["error"] for call in answer.value["calls"])


async def test_lone_surrogates_from_a_model_do_no_harm():
    body = json.dumps(completion("half \ud83d", [("look", '{"a": "\\ud83d"}')])).encode()
    answer = (await ask(in_turn(Reply(body)))).answer
    assert answer.value["text"] == "half \ufffd"
    assert answer.value["calls"][0]["args"] == {"a": "\ufffd"}


async def test_token_ids_are_part_of_the_answer_and_log_probabilities_are_observed():
    logprobs = {"content": [{"token": "Hi", "logprob": -0.25}]}
    body = completion("Hi", logprobs=logprobs, token_ids=[5, 7]) | {"prompt_token_ids": [1, 2]}
    outside = await ask(in_turn(body))
    assert outside.answer.value["ids"] == [5, 7]
    assert outside.observed["logprobs"]["content"][0]["logprob"] == Decimal("-0.25")
    assert outside.observed["prompt_ids"] == [1, 2]
    assert outside.observed["response"]["id"] == "chatcmpl-1"
    assert outside.observed["failures"] == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_a_failing_server_is_asked_again(status):
    outside = await ask(
        in_turn(Reply({"error": {"message": "busy"}}, status), Reply(b"oops", status), completion("Hi"))
    )
    assert outside.answer.value["text"] == "Hi"
    assert [failure.split(":")[0] for failure in outside.observed["failures"]] == [f"HTTP {status}"] * 2


async def test_retry_after_is_obeyed():
    before = trio.current_time()
    await ask(in_turn(Reply(b"{}", 429, {"retry-after": "0.3"}), completion("Hi")))
    assert trio.current_time() - before >= 0.3


def test_pauses_double_up_to_half_a_minute_and_are_shortened_by_chance_unless_the_server_says_how_long():
    server = Server(first_wait=8.0)
    assert [pause(server, failures, None, 0.5) for failures in (1, 2, 3, 4)] == [6.0, 12.0, 22.5, 22.5]
    assert pause(server, 1, None, 0.0) == 4.0
    assert pause(server, 3, 1.5, 0.9) == 1.5


async def test_a_server_that_stays_away_suspends_the_episode():
    with pytest.raises(Unavailable, match=r"in 3 attempts.*HTTP 503: try later"):
        await ask(in_turn(Reply({"error": {"message": "try later"}}, 503)), attempts=3)


async def test_a_server_that_asks_for_too_much_patience_suspends_the_episode_at_once():
    async with ModelServer(in_turn(Reply(b"{}", 429, {"retry-after": "86400"}))).serving() as server:
        with pytest.raises(Unavailable, match="86400 s"):
            await connect(server)(PROMPT)
    assert len(server.requests) == 1


async def test_nobody_there_suspends_the_episode():
    async with ModelServer(in_turn(completion())).serving() as server:
        pass
    with pytest.raises(Unavailable, match="ConnectError"):
        await connect(server, attempts=2)(PROMPT)


@pytest.mark.parametrize("drop", ["before", "within"])
async def test_a_dropped_connection_is_tried_again(drop):
    outside = await ask(in_turn(Reply(completion("no"), drop=drop), completion("Hi")))
    assert outside.answer.value["text"] == "Hi"
    assert len(outside.observed["failures"]) == 1


async def test_a_late_answer_is_given_up_and_asked_for_again():
    outside = await ask(in_turn(Reply(completion("late"), delay=30), completion("Hi")), timeout=1.0)
    assert outside.answer.value["text"] == "Hi"
    assert outside.observed["failures"][0] == "no answer within 1 s"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"choices": []}', b'{"choices": [{"message": 5}]}', b"\xff"])
async def test_answers_that_cannot_be_read_are_refused_after_some_tries(body):
    async with ModelServer(in_turn(Reply(body))).serving() as server:
        answer = (await connect(server, attempts=9)(PROMPT)).answer
    assert answer.refused is not None
    assert answer.refused.type == "invalid_answer"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, "context_length"),
        (400, {"message": "This model's maximum context length is 4096 tokens."}, "context_length"),
        (413, {}, "context_length"),
        (400, {"error": {"code": "content_filter", "message": "no"}}, "content_filter"),
        (200, completion("I", stop="content_filter"), "content_filter"),
    ],
)
async def test_refusals_are_answers_in_our_own_words(status, body, kind):
    outside = await ask(in_turn(Reply(body, status)))
    assert outside.answer.refused is not None
    assert outside.answer.refused.type == kind
    assert "4096" not in outside.answer.refused.message
    assert outside.observed["response"]


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, f"Incorrect API key provided: {KEY}", "OPENAI_API_KEY"),
        (404, "The model does not exist", "model"),
        (400, "Unsupported parameter: top_k", "top_k"),
        (429, "You exceeded your current quota: insufficient_quota", "quota"),
    ],
)
async def test_a_wrong_set_up_suspends_at_once_and_never_shows_the_key(status, said, hint):
    async with ModelServer(in_turn(Reply({"error": {"message": said}}, status))).serving() as server:
        with pytest.raises(Unavailable, match=hint) as caught:
            await connect(server)(PROMPT)
    assert len(server.requests) == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["127.0.0.1:9/v1", "ftp://x/v1", "http://[::1/v1", "http://"])
async def test_a_base_url_that_is_none_is_said(url):
    with pytest.raises(Unavailable):
        await chat(Server(url=url, attempts=1), key=KEY)(PROMPT)


async def test_a_key_that_cannot_be_sent_is_said_without_it():
    async with ModelServer(in_turn(completion())).serving() as server:
        for key in ("sk-line\nbreak", "sk-ü"):
            with pytest.raises(Unavailable, match="key") as caught:
                await chat(Server(url=server.url), key=key)(PROMPT)
            assert key not in str(caught.value)


async def test_a_huge_answer_is_read_and_a_monstrous_one_is_not(monkeypatch):
    outside = await ask(in_turn(completion("x" * 3_000_000)), timeout=30)
    assert len(outside.answer.value["text"]) == 1_000_000
    monkeypatch.setattr("coworkenv.agents.chat.BODY_LIMIT", 1 << 20)
    outside = await ask(in_turn(completion("x" * 3_000_000)), timeout=30)
    assert outside.answer.refused is not None


async def test_many_episodes_share_connections():
    async with ModelServer(in_turn(completion("Hi")), latency=lambda: 0.3).serving() as server:
        perform = connect(server)
        for _ in range(2):
            async with trio.open_nursery() as nursery:
                for _ in range(100):
                    nursery.start_soon(perform, PROMPT)
        assert len(server.requests) == 200
        assert server.connections <= 101
        assert server.most_under_way > 10


async def test_a_cancelled_request_leaves_the_client_usable():
    async with ModelServer(in_turn(Reply(completion("late"), delay=60), completion("Hi"))).serving() as server:
        perform = connect(server)
        with trio.move_on_after(0.1):
            await perform(PROMPT)
        assert (await perform(PROMPT)).answer.value["text"] == "Hi"


def test_connections_belong_to_one_run_of_trio():
    for _ in range(2):
        assert trio.run(ask, in_turn(completion("Hi"))).answer.value["text"] == "Hi"


def test_the_base_url_comes_from_the_option_then_the_variables_then_the_default():
    variables = {"OPENAI_BASE_URL": "http://b/v1", "COWORKENV_BASE_URL": "http://a/v1/"}
    assert server_url("http://c/v1/", variables) == "http://c/v1"
    assert server_url(None, variables) == "http://a/v1"
    assert server_url(None, {"OPENAI_BASE_URL": "http://b/v1"}) == "http://b/v1"
    assert server_url(None, {"OPENAI_BASE_URL": ""}) == DEFAULT_URL


async def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    async with ModelServer(in_turn(completion())).serving() as server:
        await chat(Server(url=server.url))(PROMPT)
        monkeypatch.delenv("OPENAI_API_KEY")
        await chat(Server(url=server.url))(PROMPT)
    assert server.headers[0]["authorization"] == "Bearer sk-from-environment"
    assert "authorization" not in server.headers[1]
