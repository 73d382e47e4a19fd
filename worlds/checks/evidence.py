"""Evidence: what a stream shows, as far as checks may ask; a projection that is fed event by event.

Knows events, records and conditions. Does not know checks or scores: it hands out findings, and whoever is interested
in a topic takes them. What nobody asked for costs a look at the event's type.

Everything has a *position*: the event with which its actor decided on it. A call's is its `tool.called`, although it
takes effect later; the records it writes have the same. So what an agent began before an approval stays before it,
even if the approval arrives while the call is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from ...events.event import (
    AGENT,
    Body,
    Event,
    Json,
    MessageReceived,
    MessageSent,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
    TimelineFired,
    ToolCalled,
    ToolReturned,
)
from ..conditions import ANYONE, Trigger
from ..matching import as_read
from ..records import changed
from ..service import Record, RecordEvent

Topic: TypeAlias = tuple[str, str]
"""What a finding is about: `record`, `called`, `said`, `gave`, `mark` or `fired`, and the name that goes with it."""

START = -1
"""The position of what was there before the first event."""


class Finding(msgspec.Struct, frozen=True, gc=False):
    """Something that checks may count."""

    topic: Topic
    position: int
    seq: int
    """The event that shows it."""
    key: str
    """Of a record; else empty."""
    subject: Json
    """A record (None once deleted), a call's arguments, or the `Reading` of a message."""


class Origin(msgspec.Struct, frozen=True, gc=False):
    """Where a record that was created during the episode comes from."""

    actor: str
    position: int


class Write(msgspec.Struct, frozen=True, gc=False):
    """What an agent changed. `field` is None where the whole record was created (`key` is then None too) or deleted."""

    seq: int
    collection: str
    key: str | None
    field: str | None


class Moment(msgspec.Struct, frozen=True, gc=False):
    """When a condition first held: the position of what made it true, and the event with which it was true."""

    began: int
    held: int


class StreamError(ValueError):
    """The events do not follow one another, or do not fit the world's records."""


