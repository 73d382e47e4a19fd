"""What an endpoint of a Claw-Eval service is, and the four shapes that most of them have.

Knows requests, answers, and how a list, a look-up, an update, a deletion and a filed note come out of records. Does not
know any particular service, nor how its tools are called. A handler is a pure function of its request; one that raises
is upstream's HTTP 500 and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from ...events.event import Json, RecordChanged, RecordCreated, RecordDeleted, ToolError
from ..service import Draw, Record, RecordEvent, Records
from .validation import Field

#: `sane` plays a task as its author meant it; `upstream` does what the benchmark's own servers do.
Mode: TypeAlias = Literal["sane", "upstream"]


class Request(msgspec.Struct, frozen=True):
    """One validated call."""

    body: dict[str, Json]
    records: Records
    now: datetime
    """UTC."""
    draw: Draw
    mode: Mode
    service: str
    options: dict[str, Json]

    def rows(self, collection: str) -> list[Record]:
        return list(self.records[collection].values())

    def find(self, collection: str, field: str, value: Json) -> tuple[str, Record] | None:
        """The first record whose `field` is exactly `value`: identifiers of the benchmark may repeat."""
        return next(((key, row) for key, row in self.records[collection].items() if row[field] == value), None)

    def timestamp(self) -> str:
        return self.now.isoformat()

    def create(self, collection: str, value: dict[str, Json]) -> RecordCreated:
        """Valid once per collection and call: the key goes by what the collection has held before the call."""
        return RecordCreated(self.service, collection, key(self.records.count(collection) + 1), value)

    def change(self, collection: str, name: str, values: dict[str, Json]) -> tuple[RecordEvent, ...]:
        return (RecordChanged(self.service, collection, name, set=values),) if values else ()


def key(count: int) -> str:
    """Name of the record that came as number `count` into its collection."""
    return f"#{count}"


class Answer(msgspec.Struct, frozen=True):
    """HTTP 200: the JSON body, and the records it changed."""

    body: Json
    changes: tuple[RecordEvent, ...] = ()


class Refusal(Exception):
    """A handler's answer that is not HTTP 200."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error


def not_available(what: str, status: int) -> Refusal:
    """What lies outside of the simulated world."""
    return Refusal(ToolError("not_available_here", f"{what} is not available in this environment.", status=status))


Handler: TypeAlias = Callable[[Request], Answer]


class Endpoint(msgspec.Struct, frozen=True):
    """A path that answers POST."""

    path: str
    fields: tuple[Field, ...]
    handle: Handler
    reads: bool = False
    opens: str | None = None
    """The field that names the one record it reads."""
    logs: Literal["response", "request", "summary"] = "response"
    """How much of the answer upstream's audit keeps."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of service: what upstream has a server for."""

    name: str
    endpoints: tuple[Endpoint, ...]
    sides: tuple[str, ...] = ()
    """Collections that its audit lists, in upstream's order."""
    collection: str | None = None
    """Where the fixture's records go."""
    fixture: str = ""
    """Usual file name of the fixture, in the folder `fixtures/<kind>`."""
    default: str = ""
    """Short id of the task whose fixture the server falls back to."""
    shift: Callable[[list[dict[str, Json]], datetime], list[dict[str, Json]]] | None = None
    """How the server moves the fixture's dates to its clock."""

    def at(self, path: str) -> Endpoint | None:
        return next((endpoint for endpoint in self.endpoints if endpoint.path == path), None)


# --- the shapes ------------------------------------------------------------------------------------------


def shown(row: Record, fields: Sequence[str]) -> dict[str, Json]:
    return {field: row[field] for field in fields}


def matches(row: Record, body: dict[str, Json], fields: Sequence[str]) -> bool:
    """Exact equality in each of `fields` that the body gives; null and the empty text give none."""
    return all(not body[field] or row[field] == body[field] for field in fields)


def missing(noun: str, identifier: Json) -> Answer:
    """Not found is HTTP 200."""
    return Answer({"error": f"{noun} {identifier} not found"})


def get_one(path: str, collection: str, field: str, noun: str) -> Endpoint:
    """The whole record."""

    def handle(request: Request) -> Answer:
        found = request.find(collection, field, request.body[field])
        return missing(noun, request.body[field]) if found is None else Answer(found[1])

    return Endpoint(path, (Field(field),), handle, reads=True, opens=field)


def update_one(
    path: str, collection: str, noun: str, name: str, fields: tuple[Field, ...], side: str, status: str = "updated"
) -> Endpoint:
    """Assigns what is not null; the first of `fields` is the identifier. `side` keeps a copy of the whole record."""
    identifier, *settable = (field.name for field in fields)

    def handle(request: Request) -> Answer:
        found = request.find(collection, identifier, request.body[identifier])
        if found is None:
            return missing(noun, request.body[identifier])
        values = {field: request.body[field] for field in settable if request.body[field] is not None}
        row = {**found[1], **values}
        changes = (*request.change(collection, found[0], values), request.create(side, row))
        return Answer({"status": status, name: row}, changes)

    return Endpoint(path, fields, handle)


def delete_one(path: str, collection: str, field: str, noun: str, name: str, side: str) -> Endpoint:
    """Removes the record; `side` keeps it."""

    def handle(request: Request) -> Answer:
        found = request.find(collection, field, request.body[field])
        if found is None:
            return missing(noun, request.body[field])
        row = dict(found[1])
        gone = RecordDeleted(request.service, collection, found[0])
        return Answer({"status": "deleted", name: row}, (gone, request.create(side, row)))

    return Endpoint(path, (Field(field),), handle)


def file_note(path: str, fields: tuple[Field, ...], side: str, status: str, name: str) -> Endpoint:
    """Keeps the body with a timestamp in `side`. Nothing that the body refers to is looked up."""

    def handle(request: Request) -> Answer:
        note = {**request.body, "timestamp": request.timestamp()}
        return Answer({"status": status, name: note}, (request.create(side, note),))

    return Endpoint(path, fields, handle)
