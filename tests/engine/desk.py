"""A library's desk in the place of a checkout of τ²-bench, in words of our own: its tasks, and who plays them."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from coworkenv.agents.agent import Call, Context
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import Episode, run_episode
from coworkenv.engine.foreign import Worker
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import state_after
from coworkenv.engine.tau2 import host
from coworkenv.engine.tau2.host import Setup, opened, worker
from coworkenv.engine.tau2.loading import load_task
from coworkenv.events.event import (
    EffectResolved,
    Event,
    Json,
    ToolCalled,
)
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.foreign import HostedCall
from coworkenv.worlds.tau2 import Task, find_checkout, world_of
from coworkenv.worlds.tau2.layout import database_of
from coworkenv.worlds.tau2.reference import USER, play_of, reference_actions, to_communicate
from coworkenv.worlds.world import World

STAND_IN = Path(__file__).parents[1] / "worlds" / "tau2" / "checkout"
LEND, PAY, KINDLY, LATER = "lend", "pay|first [both]", "kindly", "later"
REAL = os.environ.get("COWORKENV_TAU2")


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """A copy of the stand-in, named to this process; without a sandbox, so that tests run everywhere."""
    shutil.copytree(STAND_IN, tmp_path / "tau2", ignore=shutil.ignore_patterns("__pycache__"))
    made = Setup(checkout=find_checkout(tmp_path / "tau2"), unsafe=True, seconds=20)
    monkeypatch.setattr(host.CHECKOUTS, "current", made)
    return made


async def task_of(setup: Setup, name: str, solo: bool = False, turns: bool = True) -> Task:
    [raw] = [task for task in setup.checkout.tasks("library") if task["id"] == name]
    async with worker(setup) as asked:
        return await load_task(asked, setup, "library", raw, solo, turns=turns)


def reference_plan(task: Task) -> Plan:
    """The reference actions, by two."""
    world = world_of(task)
    user = play_of(reference_actions(task.raw), to_communicate(task.raw)).user
    return Plan(world, build_agent("oracle"), {} if task.solo else build_coworkers(world, {USER: user}))


class Acts:
    """An agent that makes calls, and then waits for nobody."""

    def __init__(self, *calls: tuple[str, Json]) -> None:
        self.calls = [Call(name, args) for name, args in calls]
        self.offered: list[str] = []
        self.results: list[Any] = []

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "test-acts"}

    async def act(self, context: Context) -> str:
        self.offered = [tool.name for tool in context.tools]
        for call in self.calls:
            self.results += await context.call(call)
        return ""


async def live_databases(asked: Worker, world: World, events: Sequence[Event]) -> dict[str, Json]:
    """The databases of fresh code that is driven through an episode's calls."""
    hosted = await opened(asked, world.host)
    for event in events:
        if isinstance(event.body, EffectResolved):
            call = events[events[event.body.effect].cause or 0]
            assert isinstance(call.body, ToolCalled)
            answer = await hosted.call(HostedCall(call.actor, "", call.body.tool, call.body.args))
            assert answer == event.body.answer
    found: dict[str, Json] = await asked.ask("databases")
    return found


def folded(task: Task, events: Sequence[Event]) -> dict[str, Json]:
    """The databases that the log gives, without any foreign code."""
    state = state_after(world_of(task), events)
    sides = {"library": task.agent, USER: task.user}
    return {name: database_of(state[name].plain(), side.layout) for name, side in sides.items()}


async def kind(name: str, question: Json) -> Json:
    return '{"met": true}'


@asynccontextmanager
async def played(setup: Setup, name: str) -> AsyncIterator[tuple[Task, MemoryLog, Episode]]:
    task, log = await task_of(setup, name), MemoryLog()
    async with log.writing():
        yield task, log, await run_episode(reference_plan(task), log)
