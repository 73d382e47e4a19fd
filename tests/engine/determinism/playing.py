"""Plays a list of settings in this process under one set of conditions: `python -m tests.engine.determinism.playing`.

Knows how episodes are run into logs, with a model inside the process or behind HTTP. Does not know what the results are
compared with. Reads a `Job` as JSON from its input and writes a list of `Played` to its output.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import trio

from coworkenv.agents.agent import Perform
from coworkenv.agents.server import URL_VARIABLES
from coworkenv.engine.episode import run_episode
from coworkenv.engine.replay import verify
from coworkenv.events.event import (
    ActorWaited,
    ContextCut,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    Event,
    FaultInjected,
    TimelineFired,
    ToolReturned,
)
from coworkenv.events.log import Log
from coworkenv.events.memory import MemoryLog
from coworkenv.events.sqlite import SqliteLog
from tests.loopback import ModelServer

from .answering import answer, inside
from .settings import Conditions, Setting, plan


class Job(msgspec.Struct, frozen=True):
    settings: list[Setting]
    conditions: Conditions
    verify: bool = False
    """Execute each episode again, too."""


class Played(msgspec.Struct, frozen=True):
    """What came of one setting."""

    digest: str
    links: str
    """The first four hexadecimal digits of each event's digest: enough to find the first that differs."""
    status: str
    reason: str
    counts: dict[str, int]
    verdict: str | None = None


# --- what happened in an episode -----------------------------------------------------------------------------


def counted(events: Sequence[Event]) -> dict[str, int]:
    """How much of what makes determinism hard is in a stream."""
    kinds = {
        EffectRequested: "effects",
        ActorWaited: "timed-out waits",
        FaultInjected: "faults",
        ContextCut: "context cuts",
        TimelineFired: "timeline",
        ToolReturned: "tool calls",
    }
    counts = Counter(kinds[type(event.body)] for event in events if type(event.body) in kinds)
    resolved = {event.body.effect: event.body for event in events if isinstance(event.body, EffectResolved)}
    until = {effect: body.due for effect, body in resolved.items()}
    for event in events:
        body = event.body
        if not isinstance(body, EffectCancelled) or body.reason == "the episode has ended":
            continue
        until[body.effect] = event.at
        if body.effect not in resolved:
            counts["cancelled before the bound"] += 1
        elif body.paid is not None:
            counts["cut after the bound"] += 1
    counts["overtakings"] = sum(
        any(other.actor != asked.actor and asked.at < other.at <= until[asked.seq] for other in events[asked.seq :])
        for asked in events
        if isinstance(asked.body, EffectRequested) and asked.seq in until
    )
    counts["refused"] = sum(body.refused is not None for body in resolved.values())
    counts["events"] = len(events)
    return dict(counts)


# --- playing -------------------------------------------------------------------------------------------------


async def played(job: Job) -> list[Played]:
    """All settings of a job, in their order."""
    results: dict[int, Played] = {}
    gate = trio.CapacityLimiter(job.conditions.concurrency)

    async def one(place: int, setting: Setting) -> None:
        async with gate:
            results[place] = await _one(setting, perform, log, job.verify)

    with TemporaryDirectory() as folder:
        log = _log(job.conditions, Path(folder))
        async with _model(job.conditions) as perform, log.writing(), trio.open_nursery() as nursery:
            for place, setting in enumerate(job.settings):
                nursery.start_soon(one, place, setting)
        log.close()
    return [results[place] for place in range(len(job.settings))]


async def _one(setting: Setting, perform: Perform | None, log: Log, check: bool) -> Played:
    episode = await run_episode(plan(setting, perform), log)
    row = log.row(episode.id)
    links = "".join(digest.hex()[:4] for _, _, digest in log.read_raw(row.id))
    verdict = (await verify(log, row.id)).verdict if check else None
    return Played(row.digest, links, episode.status, episode.reason, counted(episode.events), verdict)


def _log(conditions: Conditions, folder: Path) -> Log:
    if conditions.log == "memory":
        return MemoryLog()
    return SqliteLog(folder / "log.db", durability=conditions.durability)


@asynccontextmanager
async def _model(conditions: Conditions) -> AsyncIterator[Perform | None]:
    """What asks the model; None where it is behind HTTP, since then the environment's variables say where."""

    async def wait() -> None:
        await trio.sleep(_latency(conditions))

    if conditions.wire == "inside":
        yield inside(wait)
        return
    async with ModelServer(answer, lambda: _latency(conditions)).serving() as server:
        os.environ[URL_VARIABLES[0]] = server.url
        try:
            yield None
        finally:
            del os.environ[URL_VARIABLES[0]]


def _latency(conditions: Conditions) -> float:
    """Seconds. Really random: another shuffle in every process, which no seed repeats."""
    if conditions.latency == "none":
        return 0.0
    if conditions.latency == "uneven":
        return 0.08 if random.random() < 0.1 else 0.0
    return random.random() * 0.03


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    sys.stdout.buffer.write(msgspec.json.encode(trio.run(played, job)))


if __name__ == "__main__":
    main()