class Evidence:
    """The state of the projection. Tables are replaced when they change and shared otherwise."""

    __slots__ = (
        "_by_kind",
        "_handlers",
        "_owned",
        "_topics",
        "events",
        "moments",
        "origins",
        "reached",
        "tables",
        "writes",
    )

    def __init__(
        self,
        initial: Mapping[str, dict[str, Record]],
        conditions: Sequence[Trigger] = (),
        topics: Container[Topic] | None = None,
    ) -> None:
        """`initial` is `tables_of` the world's services; `conditions` those whose first moment is wanted; `topics`
        those of which calls and records are told, or None for all."""
        self._topics = topics
        self.events: list[Event] = []
        self.tables: dict[str, dict[str, Record]] = dict(initial)
        self._owned: set[str] = set()
        self.origins: dict[tuple[str, str], Origin] = {}
        self.writes: list[Write] = []
        self.moments: list[Moment | None] = [None] * len(conditions)
        self.reached: Sequence[int] = ()
        """The conditions that first held with the last event."""
        self._by_kind: dict[type[Body], list[tuple[int, Trigger]]] = {}
        for number, trigger in enumerate(conditions):
            for kind in trigger.kinds:
                self._by_kind.setdefault(kind, []).append((number, trigger))
        self._handlers: dict[type[Body], Callable[[Event], list[Finding]]] = {
            ToolReturned: self._returned,
            MessageSent: self._sent,
            MessageReceived: self._received,
            TimelineFired: self._fired,
            RecordCreated: self._record,
            RecordChanged: self._record,
            RecordDeleted: self._record,
        }

    def apply(self, event: Event) -> Sequence[Finding]:
        """Take the next event; what it shows. Raises `StreamError` if it is not the next."""
        if event.seq != len(self.events):
            raise StreamError(f"Event {event.seq} came where event {len(self.events)} was due; feed a stream in order.")
        self.events.append(event)
        kind = type(event.body)
        waiting = self._by_kind.get(kind)
        self.reached = self._reach(waiting, event) if waiting else ()
        handler = self._handlers.get(kind)
        return () if handler is None else handler(event)

    def _reach(self, waiting: Sequence[tuple[int, Trigger]], event: Event) -> list[int]:
        reached = []
        for number, trigger in waiting:
            if self.moments[number] is None and trigger.holds(event, self.events.__getitem__):
                began = event.body.call if isinstance(event.body, ToolReturned) else event.seq
                self.moments[number] = Moment(began, event.seq)
                reached.append(number)
        return reached

    def _returned(self, event: Event) -> list[Finding]:
        body = event.body
        assert isinstance(body, ToolReturned)
        if body.error is not None or event.actor != AGENT:
            return []
        call = self.events[body.call].body
        assert isinstance(call, ToolCalled)
        topic: Topic = ("called", call.tool)
        if self._topics is not None and topic not in self._topics:
            return []
        return [Finding(topic, body.call, event.seq, "", call.args)]

    def _sent(self, event: Event) -> list[Finding]:
        body, seq = event.body, event.seq
        assert isinstance(body, MessageSent)
        found = []
        if event.actor == AGENT:
            said = as_read(body.text)
            found = [Finding(("said", name), seq, seq, "", said) for name in (body.to, ANYONE)]
        if body.mark is not None:
            found.append(Finding(("mark", body.mark), seq, seq, "", None))
        return found

    def _received(self, event: Event) -> list[Finding]:
        assert isinstance(event.body, MessageReceived)
        if event.actor != AGENT:
            return []
        message, seq = self.events[event.body.message], event.seq
        assert isinstance(message.body, MessageSent)
        return [Finding(("gave", f"{message.actor}.{slot}"), seq, seq, "", None) for slot in message.body.gives]

    def _fired(self, event: Event) -> list[Finding]:
        assert isinstance(event.body, TimelineFired)
        return [Finding(("fired", event.body.name), event.seq, event.seq, "", None)]

    def _record(self, event: Event) -> list[Finding]:
        body: RecordEvent = event.body  # type: ignore[assignment]
        kind = type(body)
        collection, key = f"{body.service}.{body.collection}", body.key
        position = self._decided(event)
        if collection not in self._owned:
            self.tables[collection] = dict(self.tables.get(collection, {}))
            self._owned.add(collection)
        table = self.tables[collection]
        try:
            old = None if kind is RecordCreated else table[key]
        except KeyError:
            raise StreamError(f"Event {event.seq} writes {collection}:{key}, which does not exist.") from None
        self._note(event, body, old, collection, position)
        new: Record | None = None
        if isinstance(body, RecordCreated):
            new = table[key] = body.value
        elif isinstance(body, RecordChanged):
            new = table[key] = changed(old or {}, body.set, body.unset)
        else:
            del table[key]
        topic: Topic = ("record", collection)
        if self._topics is not None and topic not in self._topics:
            return []
        return [Finding(topic, position, event.seq, key, new)]

    def _decided(self, event: Event) -> int:
        """The call that caused a record event, or the event itself."""
        cause = event.cause
        if cause is not None and 0 <= cause < event.seq and isinstance(self.events[cause].body, ToolCalled):
            return cause
        return event.seq

    def _note(self, event: Event, body: RecordEvent, old: Record | None, collection: str, position: int) -> None:
        """Keep whose record it is, and what the agent changed by it. Writing what was there already is no change."""
        place, kind = (collection, body.key), type(body)
        if kind is RecordCreated:
            self.origins[place] = Origin(event.actor, position)
            if event.actor == AGENT:
                self.writes.append(Write(event.seq, collection, None, None))
            return
        origin = self.origins.pop(place, None) if kind is RecordDeleted else self.origins.get(place)
        if event.actor != AGENT:
            return
        if origin is not None and origin.actor == AGENT:
            self.writes.append(Write(event.seq, collection, None, None))
        elif isinstance(body, RecordChanged):
            assert old is not None
            fields = [name for name, value in body.set.items() if name not in old or old[name] != value]
            fields += [name for name in body.unset if name in old and name not in body.set]
            self.writes += [Write(event.seq, collection, body.key, field) for field in fields]
        else:
            self.writes.append(Write(event.seq, collection, body.key, None))


def tables_of(initial: Iterable[RecordCreated]) -> dict[str, dict[str, Record]]:
    """The records that a world starts with, by `service.collection` and key."""
    tables: dict[str, dict[str, Record]] = {}
    for event in initial:
        tables.setdefault(f"{event.service}.{event.collection}", {})[event.key] = event.value
    return tables
