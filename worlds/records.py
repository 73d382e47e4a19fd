"""The state of a world: `{service: {collection: {key: record}}}`, as an immutable value with shared structure.

Knows how record events change it. Does not know what a record means. Plain dictionaries, because agents see the order
of insertion, which a hash trie would not keep; a change copies one collection's index and one record, nothing else.
Whoever needs larger collections replaces `_put` and `_drop`, the only places that copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..events.event import Json, RecordChanged, RecordCreated, RecordDeleted
from .service import Record, RecordEvent

_EMPTY: Mapping[str, Record] = MappingProxyType({})


class ServiceRecords:
    """The collections of one service, with the number of records each has ever held."""

    __slots__ = ("_collections", "_counts")

    def __init__(
        self, collections: dict[str, dict[str, Record]] | None = None, counts: dict[str, int] | None = None
    ) -> None:
        self._collections = collections or {}
        self._counts = counts or {}

    def __getitem__(self, collection: str) -> Mapping[str, Record]:
        return self._collections.get(collection, _EMPTY)

    def count(self, collection: str) -> int:
        return self._counts.get(collection, 0)

    def collections(self) -> Iterable[str]:
        return self._collections.keys()

    def _put(self, collection: str, key: str, record: Record, new: int) -> ServiceRecords:
        table = dict(self._collections.get(collection, _EMPTY))
        table[key] = record
        counts = {**self._counts, collection: self.count(collection) + new} if new else self._counts
        return ServiceRecords({**self._collections, collection: table}, counts)

    def _drop(self, collection: str, key: str) -> ServiceRecords:
        table = dict(self._collections.get(collection, _EMPTY))
        table.pop(key, None)
        return ServiceRecords({**self._collections, collection: table}, self._counts)

    def apply(self, event: RecordEvent) -> ServiceRecords:
        """The records after `event`. Raises KeyError if it changes or deletes a record that is not there."""
        if type(event) is RecordCreated:
            return self._put(event.collection, event.key, event.value, 1)
        record = self[event.collection][event.key]
        if isinstance(event, RecordDeleted):
            return self._drop(event.collection, event.key)
        assert isinstance(event, RecordChanged)
        if event.unset:
            record = {name: value for name, value in record.items() if name not in event.unset}
        return self._put(event.collection, event.key, {**record, **event.set}, 0)

    def plain(self) -> dict[str, dict[str, dict[str, Json]]]:
        return {name: {key: dict(record) for key, record in table.items()} for name, table in self._collections.items()}


_NONE = ServiceRecords()


class State:
    """All services' records. `apply` gives a new state; the old one stays as it was."""

    __slots__ = ("_services",)

    def __init__(self, services: dict[str, ServiceRecords] | None = None) -> None:
        self._services = services or {}

    def __getitem__(self, service: str) -> ServiceRecords:
        return self._services.get(service, _NONE)

    def apply(self, event: RecordEvent) -> State:
        return State({**self._services, event.service: self[event.service].apply(event)})

    def services(self) -> Iterable[str]:
        return self._services.keys()

    def plain(self) -> dict[str, dict[str, dict[str, dict[str, Json]]]]:
        return {name: records.plain() for name, records in self._services.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.plain() == other.plain()

    __hash__ = None  # type: ignore[assignment]


def initial_state(created: Iterable[RecordCreated]) -> State:
    """The state that a sequence of creations gives."""
    state = State()
    for event in created:
        state = state.apply(event)
    return state
