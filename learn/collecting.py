"""Rollouts: many episodes of one policy, whose answers are sampled together.

Knows plans, waves and seats. Does not know how tokens are drawn (`generating`), or what an episode was worth. A wave is
as many episodes as one batch has rows: all begin together, and each has a seat from its first decision to its end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from ..agents.agent import Actor
from ..agents.building import build_coworkers
from ..engine.fork import fork_episode
from ..engine.grading import grade_episode
from ..engine.plan import Plan, plan_of
from ..engine.rollouts import Result, played, result_of, side_by_side
from ..events.log import Log
from .playing import Draft, Told
from .policy import PolicyServer, Seat
from .rendering import Rendering
from .student import Student, StudentOptions, at_hand

_Item = TypeVar("_Item")


class Branch(msgspec.Struct, frozen=True):
    """A continuation that is to be played: of an episode from an event on, with other draws of the agent."""

    stream: str
    at: int
    agent_seed: int


class Policy:
    """A policy that plays: its server, how it reads, and its options."""

    def __init__(self, server: PolicyServer, rendering: Rendering, options: StudentOptions, rows: int = 64) -> None:
        """`rows`: how many episodes share a batch."""
        self.server = server
        self.rendering = rendering
        self.options = options
        self._rows = rows

    async def play(self, drafts: Sequence[Draft], log: Log, finished: Told = lambda _: None) -> list[Result]:
        """Play and grade each draft into a log that is being written to; results in the order of the drafts."""
        return await self._in_waves(drafts, self._seated, log, finished)

    def agent(self, seat: Seat) -> Actor:
        """Who acts at a seat."""
        return Student(self.options, (self.rendering, seat.sample))

    async def _seated(self, draft: Draft, seat: Seat, log: Log) -> Result:
        try:
            coworkers = build_coworkers(draft.world)
            return await played(Plan(draft.world, self.agent(seat), coworkers, draft.seed, draft.trial), log)
        finally:
            seat.close()

    async def fork(self, branches: Sequence[Branch], log: Log) -> list[Result]:
        """Play and grade continuations of this policy's own episodes. What goes wrong is a result, as in `play`."""
        return await self._in_waves(branches, self._forked, log, lambda _: None)

    async def _forked(self, branch: Branch, seat: Seat, log: Log) -> Result:
        at_hand.set((self.rendering, seat.sample))
        try:
            episode = await fork_episode(log, branch.stream, branch.at, {"agent_seed": branch.agent_seed})
            ended = episode.status == "ended"
            grade = await grade_episode(log, episode.id, None, episode.events) if ended else None
            return result_of(plan_of(episode.events), episode, grade)
        except Exception as error:
            row = log.row(branch.stream)
            return Result(
                id=None,
                environment=f"{row.environment}@{row.twin}" if row.twin else row.environment,
                agent=row.agent,
                seed=row.seed,
                trial=row.trial,
                status="error",
                reason=f"{type(error).__name__}: {error}",
            )
        finally:
            seat.close()

    async def _in_waves(
        self,
        items: Sequence[_Item],
        play: Callable[[_Item, Seat, Log], Awaitable[Result]],
        log: Log,
        finished: Told,
    ) -> list[Result]:
        """Play all items, as many at once as a batch has rows; results in their order."""
        results: list[Result] = []
        for start in range(0, len(items), self._rows):
            wave = items[start : start + self._rows]
            seats = self.server.wave(len(wave), interruptible=self.options.interruptible)
            tasks = [partial(play, item, seat, log) for item, seat in zip(wave, seats, strict=True)]
            results += await side_by_side(tasks, len(wave), finished)
        return results
