"""One episode: from a plan to a stream in a log, and on again after a break.

Knows what happens to a stream when the world outside fails, when the run is cancelled, and when it ends. Does not know
virtual time (`kernel`), how answers are kept (`effects`), or how a stream says who plays (`plan`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Literal

import msgspec
import trio

from ..agents.agent import Perform, Unavailable
from ..events.appender import Appender
from ..events.codec import decode_many
from ..events.errors import LeaseHeld, LogError, StreamEnded, StreamExists
from ..events.event import EpisodeForked, Event
from ..events.log import Log, StreamRow
from . import wall
from .branching import branch
from .effects import Effects, Journal
from .failing import TRACEBACK
from .hosting import Driven, NoCode, Opener, host_of
from .inheritance import known
from .kernel import Kernel
from .leases import take
from .plan import (
    EpisodeError,
    Plan,
    agent_name,
    changes_of,
    check_agent,
    episode_id,
    forks_of,
    plan_of,
)
from .recording import Comparing, Recorder, Recording, Unrecorded


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run. `events` is the whole stream."""

    id: str
    status: Literal["ended", "suspended"]
    reason: str
    events: Sequence[Event]
    failure: str | None = None
    """The traceback of the first actor that failed: in no event, and kept beside the log at its `actor.failed`."""
    codeless: bool = False
    """It is suspended for lack of foreign code, which somebody has to name."""


def plan_row(plan: Plan) -> StreamRow:
    """What people look for when they look for this episode."""
    name, _, twin = plan.world.id.partition("@")
    started = plan.started()
    return StreamRow(
        id=episode_id(started),
        environment=name,
        twin=twin or None,
        agent=agent_name(started.agent),
        seed=plan.seed,
        trial=plan.trial,
        **wall.here(),
    )


async def play(plan: Plan, recorder: Recorder | None = None, opener: Opener | None = None) -> Episode:
    """Play an episode in memory, or into `recorder`; its foreign code is what `opener` brings up, or else its importer.
    Raises Unavailable if the outside world does not answer."""
    started = plan.started()
    async with trio.open_nursery() as nursery:
        host = host_of(plan.world, nursery) if opener is None else Driven(opener, nursery)
        kernel = Kernel(plan.world, started, plan.actors(), recorder or Unrecorded(), Effects(nursery), host=host)
        failure = await _finish(kernel)
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return Episode(
        id=episode_id(started),
        status="ended",
        reason=kernel.reason or "",
        events=kernel.events,
        failure=kernel.failure,
    )


async def _finish(kernel: Kernel) -> Exception | None:
    """Run to the end; actors are closed whatever happens. A failure is returned, not raised through a nursery."""
    try:
        await kernel.run()
        return None
    except Exception as failure:
        return failure
    finally:
        await kernel.close()


async def run_episode(plan: Plan, log: Log) -> Episode:
    """Play an episode into a log that is being written to (`log.writing()`).

    If the log has it already: an ended one is returned as it is, another is gone on with, unless another process is at
    it (LeaseHeld). Raises EpisodeError for an agent that does not suit the world.
    """
    row = plan_row(plan)
    check_agent(plan.world, plan.agent.specification)
    try:
        appender = log.begin(row, wall.holder(), wall.now())
        return await _play_on(plan, appender, [], Journal())
    except StreamExists:  # from before, or since a moment ago, when another process was quicker
        return await _go_on(log, log.row(row.id), plan)
    except LeaseHeld as held:
        raise _played_by(row.id, held) from held


async def resume_episode(log: Log, stream: str, perform: Perform | None = None) -> Episode:
    """Go on with an episode where its log ends. Nothing that the log answers is asked again.

    `perform` is asked instead of the model servers that the episode names. Raises EpisodeError if it cannot be executed
    again, Divergence if execution gives something else than the log holds.
    """
    row = log.row(stream)
    if not row.count:
        raise EpisodeError(f"episode {row.id} has no events yet; run it again with the command that began it")
    return await _go_on(log, row, None, perform)


