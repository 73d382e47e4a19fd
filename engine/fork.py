"""Forks: the same past, another future.

Knows how a stream is copied up to an event, rounded up to the end of its step, and what is changed there. The prefix is
executed again, so that whatever was on its way (messages, timers, requests) is on its way in the fork as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec
import trio

from ..agents.agent import Perform
from ..events.codec import decode_many
from ..events.errors import NotFound, StreamExists
from ..events.event import AGENT, EffectCancelled, EpisodeEnded, EpisodeForked, Event, Json, RecordCreated
from ..events.log import Log, StreamRow
from ..events.normalise import normalise
from ..worlds.foreign import ForeignService
from . import wall
from .branching import Changes, branch
from .effects import Effects
from .episode import Episode, conclude, execute, resume_episode
from .hosting import host_of
from .inheritance import known
from .kernel import ENDED, Kernel
from .leases import take
from .plan import EpisodeError, agent_name, changes_of, check_agent, forks_of, plan_of
from .recording import Comparing, Divergence, Recording

_encode = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode


async def fork_episode(
    log: Log, stream: str, at: int, changes: Mapping[str, Json], perform: Perform | None = None
) -> Episode:
    """Fork an episode at event `at` and play it to its end, in a log that is being written to.

    `changes` is what `episode.forked` says: any of `seed`, `agent_seed` (what the agent alone draws from), `agent` (a
    specification), `coworkers` (by id), `messages` (`{"from", "to", "text"}`), `records` (record events). The same fork
    again is the same episode: it is gone on with, or returned as it is.

    Raises EpisodeError if there is no such event, if the changes cannot be made there, or if executing the prefix does
    not give what the log holds; NoCode or Differs if foreign code that the episode takes is not to be had or differs.
    """
    changes = normalise(dict(changes))[0]
    row = log.row(stream)
    stored = list(log.read_raw(row.id))
    if not 0 <= at < len(stored):
        raise EpisodeError(f"episode {row.id} has events 0 to {len(stored) - 1}; it cannot be forked at {at}")
    raw = [data for _, data, _ in stored]
    events = decode_many(raw, log.blob)
    plan = plan_of(events, perform)
    if "agent" in changes:
        check_agent(plan.world, changes["agent"])
    changed = changes_of(plan.world, changes, perform)
    episode: Episode | None = None
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        recorder, host = Comparing(raw), host_of(plan.world, nursery)
        kernel = Kernel(
            plan.world,
            plan.started(),
            plan.actors(),
            recorder,
            Effects(nursery),
            known(log, row.id, events),
            host,
        )
        try:
            await execute(kernel, forks_of(events), min(at, _last_before_end(events)), perform)
            last = len(kernel.events) - 1
            forked = EpisodeForked(parent=row.id, seq=last, digest=stored[last][2].hex(), changes=dict(changes))
            name = fork_id(forked)
            _check(kernel, changed)
            if not _holds(log, name):
                if host is not None:
                    await host.catch_up()  # Without its code, or with other code, there is no fork.
                kernel.asking.journal = known(log, row.id, events, last)
                episode, failure = await _go_on(log, _fork_row(row, name, changes), kernel, recorder, forked, changed)
        except Divergence as difference:
            failure = EpisodeError(
                f"episode {row.id} cannot be forked at {at}: executing it again differs at event {difference.seq}; "
                f"`coworkenv verify {row.id}` shows how"
            )
        except Exception as error:
            failure = error
        finally:
            await kernel.close()
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return episode or await resume_episode(log, name, perform)


def _last_before_end(events: Sequence[Event]) -> int:
    """The last event that does not belong to an episode's end: a fork of an ended episode is one that goes on.

    Only there may executing it stop. What lies between it and the end, timers that nobody heard, is the future.
    """
    last = len(events) - 1
    if isinstance(events[last].body, EpisodeEnded):
        last -= 1
        while isinstance(body := events[last].body, EffectCancelled) and body.reason == ENDED:
            last -= 1
    return last


async def _go_on(
    log: Log, row: StreamRow, kernel: Kernel, recorder: Comparing, forked: EpisodeForked, changed: Changes
) -> tuple[Episode, Exception | None]:
    """Copy the prefix into the fork's own stream, and play on there."""
    try:
        appender = log.begin(row, wall.holder(), wall.now())
    except StreamExists:  # without events, or made since this fork was looked for
        appender = take(log, row.id)
    for seen in log.observations(forked.parent):
        if seen.seq <= forked.seq:
            appender.observe(seen.seq, seen.content, seen.name)
    recorder.go_on_into(Recording(appender, kernel.events[:]))

    async def rest() -> None:
        await branch(kernel, forked, changed)
        await kernel.run()

    return await conclude(row.id, kernel, appender, rest())


def _check(kernel: Kernel, changes: Changes) -> None:
    """Raises EpisodeError for a change that cannot be made where `kernel` is."""
    for name in changes.actors:
        if name not in kernel.seats:
            raise EpisodeError(f"{name} takes no part in the episode, so nobody can take over from them")
    people = [AGENT, *kernel.people]
    for sender, body in changes.messages:
        for name in (sender, body.to):
            if name not in people:
                raise EpisodeError(f"a message cannot be from or to {name!r}; there are {', '.join(people)}")
    services = [service.name for service in kernel.world.services if not isinstance(service, ForeignService)]
    state = kernel.state
    for record in changes.records:
        if record.service not in services:
            there = ", ".join(services) or "none"
            raise EpisodeError(f"a fork cannot change records of the service {record.service!r}; it can of {there}")
        found = record.key in state[record.service][record.collection]
        if found == isinstance(record, RecordCreated):
            where = f"{record.service}.{record.collection}:{record.key}"
            raise EpisodeError(f"the record {where} cannot be changed so: it is {'already' if found else 'not'} there")
        state = state.apply(record)


def _holds(log: Log, stream: str) -> bool:
    try:
        return log.row(stream).count > 0
    except NotFound:
        return False


def fork_id(forked: EpisodeForked) -> str:
    """Sixteen hexadecimal digits, from where the fork leaves its parent and what it changes."""
    return sha256(_encode([forked.parent, forked.seq, forked.digest, forked.changes])).hexdigest()[:16]


def _fork_row(parent: StreamRow, name: str, changes: Mapping[str, Json]) -> StreamRow:
    return msgspec.structs.replace(
        parent,
        id=name,
        parent=parent.id,
        agent=agent_name(changes["agent"]) if "agent" in changes else parent.agent,
        seed=changes.get("seed", parent.seed),
        status="suspended",
        reason="",
        count=0,
        digest="",
        **wall.here(),
    )
