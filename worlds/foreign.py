"""A service whose code is somebody else's, and runs elsewhere.

Knows its tools and the records that it starts with: all that is needed to show, fold and grade a stream. Does not know
the code, nor who runs it: the kernel has its calls answered by a host (`World.host`), and keeps each answer in the log.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..events.event import Json, RecordChanged, RecordCreated, RecordDeleted, ToolError
from .records import State
from .service import Draw, Instant, Outcome, Records, Tool


class ForeignService(msgspec.Struct, frozen=True, kw_only=True):
    """Implements `service.Service`, except that nobody can evaluate its calls here."""

    name: str
    tools: tuple[Tool, ...] = ()
    records: Mapping[str, Mapping[str, dict[str, Json]]] = {}
    """What it starts with: collections, and in them records by key."""

    def initial(self) -> list[RecordCreated]:
        return [
            RecordCreated(service=self.name, collection=collection, key=key, value=record)
            for collection, records in self.records.items()
            for key, record in records.items()
        ]

    def call(self, tool: str, args: Json, records: Records, now: Instant, draw: Draw) -> Outcome:
        says = f"The service {self.name!r} answers only where its own code is hosted."
        return Outcome(error=ToolError(type="not_hosted", message=says))


class HostedCall(msgspec.Struct, frozen=True):
    """A call as a host is asked it."""

    actor: str
    service: str
    tool: str
    args: Json
    at: int = 0
    """Virtual time."""
    state: State = State()
    """All records as they are then, for code that keeps none of its own."""


class HostedAnswer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a host answers: a result or an error, and what has changed in the records of any of its services."""

    result: Json = None
    error: ToolError | None = None
    changes: tuple[RecordCreated | RecordChanged | RecordDeleted, ...] = ()

    def outcome(self) -> Outcome:
        return Outcome(result=self.result, error=self.error, changes=self.changes)
