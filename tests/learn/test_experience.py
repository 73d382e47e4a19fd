"""What is told of rollouts: figures that mean what their names say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coworkenv.events.event import AGENT, EffectResolved
from coworkenv.events.memory import MemoryLog
from coworkenv.learn.experience import Earning, figures, read_experience
from coworkenv.learn.student import Asked, Sampled
from tests.learn.babble import Babble, lived
from tests.learn.chats import rendering
from tests.learn.teaching import worlds

WORLD = worlds()[0]
KNOWN = rendering("qwen")
BROKEN = '<tool_call>\n{"name": "wait", "arg\n</tool_call>'


class Writes(Babble):
    """Writes what it is given, one answer after the other."""

    def __init__(self, *texts: str) -> None:
        super().__init__(KNOWN, WORLD)
        self.texts = list(texts)

    async def __call__(self, asked: Asked) -> Sampled:
        ids = (*KNOWN.tokens.trusted(self.texts.pop(0)), KNOWN.template.end)
        return Sampled(ids, tuple(-1.0 for _ in ids), "stop")


def call(name: str, arguments: dict[str, Any]) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        ([call("finish", {"summary": "done"})], 0),
        ([BROKEN, call("finish", {"summary": "done"})], 1 / 2),
        ([BROKEN, BROKEN, call("wait", {"minutes": 1}), call("finish", {"summary": "done"})], 1 / 2),
        ([BROKEN, *[call("wait", {"minutes": 1})] * 2, call("finish", {"summary": "done"})], 1 / 4),
        (["That is all."], 0),
    ],
)
async def test_malformed_is_the_share_of_calls_that_could_not_be_read(texts: list[str], share: float) -> None:
    """Also where the calls that could be are waits or messages, which are no calls of a service."""
    log = MemoryLog()
    async with log.writing():
        episode, _ = await lived(log, WORLD, KNOWN, Writes(*texts), decisions=len(texts))
    found = read_experience(log, [episode.id], KNOWN, {}, Earning())
    assert figures(found)["malformed"] == pytest.approx(share)
    assert figures(found)["calls"] == 0


async def test_every_share_is_between_nothing_and_everything() -> None:
    log, streams = MemoryLog(), []
    async with log.writing():
        for seed in range(12):
            episode, _ = await lived(log, WORLD, KNOWN, Babble(KNOWN, WORLD), seed=seed)
            streams.append(episode.id)
    found = read_experience(log, streams, KNOWN, {}, Earning())
    told = figures(found)
    assert all(0 <= told[name] <= 1 for name in told if name in ("malformed", "truncated", "gated", "passed"))
    answers = [
        event.body.answer
        for stream in streams
        for event in log.read(stream)
        if event.actor == AGENT and isinstance(event.body, EffectResolved) and isinstance(event.body.answer, dict)
    ]
    calls = [call for answer in answers for call in answer["calls"]]
    assert told["malformed"] == sum("error" in call for call in calls) / len(calls) > 0
