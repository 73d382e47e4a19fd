"""The timeline: when its entries fire, and what records they change.

Knows happenings, conditions and state. Does not know the kernel's heap, nor how messages travel. Firing is a function
of the events seen so far: a timeline that is fed the same steps again is in the same state again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..events.event import Body, Event, Json, RecordChanged, RecordCreated, RecordDeleted
from .conditions import Trigger, compile_condition, matcher
from .durations import Microseconds
from .environment import Change
from .records import State
from .service import RecordEvent
from .world import Happening


class ChangeError(ValueError):
    """A change of the timeline that cannot be carried out."""


Scheduled: TypeAlias = tuple[Happening, Microseconds]
"""A happening, and the virtual time at which it fires."""


class Timeline:
    """A world's happenings. Each fires once; those that come due together do so in the order of the file."""

    __slots__ = ("_by_kind", "_happenings", "_triggers", "_waiting")

    def __init__(self, happenings: Sequence[Happening]) -> None:
        self._happenings = tuple(happenings)
        self._triggers: dict[int, Trigger] = {
            place: compile_condition(happening.when)
            for place, happening in enumerate(self._happenings)
            if happening.at is None and happening.when is not None
        }
        self._waiting = tuple(self._triggers)
        self._by_kind: dict[type[Body], list[int]] = {}
        self._index()

    def _index(self) -> None:
        self._by_kind = {}
        for place in self._waiting:
            for kind in self._triggers[place].kinds:
                self._by_kind.setdefault(kind, []).append(place)

    def __bool__(self) -> bool:
        """Whether any of them waits for its condition."""
        return bool(self._by_kind)

    @property
    def waiting(self) -> tuple[Happening, ...]:
        """Those whose condition has not held yet."""
        return tuple(self._happenings[place] for place in self._waiting)

    def at_start(self) -> list[Scheduled]:
        """Those that wait for no condition, with their times."""
        return [
            (happening, happening.after if happening.at is None else happening.at)
            for place, happening in enumerate(self._happenings)
            if place not in self._triggers
        ]

    def after_step(self, step: Sequence[Event], events: Sequence[Event]) -> list[tuple[Happening, Microseconds, int]]:
        """Those whose condition first holds with an event of this step, the last of the three; they fire `after` the
        step's instant.

        `events` is the stream so far, by `seq`: conditions look back at the calls and messages that events name.
        """
        if not self._by_kind:
            return []
        held: dict[int, int] = {}
        for event in step:
            for place in self._by_kind.get(type(event.body), ()):
                if place not in held and self._triggers[place].holds(event, events.__getitem__):
                    held[place] = event.seq
        if not held:
            return []
        self._waiting = tuple(place for place in self._waiting if place not in held)
        self._index()
        now = step[-1].at
        return [
            (happening, now + happening.after, held[place])
            for place, happening in enumerate(self._happenings)
            if place in held
        ]


def record_changes(happening: Happening, state: State, keys: Mapping[str, str] | None = None) -> list[RecordEvent]:
    """The record events of a happening, in order; each change sees what those before it did.

    `keys` gives the field that names the records of a `service.collection`, `id` where it is not listed. Raises
    `ChangeError` for a change that names no collection, or more than one. Where nothing matches, nothing changes.
    """
    made: list[RecordEvent] = []
    for change in happening.changes:
        made += _carry_out(change, state.apply(*made) if made else state, keys or {})
    return made


def _carry_out(change: Change, state: State, keys: Mapping[str, str]) -> list[RecordEvent]:
    named = [name for name in (change.create, change.update, change.delete) if name is not None]
    if len(named) != 1:
        raise ChangeError(
            f"A change names exactly one of `create`, `update` and `delete`; this one names {len(named)}."
        )
    service, dot, collection = named[0].partition(".")
    if not dot:
        raise ChangeError(f"{named[0]!r} is no collection; write it as `service.collection`.")
    if change.create is not None:
        key = _new_key(change.record, state, service, collection, keys.get(named[0], "id"))
        return [RecordCreated(service=service, collection=collection, key=key, value=dict(change.record))]
    matches = matcher(change.where)
    found = [key for key, record in state[service][collection].items() if matches(record)]
    if change.delete is not None:
        return [RecordDeleted(service=service, collection=collection, key=key) for key in found]
    return [RecordChanged(service=service, collection=collection, key=key, set=dict(change.set)) for key in found]


def _new_key(record: Mapping[str, Json], state: State, service: str, collection: str, field: str) -> str:
    """The value of the key field if it is there and unused, else `#n` by how many records there ever were."""
    records = state[service]
    named = record.get(field)
    if named is not None and str(named) not in records[collection]:
        return str(named)
    number = records.count(collection) + 1
    while f"#{number}" in records[collection]:
        number += 1
    return f"#{number}"
