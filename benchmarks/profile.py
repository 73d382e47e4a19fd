"""Where the time of a run goes, by part of the engine."""

from __future__ import annotations

import cProfile
import pstats
import tempfile
from collections import Counter
from pathlib import Path

import trio

from coworkenv.engine.rollouts import rollout
from coworkenv.events import SqliteLog

from .workload import orders, plans

PARTS = (
    ("/engine/", "kernel and episodes"),
    ("/worlds/checks/", "checks"),
    ("/worlds/services/", "services"),
    ("/worlds/expressions", "expressions and facts"),
    ("/worlds/facts", "expressions and facts"),
    ("/worlds/", "other rules of the world"),
    ("/agents/", "agents and coworkers"),
    ("/events/", "encoding, chain, log"),
    ("/trio/", "trio"),
    ("sqlite", "SQLite"),
)


def where_time_goes(episodes: int) -> dict[str, float]:
    """Shares of the time of running and grading so many episodes into a log, by part; C code counts for its caller."""
    profile = cProfile.Profile()

    async def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = SqliteLog(Path(folder) / "bench.db")
            async with log.writing():
                todo = plans(orders(), episodes)
                profile.enable()
                await rollout(todo, log)
                profile.disable()
            log.close()

    trio.run(work)
    times: Counter[str] = Counter()
    for (file, _, name), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if file == "~" and "sqlite" not in name:
            for (caller, _, _), timing in callers.items():
                times[_part(caller)] += timing[2]
        else:
            times[_part(file if file != "~" else name)] += own
    total = sum(times.values())
    return {part: round(time / total, 3) for part, time in times.most_common() if time / total >= 0.01}


def _part(file: str) -> str:
    return next((part for pattern, part in PARTS if pattern in file), "Python and the rest")
