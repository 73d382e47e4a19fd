"""Plays a script in this process, into a log, and writes the trace: the other side of `theirs`, with the same lines.

python -m benchmarks.claw_eval.ours CHECKOUT < lines
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio

from coworkenv.agents.agent import Call, Context
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.events import SqliteLog
from coworkenv.events.codec import from_json
from coworkenv.events.event import Json
from coworkenv.worlds.claw_eval import Task, load_task, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.trace import trace, trace_text

from .theirs import SAID, cpu, memory


class Scripted:
    """Makes the calls of a script, and says something at the end."""

    def __init__(self, script: list[tuple[str, Json]]) -> None:
        self._script = script

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "benchmark-script", "calls": len(self._script)}

    async def act(self, context: Context) -> str:
        for tool, args in self._script:
            await context.call(Call(tool, args))
        return SAID


async def played(task: Task, script: list[tuple[str, Json]], episodes: int, folder: Path) -> dict[str, Any]:
    """So many episodes, one after the other, each with its trace in a file."""
    me = [os.getpid()]
    log = SqliteLog(folder / "log.db")
    worked, started = cpu(me), time.perf_counter()
    world = world_of(task)
    async with log.writing():
        for number in range(episodes):
            episode = await run_episode(Plan(world, Scripted(script), {}, number), log)
            lines = trace(task, episode.events, trace_id=episode.id, model="script")
            (folder / f"{number}.jsonl").write_text(trace_text(lines))
    seconds, worked = time.perf_counter() - started, cpu(me) - worked
    log.close()
    statuses = [line["response_status"] for line in lines if line["type"] == "tool_dispatch"]
    return {"seconds": seconds, "cpu": worked, "memory": memory(me), "statuses": statuses}


def main() -> None:
    tasks = find_checkout(sys.argv[1]).tasks
    task: Task | None = None
    for line in sys.stdin:
        asked, started = from_json(line), time.perf_counter()
        answer: dict[str, Any] = {}
        if "open" in asked:
            task = load_task(tasks / asked["open"], "upstream")
        elif "script" in asked and task:
            with TemporaryDirectory() as folder:
                answer = trio.run(
                    played, task, [tuple(step) for step in asked["script"]], asked["episodes"], Path(folder)
                )
        print(json.dumps({"seconds": time.perf_counter() - started, **answer}), flush=True)


if __name__ == "__main__":
    main()
