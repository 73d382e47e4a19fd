"""One episode: from a plan to a stream in a log, and on again after a break.

Knows how a plan becomes the first event, how an episode's stream is named, and what happens to it when the world outside
fails, when the run is cancelled, and when it ends. Does not know virtual time (`kernel`) or how answers are kept
(`effects`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal

import msgspec
import trio

from ..agents.agent import Actor, Unavailable
from ..agents.building import build_agent, build_coworkers
from ..events.appender import Appender
from ..events.chain import GENESIS, link
from ..events.codec import decode, encode
from ..events.errors import NotFound
from ..events.event import (
    SEMANTICS,
    EffectCancelled,
    EffectResolved,
    EpisodeForked,
    EpisodeStarted,
    Event,
    Json,
    MessageSent,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
)
from ..events.log import Log, StreamRow
from ..worlds.compiling import rebuild
from ..worlds.world import World
from . import wall
from .effects import Effects, Journal
from .kernel import Changes, Kernel
from .order import AGENT
from .recording import Comparing, Recorder, Recording, Unrecorded


class EpisodeError(Exception):
    """Something that cannot be done with an episode, in a sentence for whoever asked for it."""


class Plan(msgspec.Struct, frozen=True):
    """Who plays what: all that determines an episode, apart from the answers of the outside world."""

    world: World
    agent: Actor
    coworkers: Mapping[str, Actor] = {}
    seed: int = 0
    trial: int = 0

    def actors(self) -> dict[str, Actor]:
        return {AGENT: self.agent, **self.coworkers}

    def started(self) -> EpisodeStarted:
        return EpisodeStarted(
            environment=self.world.document,
            id=self.world.id,
            start=self.world.start.isoformat(),
            seed=self.seed,
            trial=self.trial,
            agent=self.agent.specification,
            coworkers={name: actor.specification for name, actor in self.coworkers.items()},
        )


class Episode(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run. `events` is the whole stream."""

    id: str
    status: Literal["ended", "suspended"]
    reason: str
    events: Sequence[Event]
    kernel: Kernel


def first_event(started: EpisodeStarted) -> Event:
    return Event(0, 0, "world", None, started)


def episode_id(started: EpisodeStarted) -> str:
    """Sixteen hexadecimal digits, from the digest of the first event and the trial."""
    digest = link(GENESIS, encode(first_event(started)).data)
    return sha256(digest + str(started.trial).encode()).hexdigest()[:16]


def plan_row(plan: Plan, started: EpisodeStarted) -> StreamRow:
    name, _, twin = plan.world.id.partition("@")
    return StreamRow(
        id=episode_id(started),
        environment=name,
        twin=twin or None,
        agent=agent_name(started.agent),
        seed=plan.seed,
        trial=plan.trial,
        created=wall.now(),
        host=wall.host(),
        versions=wall.versions(),
    )


def agent_name(specification: Mapping[str, Json]) -> str:
    """How people call the agent with this specification: `oracle`, `trap:NAME`, `openai:MODEL`."""
    kind = str(specification.get("kind", "?"))
    detail = specification.get("name") or specification.get("model")
    return f"{kind}:{detail}" if detail else kind


async def play(plan: Plan, recorder: Recorder | None = None) -> Episode:
    """Play an episode in memory, or into `recorder`. Raises Unavailable if the outside world does not answer."""
    started = plan.started()
    async with trio.open_nursery() as nursery:
        kernel = Kernel(plan.world, started, plan.actors(), recorder or Unrecorded(), Effects(nursery))
        failure = await _finish(kernel)
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return Episode(
        id=episode_id(started), status="ended", reason=kernel.reason or "", events=kernel.events, kernel=kernel
    )


async def _finish(kernel: Kernel) -> Exception | None:
    """Run to the end; actors are closed whatever happens. The failure is returned, not raised through a nursery."""
    try:
        await kernel.run()
        return None
    except Exception as failure:
        return failure
    finally:
        await kernel.close()


async def run_episode(plan: Plan, log: Log) -> Episode:
    """Play an episode into a log that is being written to (`log.writing()`).

    If the log has it already: an ended one is returned as it is, another is gone on with.
    """
    started = plan.started()
    row = plan_row(plan, started)
    try:
        count = log.row(row.id).count
    except NotFound:
        log.create(row)
        count = 0
    if count:
        return await resume_episode(log, row.id)
    appender = log.open(row.id, wall.holder(), wall.now())
    async with trio.open_nursery() as nursery:
        kernel = Kernel(plan.world, started, plan.actors(), Recording(appender), Effects(nursery))
        episode = await conclude(row.id, kernel, appender, kernel.run())
        nursery.cancel_scope.cancel()
    return episode


