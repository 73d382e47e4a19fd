"""What one call is about to write: the record events so far, and the records as they would be after them.

Knows how to look through its own events at the records below. Does not know why anything is written. Nothing happens
to the records: a draft that is dropped leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...events.event import Json, RecordChanged, RecordCreated, RecordDeleted
from ..records import changed
from ..service import Record, RecordEvent, Records
from . import kinds


class Draft:
    """The events of one call, in order, over the records it found."""

    __slots__ = ("_records", "_service", "changes")

    def __init__(self, service: str, records: Records) -> None:
        self._service = service
        self._records = records
        self.changes: list[RecordEvent] = []

    def table(self, collection: str) -> Mapping[str, Record]:
        """The collection after the events so far. Most calls write once and never look again."""
        mine = [change for change in self.changes if change.collection == collection]
        if not mine:
            return self._records[collection]
        table = dict(self._records[collection])
        for change in mine:
            if isinstance(change, RecordCreated):
                table[change.key] = change.value
            elif isinstance(change, RecordDeleted):
                del table[change.key]
            else:
                table[change.key] = changed(table[change.key], change.set, change.unset)
        return table

    def count(self, collection: str) -> int:
        """How many records the collection has ever held."""
        created = sum(isinstance(change, RecordCreated) and change.collection == collection for change in self.changes)
        return self._records.count(collection) + created

    def create(self, collection: str, key: str, record: dict[str, Json]) -> None:
        self.changes.append(RecordCreated(service=self._service, collection=collection, key=key, value=record))

    def write(self, collection: str, key: str, record: Record, values: Mapping[str, Json]) -> Record:
        """Write values into a record, null dropping the field; the record as it is then.

        What it already says is not written again: an agent that sends a whole record back changed only what differs.
        """
        fresh = {
            name: value
            for name, value in values.items()
            if value is not None and not (name in record and kinds.identical(record[name], value))
        }
        unset = tuple(name for name, value in values.items() if value is None and name in record)
        if not fresh and not unset:
            return record
        self.changes.append(
            RecordChanged(service=self._service, collection=collection, key=key, set=fresh, unset=unset)
        )
        return changed(record, fresh, unset)

    def delete(self, collection: str, key: str) -> None:
        self.changes.append(RecordDeleted(service=self._service, collection=collection, key=key))
