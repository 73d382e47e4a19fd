"""A world that can be played: what an environment, or an importer's task, comes down to.

Knows what the kernel and the actors need, all of it plain values and pure services. Does not know the file it came
from, who plays it, or how. `document` holds everything: `rebuild(document)` gives the same world in another process,
on another day, without the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property

import msgspec

from ..events.event import Json
from .coworker import Rulebook, rulebook
from .durations import Microseconds
from .environment import Change, Check, Condition, FaultKind, Limits, OnText, Person, Step, Trap
from .records import State, initial_state
from .routes import Routes
from .service import Service


class Opening(msgspec.Struct, frozen=True):
    """A message that is there when the agent starts: the request."""

    sender: str
    text: str
    media: tuple[Json, ...] = ()


class Picture(msgspec.Struct, frozen=True):
    """A picture that belongs to the request."""

    name: str
    mime: str
    base64: str


class Happening(msgspec.Struct, frozen=True):
    """One entry of the timeline, resolved. It fires once: at `at`, or `after` its condition first held."""

    name: str
    at: Microseconds | None = None
    when: Condition | None = None
    after: Microseconds = 0
    sender: str | None = None
    say: str | None = None
    gives: dict[str, Json] = {}
    mark: str | None = None
    changes: tuple[Change, ...] = ()


class FaultRule(msgspec.Struct, frozen=True):
    """A fault of the environment, resolved."""

    name: str
    tool: str
    kind: FaultKind
    args: dict[str, Json] = {}
    nth: int | None = None
    chance: float | None = None
    applied: bool = False
    retry_after: Microseconds | None = None
    delay: Microseconds = 0


class Persona(msgspec.Struct, frozen=True):
    """A person whom only a model can play (a benchmark's simulated user)."""

    text: str
    language: str
    rounds: int
    """After so many answers they say no more."""
    suffix: str = ""
    """Appended to the agent's system prompt."""


class World(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that is fixed before an episode starts, apart from the seed and who plays."""

    id: str
    """The environment's id; a twin is `id@twin`."""
    document: str
    """JSON text from which `rebuild` makes this world."""
    start: datetime
    services: tuple[Service, ...] = ()
    owners: Mapping[str, str] = {}
    """By service, the one actor who has it for themselves; everybody has the others."""
    host: dict[str, Json] = {}
    """What hosts the foreign services, and all that it is to be told; its `kind` is how it is found."""
    keys: Mapping[str, str] = {}
    """By `service.collection`, the field that names its records where that is not `id`."""
    people: Mapping[str, Person] = {}
    personas: Mapping[str, Persona] = {}
    openings: tuple[Opening, ...] = ()
    pictures: tuple[Picture, ...] = ()
    """Those that an agent who can see is shown with the request."""
    timeline: tuple[Happening, ...] = ()
    faults: tuple[FaultRule, ...] = ()
    call: Microseconds = 20_000_000
    """Latency of a tool call."""
    latencies: Mapping[str, Microseconds] = {}
    """Latency of the tools that have one of their own."""
    message: Microseconds = 1_000_000
    messages: Mapping[str, Microseconds] = {}
    """Latency of messages to and from the people who have one of their own."""
    deadline: Microseconds = 8 * 3_600_000_000
    on_text: OnText = "wait"
    talks: bool = True
    """The agent has the tools `send_message`, `wait` and `finish`."""
    limits: Limits = Limits()
    checks: Mapping[str, Check] = {}
    frame: tuple[str, ...] | None = None
    """What an agent may change (see `environment.Frozen`); None where nobody has computed it."""
    scoring: str | None = None
    """Name of the scoring rule; None for a world that has no grader of its own here."""
    oracle: tuple[Step, ...] = ()
    traps: Mapping[str, Trap] = {}

    @cached_property
    def state(self) -> State:
        """The records at the start. A value, so every episode can begin with the same one."""
        return initial_state(created for service in self.services for created in service.initial())

    @cached_property
    def rulebooks(self) -> Mapping[str, Rulebook]:
        """What each person answers to what, compiled."""
        return {name: rulebook(person) for name, person in self.people.items()}

    @cached_property
    def routes(self) -> Routes:
        """Which service answers which tool."""
        return Routes(self.services, self.owners)
