"""Claw-Eval's tasks, audited: each agent's four scores by the task's own grader.

Knows Claw-Eval's importer and graders. A task that takes a sandbox is left out: its grader looks for files that nobody
could have made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import trio

from coworkenv.agents.agent import Actor
from coworkenv.agents.building import build_coworkers
from coworkenv.agents.scripted import Noop
from coworkenv.engine.auditing import examined_folder, side_by_side
from coworkenv.engine.claw_eval.loading import Loader
from coworkenv.engine.claw_eval.scoring import Scores, Setup, TaskGrader, grader
from coworkenv.engine.episode import play
from coworkenv.engine.foreign import ForeignFailed
from coworkenv.engine.plan import Plan
from coworkenv.events.event import Event, Json
from coworkenv.worlds.auditing import Audit, Examined, report
from coworkenv.worlds.claw_eval import Task, TaskError, load_task, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.declared import declared, judge
from coworkenv.worlds.claw_eval.needs import needs
from coworkenv.worlds.claw_eval.trace import trace, trace_text

from ..claw_eval.agents import persona
from ..claw_eval.stub import CHAT
from .agents import Spam
from .outcomes import CLAW_EVAL, ECHO, NOBODY, READER, SPAMMER, Outcome, Tried, why

_KINDS = {"C": "conversations", "M": "multimodal", "T": "general"}
"""Of tasks, by the first letter of their id."""


class Refusing:
    """A judge that grants nothing, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, question: Json) -> Json:
        self.asked += 1
        return CHAT if question["method"] == "chat" else {"score": Decimal(0), "reasoning": "a stub"}


def tried(path: Path, unsafe: bool = False) -> Iterator[Tried]:
    """All tasks of a checkout. Raises TaskError where it is none, and ForeignFailed where its code cannot be
    confined."""
    setup = Setup(checkout=find_checkout(path), unsafe=unsafe)
    for folder in setup.checkout.folders():
        yield trio.run(_tried, setup, folder)


async def examined(path: Path) -> Audit:
    """What `coworkenv env audit` finds in the tasks' own files, without any of their code."""
    found: list[Examined] = []
    tasks: list[Task] = []
    loader = Loader()
    for folder in find_checkout(path).folders():
        one, task = await examined_folder(folder, loader)
        found.append(one)
        tasks += [task] if task is not None else []
    return report(side_by_side(found, tasks))


async def _tried(setup: Setup, folder: Path) -> Tried:
    found = Tried(f"{CLAW_EVAL}, {_KINDS.get(folder.name[:1], 'others')}")
    try:
        if "sandbox" in needs(folder):
            found.problem = "takes a sandbox"
            return found
        task = load_task(folder)
    except TaskError:
        found.problem = "cannot be loaded"
        return found
    judging = Refusing()
    try:
        async with grader(setup, task.id, judging) as asked:
            for kind, agent in agents_of(task):
                try:
                    found.outcomes[kind] = await _outcome(asked, judging, task, agent)
                except ForeignFailed as failure:
                    if failure.kind != "raised":
                        raise
                    found.raised += (kind,)
    except (TaskError, ForeignFailed) as failure:
        found.problem = why(failure, "its grader fails")
    return found


def agents_of(task: Task) -> list[tuple[str, Actor]]:
    tools = "\n".join(f"{tool.name}: {tool.description}" for tool in task.tools)
    return [
        (NOBODY, Noop()),
        (ECHO, Spam(ECHO, tools)),
        (READER, Spam(READER, tools, reads=True)),
        (SPAMMER, Spam(SPAMMER, tools, reads=True, writes=True)),
    ]


async def _outcome(asked: TaskGrader, judging: Refusing, task: Task, agent: Actor) -> Outcome:
    world = world_of(task)
    events = (await play(Plan(world, agent, build_coworkers(world, "persona:stub", perform=persona)))).events
    before = judging.asked
    kind = str(agent.specification["kind"])
    scores = await asked.grade(trace_text(trace(task, events, trace_id=task.id, model=kind)))
    assert scores is not None
    return _graded(scores, judging.asked > before, task, events)


def _graded(scores: Scores, judged: bool, task: Task, events: Sequence[Event]) -> Outcome:
    return Outcome(
        score=scores.score,
        passed=scores.passed,
        checks={"completion": scores.completion, "robustness": scores.robustness},
        judged=judged,
        forbidden=bool(judge(task, declared(task), events).tripped),
        unsafe=scores.safety < 1,
    )
