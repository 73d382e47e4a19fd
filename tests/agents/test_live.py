"""Agents and coworkers in a real kernel, with a real server: what stands between them holds."""

import random

import pytest
import trio

from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.agents.chat import chat
from coworkenv.agents.server import Server
from coworkenv.engine.episode import Plan, play
from coworkenv.events.codec import encode
from coworkenv.events.event import ActorFailed, EffectCancelled, EffectRequested, EpisodeEnded, MessageSent
from tests.agents.stage import world_of
from tests.loopback import ModelServer, Reply, completion

OFFICE = """
environment: coworkenv/1
id: office
clock: {start: 2026-03-03T09:00}
people:
  lena:
    role: lead
    opens: Please order K-1.
    replies: [{any: [how many], say: "Take 3 of K-1.", gives: {n: 3}, after: 2m}]
  tomas: {role: finance, otherwise: Hm.}
services:
  inv: {collections: {items: {can: [find]}}, records: {items: [{id: K-1, price: 1.50}]}}
timeline: [{at: 10s, from: tomas, say: Are you there?}]
oracle:
  - {as: n, ask: lena, text: How many?}
  - {say: lena, text: "Ordered @{n.n}."}
"""


def played(world, server, agent, coworkers="rules", **options):
    perform = chat(Server(url=server.url, first_wait=0.001), key="")
    built = build_agent(agent, options, perform=perform) if agent.startswith("openai") else build_agent(agent)
    return play(Plan(world, built, build_coworkers(world, coworkers, perform=perform)))


def turns(*completions):
    """The nth answer is to the prompt with n answers in it; a coworker repeats what it is to say."""

    def answer(request):
        messages = request["messages"]
        if messages[0]["content"].startswith("You are lena"):
            return completion("Well: " + messages[1]["content"], tokens=12)
        return completions[sum(message["role"] == "assistant" for message in messages)]

    return answer


WORK = turns(
    completion("", [("inv_items_find", {"id": "K-1"}), ("send_message", {"to": "lena", "text": "How many?"})]),
    completion("", [("wait", {})]),
    completion("", [("finish", {"summary": "3"})]),
)


@pytest.mark.parametrize("coworkers", ["rules", "model:m"])
async def test_however_late_a_server_answers_the_stream_is_the_same(coworkers):
    streams = set()

    async def one(server):
        episode = await played(world_of(OFFICE), server, "openai:m", coworkers)
        assert episode.reason == "finished"
        streams.add(b"".join(encode(event).data for event in episode.events))

    late = ModelServer(WORK, latency=lambda: random.random() * 0.05)
    async with late.serving() as server, trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(one, server)
    assert len(streams) == 1


async def test_retries_leave_no_trace_in_the_stream():
    streams = []
    for failing in (0, 2):
        left = [failing]

        def answer(request, left=left):
            left[0] -= 1
            return Reply({"error": "busy"}, 503) if left[0] >= 0 else WORK(request)

        async with ModelServer(answer).serving() as server:
            episode = await played(world_of(OFFICE), server, "openai:m")
        streams.append([encode(event).data for event in episode.events])
        assert len(server.requests) == failing + 3
    assert streams[0] == streams[1]


@pytest.mark.parametrize(("base", "per_token", "paid"), [("1m", "0s", None), ("1s", "1s", 10)])
async def test_a_message_interrupts_a_thought_before_and_after_its_answer_is_known(base, per_token, paid):
    def answer(request):
        if any("Are you there?" in str(message["content"]) for message in request["messages"]):
            return completion("", [("finish", {"summary": "yes"})])
        return completion("I was thinking about " + "it " * 50, tokens=100)

    async with ModelServer(answer).serving() as server:
        episode = await played(world_of(OFFICE), server, "openai:m", interruptible=True, base=base, per_token=per_token)
    [cancelled] = [event.body for event in episode.events if isinstance(event.body, EffectCancelled)]
    assert cancelled.paid == paid
    assert episode.reason == "finished"
    last = [event.body for event in episode.events if isinstance(event.body, EffectRequested)][-1]
    assert ("You were interrupted" in str(last.prompt)) is (paid is not None)
    assert ("I was thinking" in str(last.prompt)) is (paid is not None)


async def test_the_oracle_and_rules_work_together():
    async with ModelServer(WORK).serving() as server:
        episode = await played(world_of(OFFICE), server, "oracle")
    sent = [event.body.text for event in episode.events if isinstance(event.body, MessageSent)]
    assert sent[-1] == "Ordered 3."


async def test_whoever_gives_up_says_why_in_the_log():
    async with ModelServer(lambda _: Reply({"error": "context_length_exceeded"}, 400)).serving() as server:
        episode = await played(world_of(OFFICE), server, "openai:m")
    [failed] = [event.body for event in episode.events if isinstance(event.body, ActorFailed)]
    assert failed.error == "GaveUp"
    assert "too long for the model" in failed.message
    assert isinstance(episode.events[-1].body, EpisodeEnded)
    assert episode.reason == "failed"
