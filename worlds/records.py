"""The state of a world: `{service: {collection: {key: record}}}`, as an immutable value with shared structure.

Knows how record events change it. Does not know what a record means. Plain dictionaries, because agents see the order
of insertion, which a hash trie would not keep; a change copies one collection's index and one record, nothing else.
Whoever needs larger collections replaces `ServiceRecords.apply`, the only place that copies one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ..events.event import Json, RecordChanged, RecordCreated
from .service import Record, RecordEvent

_EMPTY: Mapping[str, Record] = MappingProxyType({})


def changed(record: Record, values: Mapping[str, Json], unset: Sequence[str]) -> dict[str, Json]:
    """A record after a change: what stays keeps its place, what is new stands last."""
    if unset:
        record = {name: value for name, value in record.items() if name not in unset}
    return {**record, **values}


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

    def apply(self, *events: RecordEvent) -> ServiceRecords:
        """The records after `events`. Raises KeyError if one changes or deletes a record that is not there."""
        collections, counts = dict(self._collections), self._counts
        mine: dict[str, dict[str, Record]] = {}
        for event in events:
            name, key = event.collection, event.key
            table = mine.get(name)
            if table is None:
                table = mine[name] = collections[name] = dict(collections.get(name, _EMPTY))
            if isinstance(event, RecordCreated):
                table[key] = event.value
                counts = {**counts, name: counts.get(name, 0) + 1}
            elif isinstance(event, RecordChanged):
                table[key] = changed(table[key], event.set, event.unset)
            else:
                del table[key]
        return ServiceRecords(collections, counts)

    def same_as(self, other: ServiceRecords) -> bool:
        """Whether both have the same records; a collection that is empty is as good as none."""
        names = {**self._collections, **other._collections}
        return all(self[name] == other[name] for name in names)

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

    def apply(self, *events: RecordEvent) -> State:
        """The state after `events`. Raises KeyError if one changes or deletes a record that is not there."""
        services: dict[str, list[RecordEvent]] = {}
        for event in events:
            services.setdefault(event.service, []).append(event)
        return State({**self._services, **{name: self[name].apply(*mine) for name, mine in services.items()}})

    def services(self) -> Iterable[str]:
        return self._services.keys()

    def plain(self) -> dict[str, dict[str, dict[str, dict[str, Json]]]]:
        return {name: records.plain() for name, records in self._services.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return False
        names = {**self._services, **other._services}
        return all(self[name].same_as(other[name]) for name in names)


def initial_state(created: Iterable[RecordCreated]) -> State:
    """The state that a sequence of creations gives."""
    return State().apply(*created)
