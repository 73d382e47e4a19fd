"""The client for inference servers that return ids, against a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from coworkenv.agents.agent import Unavailable
from coworkenv.agents.server import Server
from coworkenv.learn.decisions import Sampler
from coworkenv.learn.remote import Remote
from coworkenv.learn.student import Asked, Sampled
from tests.loopback import Answering, ModelServer, Reply, in_turn

KEY = "sk-secret-123"
END = 2
ASKED = Asked("life", (1, 5, 6), 40, Sampler(), 1 << 62)


def answered(
    ids: Any = (7, 8, END), logprobs: Any = (-0.5, -1.25, 0), stop: str = "stop", **choice: Any
) -> dict[str, Any]:
    """As vLLM answers."""
    given = {"token_logprobs": logprobs, "tokens": ["text"], "top_logprobs": [], "text_offset": []}
    return {
        "object": "text_completion",
        "choices": [
            {"index": 0, "text": "not looked at", "token_ids": ids, "logprobs": given, "finish_reason": stop, **choice}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 3},
    }


@asynccontextmanager
async def remote(answer: Answering, **options: Any) -> AsyncIterator[tuple[Remote, ModelServer]]:
    async with ModelServer(answer).serving() as server:
        where = Server(url=server.url, attempts=3, timeout=5, first_wait=0.001)
        yield Remote(where, "student", [END, 3], known=1000, key=KEY, **options), server


async def test_ids_and_logprobs_are_taken_as_they_are() -> None:
    async with remote(in_turn(answered(prompt_token_ids=[1, 5, 6]))) as (policy, server):
        assert await policy(ASKED) == Sampled((7, 8, END), (-0.5, -1.25, 0.0), "stop")
    [sent] = server.requests
    assert sent["prompt"] == [1, 5, 6]
    assert (sent["model"], sent["max_tokens"], sent["seed"]) == ("student", 40, 1 << 62)
    assert (sent["temperature"], sent["top_p"], sent["top_k"]) == (1, 1, 0)
    assert sent["stop_token_ids"] == [END, 3]
    assert sent["return_token_ids"] is True
    assert sent["logprobs"] == 0
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(server.requests)


async def test_an_answer_that_was_cut_has_no_end() -> None:
    async with remote(in_turn(answered([7], [-3], "length"))) as (policy, _):
        assert await policy(ASKED) == Sampled((7,), (-3.0,), "length")


@pytest.mark.parametrize(
    "first",
    [
        Reply(status=503),
        Reply(status=429, headers={"retry-after": "0"}),
        Reply(answered(), drop="before"),
        Reply(answered(), drop="within"),
        Reply(b"<html>"),
        answered(stop="abort"),
        {"choices": []},
    ],
    ids=repr,
)
async def test_what_may_pass_is_asked_again(first: Any) -> None:
    async with remote(in_turn(first, answered())) as (policy, server):
        assert (await policy(ASKED)).ids == (7, 8, END)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (answered(None), "vLLM does from 0.10.2"),
        (answered([]), "no `token_ids`"),
        (answered(["a"]), "no `token_ids`"),
        (answered([7, 8, END], None), "one log-probability for each"),
        (answered([7, 8, END], [-1, -2]), "one log-probability for each"),
        (answered([7, 8, END], [-1, None, -2]), "one log-probability for each"),
        (answered([7, 8, END], [-1, 0.5, -2]), "one log-probability for each"),
        (answered([7, 8], [-1, -2]), "leaves the last id out"),
        (answered(prompt_token_ids=[0, 1, 5, 6]), "ids of its own"),
        (answered([7, 1000, END]), "has the id 1000, and the model has 1000: the server has another"),
        (answered([7, 10**30, END]), "the server has another"),
        (answered([7] * 41, [-1] * 41, "length"), "has 41 ids, where no more than 40 were asked for"),
        (Reply({"error": {"message": "no such model"}}, status=404), "no such model"),
        (Reply({"error": {"message": "maximum context length is 2"}}, status=400), "room for longer prompts"),
        (Reply({"error": {"message": f"wrong key {KEY}"}}, status=401), "wrong key …"),
    ],
)
async def test_what_cannot_be_learnt_from_is_refused_with_what_is_missing(answer: Any, says: str) -> None:
    async with remote(in_turn(answer)) as (policy, server):
        with pytest.raises(Unavailable, match=says) as raised:
            await policy(ASKED)
    assert server.url in str(raised.value)
    assert KEY not in str(raised.value)
    assert len(server.requests) == 1


async def test_a_server_that_stays_away_is_given_up() -> None:
    async with remote(in_turn(Reply(status=503))) as (policy, server):
        with pytest.raises(Unavailable, match="no answer in 3 attempts"):
            await policy(ASKED)
    assert len(server.requests) == 3


@pytest.mark.parametrize("sampler", [Sampler(temperature=0.7), Sampler(top_k=5), Sampler(top_p=0.9)], ids=repr)
async def test_probabilities_of_another_distribution_are_not_taken_for_the_right_ones(sampler: Sampler) -> None:
    asked = Asked("life", (1, 5, 6), 40, sampler, 0)
    async with remote(in_turn(answered())) as (policy, server):
        with pytest.raises(Unavailable, match="--logprobs-mode processed_logprobs"):
            await policy(asked)
        assert server.requests == []
    async with remote(in_turn(answered()), processed=True) as (policy, server):
        await policy(asked)
    assert server.requests[0]["temperature"] == sampler.temperature
    assert (server.requests[0]["top_k"], server.requests[0]["top_p"]) == (sampler.top_k, sampler.top_p)


async def test_a_grammar_cannot_be_sent() -> None:
    async with remote(in_turn(answered())) as (policy, _):
        with pytest.raises(Unavailable, match="grammar"):
            await policy(Asked("life", (1,), 4, Sampler(), 0, lambda ids: None))
