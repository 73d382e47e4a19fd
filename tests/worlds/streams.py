"""Streams written by hand, for tests of what looks at streams: each method appends what the kernel would append."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from coworkenv.events.event import (
    Event,
    Json,
    MessageReceived,
    MessageSent,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
    TimelineFired,
    ToolCalled,
    ToolError,
    ToolReturned,
)
from coworkenv.worlds.environment import Check
from coworkenv.worlds.service import Outcome, Tool
from coworkenv.worlds.world import World


class Stream:
    """A growing stream. The virtual time is its length, unless `now` says otherwise."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now: int | None = None

    def add(self, actor: str, body: Any, cause: int | None = None) -> int:
        seq = len(self.events)
        self.events.append(Event(seq, seq if self.now is None else self.now, actor, cause, body))
        return seq

    def says(self, text: str, to: str = "lena") -> int:
        """The agent writes to somebody."""
        return self.add("agent", MessageSent(to=to, text=text))

    def tells(self, person: str, text: str = "", mark: str | None = None, read: bool = True, **gives: Json) -> int:
        """Somebody writes to the agent, who reads it."""
        sent = self.add(person, MessageSent(to="agent", text=text, gives=gives, mark=mark))
        if read:
            self.reads(sent)
        return sent

    def reads(self, sent: int) -> int:
        return self.add("agent", MessageReceived(message=sent), sent)

    def calls(self, tool: str, args: Json = None, *changes: Any, error: bool = False, actor: str = "agent") -> int:
        """A call that returns at once, with the records it changes."""
        call = self.begins(tool, args, actor)
        self.returns(call, *changes, error=error, actor=actor)
        return call

    def begins(self, tool: str, args: Json = None, actor: str = "agent") -> int:
        return self.add(actor, ToolCalled(tool=tool, args={} if args is None else args))

    def returns(self, call: int, *changes: Any, error: bool = False, actor: str = "agent") -> int:
        for change in changes:
            self.add(actor, change, call)
        problem = ToolError("server_error", "Nothing works.") if error else None
        return self.add(actor, ToolReturned(call=call, error=problem), call)

    def fires(self, name: str, *changes: Any) -> int:
        fired = self.add("world", TimelineFired(name=name))
        for change in changes:
            self.add("world", change, fired)
        return fired


def created(place: str, key: str, **value: Json) -> RecordCreated:
    service, collection = place.split(".")
    return RecordCreated(service=service, collection=collection, key=key, value=value)


def changed(place: str, key: str, unset: Sequence[str] = (), **values: Json) -> RecordChanged:
    service, collection = place.split(".")
    return RecordChanged(service=service, collection=collection, key=key, set=values, unset=tuple(unset))


def deleted(place: str, key: str) -> RecordDeleted:
    service, collection = place.split(".")
    return RecordDeleted(service=service, collection=collection, key=key)


class Records:
    """A service that has records and no tools."""

    def __init__(self, *initial: RecordCreated) -> None:
        self._initial = initial

    @property
    def name(self) -> str:
        return "records"

    @property
    def tools(self) -> Sequence[Tool]:
        return ()

    def initial(self) -> Sequence[RecordCreated]:
        return self._initial

    def call(self, tool: str, args: Json, records: Any, now: Any, draw: Any) -> Outcome:
        return Outcome()


def check(**parts: Any) -> Check:
    """A check as an environment file would write it."""
    return msgspec.convert(parts, Check)


def world(
    checks: dict[str, Check],
    *initial: RecordCreated,
    frame: Sequence[str] | None = None,
    scoring: str | None = "coworkenv",
) -> World:
    return World(
        id="test",
        document="{}",
        start=datetime(2026, 3, 3, 9, tzinfo=UTC),
        services=(Records(*initial),),
        checks=checks,
        frame=None if frame is None else tuple(frame),
        scoring=scoring,
    )
