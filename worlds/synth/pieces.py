"""What a draft is made of: things, fields of theirs, systems that hold them, questions, sentences, conditions.

Knows what is kept of each, and how a thing is referred to. Does not know how they come together (`draft`), nor how the
file spells them (`assembling`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ...events.event import Json
from .family import Guise


class Thing:
    """One record of the register. `name` is its group of facts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.wanted: list[str] | None = None
        """Conditions, as expressions over facts, under which the job is about it: all must hold. None: never."""
        self.values: dict[str, Json] = {}
        """What it has in fields that are special to it."""
        self.group = ""
        """The capability that brought it, if one did."""
        self.used: set[str] = set()
        """Attributes that something refers to."""
        self.flips = False
        """Whether the job is about it in some variants only."""
        self.possible: list[str] = []
        """Conditions, as `wanted`, under which it can be done at all; where they do not hold, trying fails."""

    def ref(self, attribute: str) -> str:
        """`$t1.amount`: one of `id`, `label`, `amount`, `category`, `owner`, `due`, or of the capabilities' own; or
        `chosen` (the job is about it), `tried` (and nobody refuses it) and `done` (and it can be done)."""
        self.used.add(attribute)
        return f"${self.name}.{attribute}"

    @property
    def id(self) -> str:
        return self.ref("id")

    @property
    def label(self) -> str:
        return self.ref("label")


class Column(msgspec.Struct):
    """A field that a capability gives to all things; `field` is its name in the register."""

    field: str
    spec: dict[str, Json]
    value: Callable[[Thing], Json]
    """What a thing has there, unless it has one of its own in `values`."""


class Slot(msgspec.Struct):
    """A field of what is done, beside the thing: `deed` writes it, a check looks at it."""

    name: str
    """Whose it is: `a1`."""
    field: str
    spec: dict[str, Json]
    truth: Callable[[Thing], str]
    """The author's side: an expression over facts for a thing, without the sign."""
    seen: str
    """The agent's side: an expression over `@steps` and `it`."""
    final: Callable[[Thing], str] | None = None
    """What it is in the end, where somebody changes their mind."""
    guise: Guise | None = None


class Ask(msgspec.Struct):
    """A question of the oracle to a person, and the rule by which it is answered."""

    name: str
    """Whose it is: `a1`."""
    step: str
    person: str
    gives: tuple[str, ...]
    reply: dict[str, Json]
    """The rule in the file; to be changed by those who make people slow."""
    oracle: dict[str, Json]


class Tell(msgspec.Struct):
    """A sentence of the final report, and what a check looks for in it."""

    name: str
    text: str
    mentions: tuple[Json, ...] = ()
    any: tuple[str, ...] = ()
    truth: str | None = None
    """When it has to be said: an expression over facts; always where None."""
    seen: str | None = None
    """When the oracle says it: over steps."""
    to: str | None = None
    """To whom; the requester where None."""
    weight: int = 1
    after_deed: bool = True


class Guard(msgspec.Struct):
    """Something on which it depends whether anything is done at all."""

    truth: str
    seen: str


class System:
    """A system of record with one collection."""

    def __init__(self, service: str, collection: str, prefix: str, about: str, shape: dict[str, Any]) -> None:
        self.service = service
        self.collection = collection
        self.prefix = prefix
        self.about = about
        self.shape = shape
        """The collection as the file has it: `can`, `fields`, `pages`."""
        self.names: dict[str, str] = {}
        """Fields by what they are: `label`, `amount`."""
        self.tools: dict[str, dict[str, Any]] = {}
        """Special tools; what they take is filled in last, when all fields are known."""
        self.records: list[dict[str, Json]] = []

    @property
    def path(self) -> str:
        return f"{self.service}.{self.collection}"

    @property
    def fields(self) -> dict[str, dict[str, Any]]:
        fields: dict[str, dict[str, Any]] = self.shape["fields"]
        return fields
