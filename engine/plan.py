"""Plans: who plays what, and how a stream says so.

Knows how a plan becomes a stream's first event and its name, and how plan, journal and forks are read from it again.
Does not run anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec

from ..agents.agent import Actor, ActorError, Perform
from ..agents.building import build_agent, build_coworkers
from ..agents.naming import UnknownName
from ..events.chain import GENESIS, link
from ..events.codec import encode
from ..events.coherence import check_coherent
from ..events.errors import NotJson
from ..events.event import (
    AGENT,
    SEMANTICS,
    WORLD,
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
from ..events.normalise import normalise
from ..worlds.compiling import rebuild
from ..worlds.problems import InvalidEnvironment
from ..worlds.world import World
from .branching import Changes
from .effects import Journal


class EpisodeError(Exception):
    """Something that cannot be done with an episode, in a sentence for whoever asked for it."""


class Unplayable(EpisodeError):
    """An actor that a stream names cannot be made here: of a kind that is not known, or with options that are not."""


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
        """The first event. Raises EpisodeError for an actor whose specification is not one."""
        return EpisodeStarted(
            environment=self.world.document,
            id=self.world.id,
            start=self.world.start.isoformat(),
            seed=self.seed,
            trial=self.trial,
            agent=_specification(AGENT, self.agent),
            coworkers={name: _specification(name, actor) for name, actor in self.coworkers.items()},
        )


def _specification(name: str, actor: Actor) -> dict[str, Json]:
    """What the first event says of an actor. Raises EpisodeError if it could not be read from there again."""
    given = getattr(actor, "specification", None)
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str) or not given["kind"]:
        raise EpisodeError(
            f"the specification of {name} ({type(actor).__name__}) is {given!r:.80}; it must be an object whose `kind` "
            "is a text, with all else that may change what the actor does"
        )
    try:
        specification: dict[str, Json] = normalise(given)[0]
    except NotJson as error:
        raise EpisodeError(f"the specification of {name} ({type(actor).__name__}) is no JSON: {error}") from error
    return specification


def check_agent(world: World, specification: Mapping[str, Json]) -> None:
    """Raises EpisodeError, with the nearest name, if the agent is a trap or oracle that this world does not have."""
    kind = specification.get("kind")
    if kind == "trap" and specification.get("name") not in world.traps:
        unknown = UnknownName("trap", str(specification.get("name")), world.traps, where=world.id)
        raise EpisodeError(str(unknown))
    if kind == "oracle" and not world.oracle:
        raise EpisodeError(f"there is no oracle in {world.id}: it has no solution of its own that could be played")


def episode_id(started: EpisodeStarted) -> str:
    """Sixteen hexadecimal digits, from the digest of the first event and the trial."""
    digest = link(GENESIS, encode(Event(0, 0, WORLD, None, started)).data)
    return sha256(digest + str(started.trial).encode()).hexdigest()[:16]


def agent_name(specification: Mapping[str, Json]) -> str:
    """How people call the agent with this specification: `oracle`, `trap:NAME`, `openai:MODEL`."""
    kind = str(specification.get("kind", "?"))
    detail = specification.get("name") or specification.get("model")
    return f"{kind}:{detail}" if detail else kind


@lru_cache(maxsize=256)
def world_from(document: str) -> World:
    """The world of a document. Kept, since many episodes share a world, and a world is never changed."""
    return rebuild(document)


def document_of(events: Sequence[Event]) -> str:
    """The document of the world that a stream plays in. Raises EpisodeError if it is not an episode's."""
    if not events or not isinstance(events[0].body, EpisodeStarted):
        raise EpisodeError("the stream does not begin with episode.started: it is not an episode")
    return events[0].body.environment


def plan_of(events: Sequence[Event], perform: Perform | None = None) -> Plan:
    """The plan that a stream's first event holds; `perform` is asked instead of the model servers that it names.

    Raises EpisodeError if there is none that this release can play (Unplayable if that is for want of an actor),
    DamagedStream if the events do not belong together.
    """
    document = document_of(events)
    check_coherent(events)
    started = events[0].body
    assert isinstance(started, EpisodeStarted)
    if started.semantics != SEMANTICS:
        raise EpisodeError(
            f"the episode was recorded under semantics {started.semantics}, this release executes {SEMANTICS}; "
            "it can be shown and graded, but not executed again"
        )
    try:
        world = world_from(document)
        agent = build_agent(started.agent, perform=perform)
        coworkers = build_coworkers(world, started.coworkers, perform=perform)
    except ActorError as error:
        raise Unplayable(str(error)) from error
    except InvalidEnvironment as error:
        raise EpisodeError(f"the episode's first event cannot be played: {error}") from error
    return Plan(world, agent, coworkers, started.seed, started.trial)


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


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message that a fork injects, sent at its instant."""

    sender: str = msgspec.field(name="from")
    to: str
    text: str
    gives: dict[str, Json] = {}
    mark: str | None = None


class _Changes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `episode.forked` may change."""

    seed: int | None = None
    agent_seed: int | None = None
    agent: dict[str, Json] | None = None
    coworkers: dict[str, dict[str, Json]] = {}
    messages: tuple[_Message, ...] = ()
    records: tuple[RecordCreated | RecordChanged | RecordDeleted, ...] = ()


def changes_of(world: World, changes: Mapping[str, Json], perform: Perform | None = None) -> Changes:
    """What a fork changes, from what its event says. Raises EpisodeError for what cannot be read, or made."""
    try:
        wanted = msgspec.convert(dict(changes), _Changes)
        actors: dict[str, Actor] = {}
        if wanted.agent is not None:
            actors[AGENT] = build_agent(wanted.agent, perform=perform)
        actors |= build_coworkers(world, wanted.coworkers, perform=perform)
    except ActorError as error:
        raise Unplayable(str(error)) from error
    except msgspec.ValidationError as error:
        raise EpisodeError(f"the changes of a fork cannot be read: {error}") from error
    messages = tuple(
        (said.sender, MessageSent(to=said.to, text=said.text, gives=said.gives, mark=said.mark))
        for said in wanted.messages
    )
    return Changes(
        seed=wanted.seed, agent_seed=wanted.agent_seed, actors=actors, messages=messages, records=wanted.records
    )
