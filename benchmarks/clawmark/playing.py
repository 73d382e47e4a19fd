"""One task, played by one agent, verified, and graded twice.

Knows ClawMark's importer. Does not know what is shown of a row, nor which tasks there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from coworkenv.agents.agent import Actor
from coworkenv.agents.building import build_agent
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.clawmark.grading import Verdicts, verdicts_of
from coworkenv.engine.clawmark.host import Setup, worker
from coworkenv.engine.clawmark.loading import rehearse
from coworkenv.engine.clawmark.modalities import Modality, modalities
from coworkenv.engine.clawmark.people import StageUser
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import AGENT, Event, ToolCalled
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.clawmark import Task, world_of
from coworkenv.worlds.clawmark.turns import turns
from coworkenv.worlds.clawmark.world import USER

from .noise import Noise

SCRIPTS = Path(__file__).parent / "scripts"
"""For each task that has one, DOMAIN.TASK.yaml."""
Agents: TypeAlias = Mapping[str, Callable[[Task], Actor | None]]
"""Who plays, by name; None where an agent is not for a task."""


class Row(msgspec.Struct):
    """One task and one agent."""

    task: str
    agent: str = ""
    loaded: bool = False
    stages: int = 0
    ran: int = 0
    calls: int = 0
    """Of the agent."""
    refused: tuple[str, ...] = ()
    """Commands of the task's own that the shell does not have."""
    verified: bool = False
    same: bool = False
    """Graded again in another worker, from the stored log, each checker says the same."""
    kinds: list[Modality] = []
    verdicts: Verdicts | None = None
    error: str = ""

    @property
    def good(self) -> bool:
        return self.verified and self.same and self.ran == self.stages and not self.error


def nobody(task: Task) -> Actor:
    """Ends each turn at once."""
    return Script([ScriptStep(wait=USER), *(ScriptStep(ask=USER, text="Done.") for _ in task.times)])


def scripted(folder: Path) -> Callable[[Task], Actor | None]:
    """Those of a folder."""

    def agent(task: Task) -> Actor | None:
        script = folder / f"{task.id.replace('/', '.')}.yaml"
        return build_agent(f"script:{script}") if script.is_file() else None

    return agent


AGENTS: Agents = {"nobody": nobody, "noise": lambda task: Noise(), "scripted": scripted(SCRIPTS)}


async def rows_of(setup: Setup, name: str, agents: Agents) -> list[Row]:
    """A task, played by each agent that is for it; one row that says so where it cannot be loaded."""
    try:
        task, noted = await rehearse(setup, name)
    except Exception as error:
        return [Row(name, error=_sentence(error))]
    rows = []
    for kind, agent in agents.items():
        actor = agent(task)
        if actor is not None:
            row = Row(name, kind, loaded=True, stages=len(task.times), refused=noted.refused)
            rows.append(row)
            try:
                await _play(row, setup, task, actor)
            except Exception as error:
                row.error = _sentence(error)
    return rows


async def _play(row: Row, setup: Setup, task: Task, agent: Actor) -> None:
    world, log = world_of(task), MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world, agent, {USER: StageUser()}), log)
    row.ran = len(turns(world, episode.events))
    row.calls = sum(isinstance(each.body, ToolCalled) and each.actor == AGENT for each in episode.events)
    row.kinds = modalities(episode.events)
    found = await verify(log, episode.id, foreign=True)
    row.verified = found.verdict == "identical"
    if episode.failure or not row.verified:
        row.error = episode.failure or found.says
    first, again = [await _graded(setup, task, events) for events in (episode.events, list(log.read(episode.id)))]
    row.verdicts, row.same = first, first == again


async def _graded(setup: Setup, task: Task, events: list[Event]) -> Verdicts:
    async with worker(setup, task.id) as asked:
        return await verdicts_of(asked, setup, task, events)


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
