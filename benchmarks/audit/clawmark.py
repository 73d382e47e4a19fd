"""ClawMark's tasks, audited: each checker's word on an agent that writes to everywhere, and on nobody.

Knows ClawMark's importer and checkers. What nobody is worth is known from the rehearsal with which a task is loaded.
Its checkers look at records alone, so those who only speak or read are worth the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path

import trio

from coworkenv.agents.agent import Unavailable
from coworkenv.engine.clawmark.grading import verdicts_of
from coworkenv.engine.clawmark.host import CHECKOUTS, Setup, worker
from coworkenv.engine.clawmark.loading import load_task
from coworkenv.engine.clawmark.people import StageUser
from coworkenv.engine.episode import play
from coworkenv.engine.foreign import ForeignFailed
from coworkenv.engine.hosting import Differs
from coworkenv.engine.plan import Plan
from coworkenv.worlds.clawmark import Task, world_of
from coworkenv.worlds.clawmark.world import USER

from .agents import Spam
from .outcomes import CLAWMARK, NOBODY, SPAMMER, Outcome, Tried, why

FEW = 5
"""Calls of one tool in a round: each comes with all records."""


def tried(path: Path, unsafe: bool = False) -> Iterator[Tried]:
    """All tasks of a checkout. Raises CheckoutError where it is none, and ForeignFailed where its code cannot be
    confined."""
    setup = CHECKOUTS.name(path, unsafe)
    for name in setup.checkout.tasks():
        yield trio.run(_tried, setup, name)


async def _tried(setup: Setup, name: str) -> Tried:
    found = Tried(CLAWMARK, part=name.rpartition("/")[0])
    try:
        task = await load_task(setup, name)
    except ForeignFailed as failure:
        found.problem = why(failure, "cannot be loaded")
        return found
    found.outcomes[NOBODY] = _outcome((f"{each.part} {each.id}", each.weight, each.idle) for each in task.checkers)
    try:
        found.outcomes[SPAMMER] = await _spammed(setup, task)
    except (ForeignFailed, Differs, Unavailable) as failure:
        found.problem = why(failure, "a stage or a checker fails")
    return found


async def _spammed(setup: Setup, task: Task) -> Outcome:
    agent = Spam(SPAMMER, task.briefing, reads=True, writes=True, waits=True, spares=True, most=FEW)
    events = (await play(Plan(world_of(task), agent, {USER: StageUser()}))).events
    async with worker(setup, task.id) as asked:
        verdicts = (await verdicts_of(asked, setup, task, events)).verdicts
    return _outcome((f"{each.part} {each.id}", each.weight, each.passed) for each in verdicts)


def _outcome(checkers: Iterable[tuple[str, Decimal, bool]]) -> Outcome:
    """By the benchmark's rule, over the whole rubric."""
    rubric = list(checkers)
    whole = sum((weight for _, weight, _ in rubric), Decimal(0))
    earned = sum((weight for _, weight, passed in rubric if passed), Decimal(0))
    return Outcome(
        score=earned / whole if whole else Decimal(0),
        passed=bool(rubric) and earned == whole,
        checks={name: Decimal(passed) for name, _, passed in rubric},
    )
