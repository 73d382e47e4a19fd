"""What a service is: tools over typed records, as a pure function.

Knows the protocol between a system of record and whoever plays an episode. Does not know any particular service, who
calls it, or how calls are logged. A service never mutates what it is given and never reads a clock: `Instant` is the
only time it has, `Draw` the only randomness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeAlias

import msgspec

from ..events.event import Json, RecordChanged, RecordCreated, RecordDeleted, ToolError

Record: TypeAlias = Mapping[str, Json]
RecordEvent: TypeAlias = RecordCreated | RecordChanged | RecordDeleted


class Tool(msgspec.Struct, frozen=True):
    """A tool as an agent is offered it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Json]
    reads: bool = False
    """Never changes a record."""
    opens: str | None = None
    """For a tool that reads one record: the argument that names it."""


class Instant(msgspec.Struct, frozen=True):
    """Virtual time as a service sees it."""

    start: datetime
    """Virtual time 0, with an offset."""
    at: int
    """Microseconds since then."""

    def date(self) -> datetime:
        """The time on the wall, in the zone of the start; the clocks may have changed since."""
        return (self.start.astimezone(UTC) + timedelta(microseconds=self.at)).astimezone(self.start.tzinfo)


class Draw(Protocol):
    """Randomness that is a function of (seed, place, purpose, counter)."""

    def fraction(self) -> float:
        """A number in [0, 1)."""
        ...

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        ...


class Records(Protocol):
    """One service's collections, in insertion order. Read only."""

    def __getitem__(self, collection: str) -> Mapping[str, Record]: ...

    def count(self, collection: str) -> int:
        """How many records the collection has ever held: what the key counter `#n` goes by."""
        ...


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What one call did: a result or an error, and the record events it causes, in order."""

    result: Json = None
    error: ToolError | None = None
    changes: tuple[RecordEvent, ...] = ()
    status: int | None = None
    """Only where a foreign protocol has one (HTTP)."""


class Service(Protocol):
    """A simulated system of record."""

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> Sequence[Tool]: ...

    def initial(self) -> Sequence[RecordCreated]:
        """The records it starts with, in order. They are part of the environment, not events of the stream."""
        ...

    def call(self, tool: str, args: Json, records: Records, now: Instant, draw: Draw) -> Outcome:
        """Evaluate one call. Total: any JSON value may come as `args`; what is wrong with it is an `Outcome.error`."""
        ...
