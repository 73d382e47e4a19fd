"""τ²-bench's tasks, audited: each component that counts, of agents that solve nothing and of the reference actions.

Knows τ²-bench's importer and evaluators. One worker a domain hosts all: episodes, one after the other,
and their grades.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

import msgspec
import trio

from coworkenv.agents.agent import Actor, Unavailable
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.episode import play
from coworkenv.engine.foreign import ForeignFailed, Worker
from coworkenv.engine.hosting import Hosted
from coworkenv.engine.plan import Plan
from coworkenv.engine.tau2.grading import components_of
from coworkenv.engine.tau2.host import CHECKOUTS, Setup, opened, worker
from coworkenv.engine.tau2.loading import load_task
from coworkenv.engine.tau2.people import ReferenceUser
from coworkenv.events.event import Event, Json
from coworkenv.worlds.tau2 import Task, world_of
from coworkenv.worlds.tau2.reference import USER, Action, play_of, reference_actions, to_communicate
from coworkenv.worlds.tau2.trajectory import ERRORS
from coworkenv.worlds.world import World

from .agents import Spam
from .outcomes import NOBODY, READER, REFERENCE, SPAMMER, TAU2, Outcome, Tried

_TURNS: Sequence[Sequence[Action]] = ((),)
"""A user who does nothing, and ends the conversation when they hear anything."""


_END = frozenset(("DB", "ENV_ASSERTION", "NL_ASSERTION"))
"""Where no other components count, whoever only reads is worth what nobody is: by code, only the end state is."""


class Judge:
    """Says of each assertion that it is not met, or, where it is `kind`, that it is."""

    def __init__(self) -> None:
        self.kind = False
        self.asked = 0

    async def __call__(self, _: str, question: Json) -> Json:
        self.asked += 1
        met = "true" if self.kind else "false"
        return f'{{"results": [{{"expectedOutcome": "-", "reasoning": "-", "metExpectation": {met}}}]}}'


def tried(path: Path, unsafe: bool = False) -> Iterator[Tried]:
    """All tasks of a checkout, domain by domain. Raises CheckoutError where it is none, and ForeignFailed where its
    code cannot be run at all."""
    setup = CHECKOUTS.name(path, unsafe)
    for domain in setup.checkout.domains():
        if setup.checkout.missing(domain):
            yield from (Tried(f"{TAU2}, {domain}", problem="lacks its data") for _ in setup.checkout.tasks(domain))
        else:
            yield from trio.run(_domain, setup, domain)


async def _domain(setup: Setup, domain: str, most: int | None = None) -> list[Tried]:
    rows: list[Tried] = []
    digest, judge = setup.checkout.digest(domain), Judge()
    waiting = setup.checkout.tasks(domain)[:most]
    while waiting:  # A worker that fails is begun anew, without the task at which it failed.
        async with worker(setup, judge) as asked:
            while waiting:
                raw = waiting.pop(0)
                row = Tried(f"{TAU2}, {domain}")
                rows.append(row)
                try:
                    task = await load_task(asked, setup, domain, raw, digest=digest)
                except ForeignFailed as failure:
                    row.problem = "cannot be loaded"
                    if failure.kind == "raised":
                        continue
                    break
                if not await _fill(row, asked, judge, task):
                    break
    return rows


async def _fill(row: Tried, asked: Worker, judge: Judge, task: Task) -> bool:
    """Add what each agent is worth. False if the worker cannot go on."""
    for kind in (NOBODY, READER, REFERENCE, SPAMMER):
        if kind == READER and (idle := row.outcomes.get(NOBODY)) and _END.issuperset(idle.checks):
            row.outcomes[READER] = idle
            continue
        try:
            row.outcomes[kind] = await _outcome(asked, judge, task, kind)
        except ForeignFailed as failure:
            if failure.kind != "raised":
                row.problem = "its evaluators fail"
                return False
            row.raised += (kind,)
        except Unavailable:
            row.raised += (kind,)
            return False
    return True


async def _outcome(asked: Worker, judge: Judge, task: Task, kind: str) -> Outcome:
    events = await _played(asked, world_of(task), *_players(task, kind))
    judge.kind, before = kind == REFERENCE, judge.asked
    components = await components_of(asked, task, events, judged=True)
    assert components.reward is not None
    return Outcome(
        score=components.reward,
        passed=components.reward == 1,
        checks={name: components.components[name] or Decimal(0) for name in components.basis},
        judged=judge.asked > before and not judge.kind,
    )


def _players(task: Task, kind: str) -> tuple[Actor, Actor]:
    """The agent and the user. What a user is told of their case they tell the agent at once."""
    if kind == REFERENCE:
        play = play_of(reference_actions(task.raw), to_communicate(task.raw))
        return Script([ScriptStep(**msgspec.structs.asdict(step)) for step in play.steps]), ReferenceUser(play.turns)
    told = "" if kind == NOBODY else task.scenario
    reads, writes = kind in (READER, SPAMMER), kind == SPAMMER
    return Spam(kind, told, reads=reads, writes=writes, failures=ERRORS - 1), ReferenceUser(_TURNS)


async def _played(asked: Worker, world: World, agent: Actor, user: Actor) -> Sequence[Event]:
    """An episode whose code runs in a worker that is there already. Raises Unavailable where that fails."""

    @asynccontextmanager
    async def hosted() -> AsyncIterator[Hosted]:
        yield await opened(asked, world.host)

    return (await play(Plan(world, agent, {USER: user}), opener=hosted)).events