async def _go_on(log: Log, row: StreamRow, plan: Plan | None, perform: Perform | None = None) -> Episode:
    raw = [data for _, data, _ in log.read_raw(row.id)]
    events = decode_many(raw, log.blob)
    if row.status == "ended":
        await trio.lowlevel.checkpoint()
        return Episode(id=row.id, status="ended", reason=row.reason, events=events, failure=_failure(log, row))
    plan = plan or plan_of(events, perform)
    try:
        appender = take(log, row.id)
    except StreamEnded:  # Somebody has brought it to its end in between.
        return await _go_on(log, log.row(row.id), plan, perform)
    except LeaseHeld as held:
        raise _played_by(row.id, held) from held
    if appender.count != len(raw):  # Somebody has gone on with it in between; now nobody else can.
        raw = [data for _, data, _ in log.read_raw(row.id)]
        events = decode_many(raw, log.blob)
    return await _play_on(plan, appender, raw, known(log, row.id, events), forks_of(events), perform)


def _played_by(stream: str, held: LeaseHeld) -> LeaseHeld:
    left = f"if that has crashed, it can be gone on with in {max(0, held.until - wall.now()):.0f} s"
    says = f"episode {stream} is being played by {held.holder}, and will be in this log; {left}"
    return LeaseHeld(says, holder=held.holder, until=held.until)


def _failure(log: Log, row: StreamRow) -> str | None:
    """The traceback that is kept of an ended episode."""
    if row.reason != "failed":
        return None
    kept = (seen.content for seen in log.observations(row.id) if seen.name == TRACEBACK)
    return next((content.decode("utf-8", "replace") for content in kept), None)


async def _play_on(
    plan: Plan,
    appender: Appender,
    raw: Sequence[bytes],
    journal: Journal,
    forks: Sequence[tuple[int, EpisodeForked]] = (),
    perform: Perform | None = None,
) -> Episode:
    """Execute what the stream of `appender` holds already (`raw`), and whatever comes after it."""
    async with trio.open_nursery() as nursery:
        recorder = Comparing(raw, Recording(appender)) if raw else Recording(appender)
        host = host_of(plan.world, nursery)
        kernel = Kernel(plan.world, plan.started(), plan.actors(), recorder, Effects(nursery), journal, host)
        rest = execute(kernel, forks, perform=perform)
        episode, failure = await conclude(appender.stream, kernel, appender, rest)
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return episode


async def conclude(
    stream: str, kernel: Kernel, appender: Appender, rest: Awaitable[None]
) -> tuple[Episode, Exception | None]:
    """Await the rest of a run that writes into `appender`, and leave the stream ended or suspended, not in between.

    A failure other than Unavailable is returned beside the episode: raised here, it would come out of the caller's
    nursery in a group.
    """
    status: Literal["ended", "suspended"] = "suspended"
    reason, failure, codeless = "interrupted", None, False
    try:
        await rest
        status, reason = "ended", kernel.reason or ""
    except Unavailable as unavailable:
        reason, codeless = str(unavailable), isinstance(unavailable, NoCode)
    except Exception as error:
        reason, failure = f"{type(error).__name__}: {error}", error
    finally:
        # Also when cancelled, by Ctrl-C say: what has been appended is made durable before anybody leaves.
        with trio.CancelScope(shield=True):
            await kernel.close()
            try:
                if not appender.failed:
                    await appender.close(status, reason)
            except LogError as error:
                failure = failure or error
            else:
                failure = failure or appender.untold
    episode = Episode(
        id=stream,
        status=status,
        reason=reason,
        events=kernel.events,
        failure=kernel.failure,
        codeless=codeless,
    )
    return episode, failure


async def execute(
    kernel: Kernel,
    forks: Sequence[tuple[int, EpisodeForked]],
    until: int | None = None,
    perform: Perform | None = None,
) -> None:
    """Run through the forks that a stream has behind it, to the end or to the end of the step of event `until`."""
    for seq, forked in forks:
        if until is None or seq <= until:
            await kernel.run(until=seq - 1)
            await branch(kernel, forked, changes_of(kernel.world, forked.changes, perform))
    await kernel.run(until)
