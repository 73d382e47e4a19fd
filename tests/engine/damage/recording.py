"""A log to be damaged: episodes with everything that a log can hold.

Knows which episodes are recorded. Does not damage anything.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import trio

from coworkenv.agents.building import build_agent
from coworkenv.engine.episode import run_episode
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.grading import grade_episode
from coworkenv.engine.plan import Plan
from coworkenv.events.sqlite import SqliteLog
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment
from tests.engine.determinism.answering import inside
from tests.engine.determinism.settings import Setting, plan

LARGE = "A reply so long that it is kept beside its event. " * 400


def record(path: Path) -> list[str]:
    """Record episodes into a new log, and give the ids of its streams.

    The first has it all: a model as agent and as coworkers, what was observed of it, faults and a large reply. The
    second is its fork, the third small; then come oracles, explorers and the gradings of them all.
    """
    with closing(SqliteLog(path)) as log:
        trio.run(_record, log)
        return [row.id for row in log.rows()]


async def _record(log: SqliteLog) -> None:
    perform = inside(trio.lowlevel.checkpoint)
    scripted = [
        Plan(world=_large(), agent=build_agent("explore"), coworkers={}),
        plan(Setting("reorder", 1, "oracle", "rules"), None),
        plan(Setting("quote", 2, "explore", "rules"), None),
    ]
    async with log.writing():
        first = await run_episode(plan(Setting("flaky-shop", 0, "openai", "model"), perform), log)
        at = len(first.events) // 2
        fork = await fork_episode(log, first.id, at, {"seed": 5, "agent": {"kind": "noop"}}, perform)
        others = [await run_episode(each, log) for each in scripted]
        for episode in (first, fork, *others):
            await grade_episode(log, episode.id)
        log.put_observation(first.id, 3, "screen", bytes(range(256)))


def _large():  # type: ignore[no-untyped-def]
    """A small world with one record that is too large for an event."""
    return compile_environment(
        read_environment(
            f"""
environment: coworkenv/1
id: tests.large/0001
clock: {{start: 2026-06-02T09:00, zone: UTC}}
people: {{ann: {{opens: Read it.}}}}
services:
  archive:
    collections: {{papers: {{can: [find], fields: {{id: {{type: id}}, text: {{type: text}}}}}}}}
    records: {{papers: [{{id: P-1, text: {LARGE!r}}}]}}
checks: {{read: {{weight: 1, expect: {{called: archive.papers.find}}}}}}
"""
        )
    )