async def resume_episode(log: Log, stream: str) -> Episode:
    """Go on with an episode where its log ends. Nothing that the log answers is asked again.

    Raises EpisodeError if it cannot be re-executed, Divergence if re-execution differs.
    """
    row = log.row(stream)
    raw = [data for _, data, _ in log.read_raw(row.id)]
    if not raw:
        raise EpisodeError(f"episode {row.id} has no events yet; run it again with the command that began it")
    events = [decode(data, log.blob) for data in raw]
    if row.status == "ended":
        return await _stored(row, events)
    plan = plan_of(events)
    appender = log.open(row.id, wall.holder(), wall.now())
    async with trio.open_nursery() as nursery:
        recorder = Comparing(raw, Recording(appender))
        kernel = Kernel(plan.world, plan.started(), plan.actors(), recorder, Effects(nursery), journal_of(events))
        episode = await conclude(row.id, kernel, appender, execute(kernel, forks_of(events)))
        nursery.cancel_scope.cancel()
    return episode


async def _stored(row: StreamRow, events: list[Event]) -> Episode:
    plan = plan_of(events)
    kernel = Kernel(plan.world, plan.started(), plan.actors(), Unrecorded())
    await trio.lowlevel.checkpoint()
    return Episode(id=row.id, status="ended", reason=row.reason, events=events, kernel=kernel)


async def conclude(stream: str, kernel: Kernel, appender: Appender, rest: Awaitable[None]) -> Episode:
    """Await the rest of a run that writes into `appender`, and leave the stream ended or suspended, not in between."""
    status: Literal["ended", "suspended"] = "suspended"
    reason = "interrupted"
    try:
        await rest
        status, reason = "ended", kernel.reason or ""
    except Unavailable as failure:
        reason = str(failure)
    finally:
        # Also when cancelled, by Ctrl-C say: what has been appended is made durable before anybody leaves.
        with trio.CancelScope(shield=True):
            await kernel.close()
            if not appender.failed:
                await appender.close(status, reason)
    return Episode(id=stream, status=status, reason=reason, events=kernel.events, kernel=kernel)


async def execute(kernel: Kernel, forks: Sequence[tuple[int, EpisodeForked]], until: int | None = None) -> None:
    """Run through the forks that a stream has behind it, to the end or to the end of the step of event `until`."""
    for seq, forked in forks:
        if until is None or seq <= until:
            await kernel.run(until=seq - 1)
            await kernel.fork(forked, changes_of(kernel.world, forked.changes))
    await kernel.run(until)


# --- what a stream says about how it came to be ------------------------------------------------------------


def plan_of(events: Sequence[Event]) -> Plan:
    """The plan that a stream's first event holds. Raises EpisodeError if there is none that this release can play."""
    started = events[0].body
    if not isinstance(started, EpisodeStarted):
        raise EpisodeError("the stream does not begin with episode.started: it is not an episode")
    if started.semantics != SEMANTICS:
        raise EpisodeError(
            f"the episode was recorded under semantics {started.semantics}, this release executes {SEMANTICS}; "
            "it can be shown and graded, but not executed again"
        )
    world = rebuild(started.environment)
    return Plan(
        world=world,
        agent=build_agent(started.agent),
        coworkers=build_coworkers(world, started.coworkers),
        seed=started.seed,
        trial=started.trial,
    )


def journal_of(events: Sequence[Event], until: int | None = None) -> Journal:
    """The answers in a stream. With `until`, those to requests up to that event, and cancellations up to it."""
    resolved: dict[int, EffectResolved] = {}
    cancelled: set[int] = set()
    for event in events:
        body = event.body
        if isinstance(body, EffectResolved) and (until is None or body.effect <= until):
            resolved[body.effect] = body
        elif isinstance(body, EffectCancelled) and (until is None or event.seq <= until):
            cancelled.add(body.effect)
    return Journal(resolved, frozenset(cancelled))


def forks_of(events: Sequence[Event]) -> list[tuple[int, EpisodeForked]]:
    """The forks that a stream has behind it, with their `seq`."""
    return [(event.seq, event.body) for event in events if isinstance(event.body, EpisodeForked)]


_RECORD_EVENTS = RecordCreated | RecordChanged | RecordDeleted


def changes_of(world: World, changes: Mapping[str, Json]) -> Changes:
    """What a fork changes, from what its event says. Raises EpisodeError for what cannot be read."""
    unknown = set(changes) - {"seed", "agent", "coworkers", "messages", "records"}
    if unknown:
        raise EpisodeError(f"a fork cannot change {', '.join(sorted(unknown))}")
    actors: dict[str, Actor] = {}
    if "agent" in changes:
        actors[AGENT] = build_agent(changes["agent"])
    if "coworkers" in changes:
        wanted = changes["coworkers"]
        actors |= {name: actor for name, actor in build_coworkers(world, wanted).items() if name in wanted}
    try:
        messages = tuple(
            (sender, msgspec.convert(body, MessageSent)) for sender, body in _pairs(changes.get("messages"))
        )
        records = tuple(msgspec.convert(record, _RECORD_EVENTS) for record in changes.get("records") or ())
    except msgspec.ValidationError as error:
        raise EpisodeError(f"the fork's changes cannot be read: {error}") from error
    return Changes(seed=changes.get("seed"), actors=actors, messages=messages, records=records)


def _pairs(messages: Any) -> Iterator[tuple[str, dict[str, Json]]]:
    for message in messages or ():
        yield (
            str(message["from"]),
            {**{key: value for key, value in message.items() if key != "from"}, "type": "message.sent"},
        )
