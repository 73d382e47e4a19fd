"""A small office, a model that plays two parts in it, and the weather that its server stands in.

What the model answers is a function of the request; what the weather does to a request, tests say by its turn.
"""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager

import msgspec

from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.agents.chat import chat
from coworkenv.agents.server import Server
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.events.memory import MemoryLog
from tests.agents.stage import world_of
from tests.loopback import ModelServer, Reply, completion

WORLD = world_of(
    """
environment: coworkenv/1
id: office
clock: {start: 2026-03-03T09:00}
people:
  lena:
    role: lead
    opens: Please order K-1.
    replies: [{any: [how many], say: "Take 3 of K-1.", gives: {n: 3}, after: 2m}]
services:
  inv:
    collections: {items: {can: [find, update]}}
    records: {items: [{id: K-1, price: 1.50, ordered: 0, note: TEXT}]}
""".replace("TEXT", "long " * 2000)
)

DECISIONS = (
    completion(
        "I ask her.", [("inv_items_find", {"id": "K-2"}), ("send_message", {"to": "lena", "text": "How many?"})]
    ),
    completion("", [("wait", {})]),
    completion("", [("inv_items_update", {"id": "K-1", "ordered": 3})]),
    completion("", [("finish", {"summary": "3"})], tokens=7),
)
LENA = "lena"
TURNS = (0, 1, 2, 3, LENA)
"""What is asked of the server: four decisions of the agent, by how many it has made, and lena's wording."""


def turn_of(request):
    if request["messages"][0]["content"].startswith("You are lena"):
        return LENA
    return sum(message["role"] == "assistant" for message in request["messages"])


def pure(request):
    turn = turn_of(request)
    return completion("Well: " + request["messages"][1]["content"], tokens=12) if turn == LENA else DECISIONS[turn]


class Weather:
    """Answers each turn's first requests with that turn's faults, then with the truth."""

    def __init__(self, faults):
        self.faults = {turn: list(replies) for turn, replies in faults.items()}
        self.answered = Counter()

    def __call__(self, request):
        turn = turn_of(request)
        if self.faults.get(turn):
            return self.faults[turn].pop(0)
        self.answered[turn] += 1
        return pure(request)


def patient(server, attempts=4, timeout=20.0):
    return chat(Server(url=server.url, attempts=attempts, timeout=timeout, first_wait=0.001))


def plan_for(server, seed=0, **patience):
    """The agent and lena are both played by the model of `server`."""
    perform = patient(server, **patience)
    return Plan(
        WORLD, build_agent("openai:m", perform=perform), build_coworkers(WORLD, "model:m", perform=perform), seed
    )


@asynccontextmanager
async def serving(answer):
    """A server, and a log that is being written to."""
    log = MemoryLog()
    async with ModelServer(answer).serving() as server, log.writing():
        yield server, log


def stream(log, episode):
    return [data for _, data, _ in log.read_raw(episode.id)]


_UNDISTURBED = {}


async def undisturbed(seed=0):
    """The bytes of the episode's events when the server is well."""
    if seed not in _UNDISTURBED:
        async with serving(pure) as (server, log):
            episode = await run_episode(plan_for(server, seed), log)
            assert episode.reason == "finished"
            _UNDISTURBED[seed] = stream(log, episode)
    return _UNDISTURBED[seed]


def bodies(episode, type_):
    return [event.body for event in episode.events if isinstance(event.body, type_)]


def observed(log, episode):
    return [msgspec.json.decode(seen.content) for seen in log.observations(episode.id)]


PASSING = {
    "429 that says when": Reply({"error": {"message": "slow down"}}, 429, {"retry-after": "0.01"}),
    "429 that does not": Reply(b"", 429),
    "500": Reply({"error": {"message": "oops"}}, 500),
    "502 in HTML": Reply(b"<html>Bad gateway</html>", 502, {"content-type": "text/html"}),
    "no answer in time": Reply(completion("late"), delay=60),
    "dropped before its answer": Reply(drop="before"),
    "dropped within its answer": Reply(completion("cut off"), drop="within"),
}
UNREADABLE = {
    "no JSON": Reply(b'{"choices": [{"mess'),
    "no choices": Reply({"choices": []}),
    "no message": Reply({"choices": [{"message": None}]}),
    "an error under 200": Reply({"error": {"message": "the worker has died"}}),
}
LASTING = {
    "401": Reply({"error": {"message": "Incorrect API key provided"}}, 401),
    "403": Reply({"detail": "not yours"}, 403),
    "404": Reply({"error": {"message": "The model `m` does not exist"}}, 404),
    "400": Reply({"error": {"message": "top_k is not supported"}}, 400),
    "no quota left": Reply({"error": {"code": "insufficient_quota", "message": "Pay first."}}, 429),
    "429 that says tomorrow": Reply(b"{}", 429, {"retry-after": "86400"}),
}
NAMED = PASSING | UNREADABLE | LASTING


def patience_for(name):
    return 0.4 if name == "no answer in time" else 20.0
