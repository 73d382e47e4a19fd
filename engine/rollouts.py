"""Many episodes in one loop.

Knows how many may be under way at once, and that one which fails must not take the others with it. Does not know what
an episode is about. Episodes are begun, and their results told, in the order of the plans, whatever order they end in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal

import msgspec
import trio

from ..agents.agent import ActorError
from ..events.errors import LogError
from ..events.event import ToolCalled, ToolReturned
from ..events.log import Log
from .episode import Episode, run_episode
from .grading import Graded, grade_episode
from .importing import Graders, benchmark_of, graded_or_not
from .plan import EpisodeError, Plan, agent_name
from .recording import Divergence


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one plan, in plain values: what `--json` prints."""

    id: str | None
    environment: str
    agent: str
    seed: int
    trial: int
    status: Literal["ended", "suspended", "error"]
    reason: str
    events: int = 0
    at: int = 0
    """Virtual time of the last event, in microseconds."""
    calls: int = 0
    unavailable: tuple[str, ...] = ()
    """Tools that answered that they are not available here."""
    grade: Graded | None = None
    """None where there is no grader, or the episode has not ended."""
    ungraded: str = ""
    """Why a benchmark's own grader gave none."""
    benchmark: str = ""
    """Whose task it is; empty for an environment of ours."""


async def rollout(
    plans: Sequence[Plan],
    log: Log,
    *,
    concurrency: int = 32,
    finished: Callable[[Result], None] = lambda result: None,
    graders: Graders | None = None,
) -> list[Result]:
    """Run and grade every plan in a log that is being written to (`log.writing()`), at most `concurrency` at once.
    Tasks of a benchmark are graded by its `graders`, where they are named.

    `finished` is called with each result, in the order of the plans: as soon as it and all before it are there.
    Whatever goes wrong with one episode is a result with status `error`, and the others go on.
    """
    return await side_by_side([partial(played, plan, log, graders) for plan in plans], concurrency, finished)


async def side_by_side(
    episodes: Sequence[Callable[[], Awaitable[Result]]], concurrency: int, finished: Callable[[Result], None]
) -> list[Result]:
    """Await every episode, at most `concurrency` at once: begun in order, and told to `finished` in order."""
    results: list[Result | None] = [None] * len(episodes)
    waiting = iter(enumerate(episodes))
    told: list[Result] = []

    async def work() -> None:
        for place, episode in waiting:
            results[place] = await episode()
            while len(told) < len(results) and (result := results[len(told)]) is not None:
                told.append(result)
                finished(result)

    async with trio.open_nursery() as nursery:
        for _ in range(min(concurrency, len(episodes))):
            nursery.start_soon(work)
    return told


async def played(plan: Plan, log: Log, graders: Graders | None = None) -> Result:
    """Run and grade one plan. Whatever goes wrong is a result with status `error`."""
    try:
        episode = await run_episode(plan, log)
        if episode.status != "ended":
            return result_of(plan, episode, None)
        return await graded_result(plan, episode, log, graders)
    except (EpisodeError, LogError, Divergence, ActorError) as error:
        return _error(plan, str(error))
    except Exception as error:
        return _error(plan, f"{type(error).__name__}: {error}")


async def graded_result(plan: Plan, episode: Episode, log: Log, graders: Graders | None) -> Result:
    """An episode that has ended, with its grade: by its own checks if it has any, else by `graders`."""
    if graders is None or plan.world.scoring is not None:
        return result_of(plan, episode, await grade_episode(log, episode.id, plan.world, episode.events))
    grade, why = await graded_or_not(log, episode.id, graders)
    return msgspec.structs.replace(result_of(plan, episode, grade), ungraded=why)


def _error(plan: Plan, reason: str) -> Result:
    """What came of a plan that could not be played."""
    try:
        agent = agent_name(plan.agent.specification)
    except Exception:  # what went wrong may have been just this
        agent = type(plan.agent).__name__
    return Result(
        id=None,
        environment=plan.world.id,
        agent=agent,
        seed=plan.seed,
        trial=plan.trial,
        status="error",
        reason=reason,
    )


def result_of(plan: Plan, episode: Episode, grade: Graded | None) -> Result:
    """An episode in plain values."""
    calls: dict[int, str] = {}
    missing: dict[str, None] = {}
    for event in episode.events:
        body = event.body
        if isinstance(body, ToolCalled):
            calls[event.seq] = body.tool
        elif isinstance(body, ToolReturned) and body.error is not None and body.error.type == "not_available_here":
            missing[calls[body.call]] = None
    return Result(
        id=episode.id,
        environment=plan.world.id,
        agent=agent_name(plan.agent.specification),
        seed=plan.seed,
        trial=plan.trial,
        status=episode.status,
        reason=episode.reason,
        events=len(episode.events),
        at=episode.events[-1].at if episode.events else 0,
        calls=len(calls),
        unavailable=tuple(missing),
        grade=grade,
        benchmark=benchmark_of(plan.world.document),
    )
