"""Declared services: a definition as data becomes a service, `declared(name, spec)`.

Knows which tools a definition gives and what they take. What they do is `verbs`, how records come about is `table`.
All checking of the definition and all compiling happen here, once; `call` is a look-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ...events.event import Json, RecordCreated
from ..environment import Collection, Field, Verb
from ..environment import Service as Definition
from ..service import Draw, Instant, Outcome, Records, Service, Tool
from . import verbs
from .arguments import Arguments, nearest
from .table import ServiceError, Table

_PAGE = Field(type="any", about='The page to read: what "next" said. Left out, the first.')


def declared(name: str, spec: Definition) -> Service:
    """The service that a definition describes. Raises ServiceError where it describes none."""
    return DeclaredService(name, spec)


class DeclaredService:
    """A service whose every call is a compiled operation."""

    __slots__ = ("_initial", "_operations", "name", "tools")

    def __init__(self, name: str, spec: Definition) -> None:
        self.name: str = name
        collections = {
            **spec.collections,
            **{other: Collection() for other in spec.records if other not in spec.collections},
        }
        tables = {
            collection: Table(name, collection, shape, spec.records.get(collection, ()))
            for collection, shape in collections.items()
        }
        offered: dict[str, tuple[Tool, verbs.Operation]] = {}
        for collection, shape in collections.items():
            for verb in shape.can:
                tool, operation = _plain_tool(tables[collection], verb, shape.pages, spec.about)
                offered[tool.name] = (tool, operation)
        self.tools: Sequence[Tool] = tuple(tool for tool, _ in offered.values())
        self._operations = {tool: operation for tool, (_, operation) in offered.items()}
        self._initial = tuple(
            RecordCreated(service=name, collection=table.name, key=key, value=record)
            for table in tables.values()
            for key, record in table.opening.items()
        )

    def initial(self) -> Sequence[RecordCreated]:
        return self._initial

    def call(self, tool: str, args: Json, records: Records, now: Instant, draw: Draw) -> Outcome:
        operation = self._operations.get(tool)
        if operation is None:
            close = nearest(tool, self._operations)
            meant = f"; did you mean {close}?" if close else "."
            return verbs.refuse("unknown_tool", f'{self.name} has no tool "{tool[:60]}"{meant}')
        return operation(args, records, now)


def _key_first(table: Table, tool: str) -> dict[str, Field]:
    """The key field as a required argument. Raises ServiceError if the collection has none."""
    if table.key is None:
        raise ServiceError(tool, f'{table.path} needs a field "id", or a `key`, so that an agent can name a record')
    return {table.key: msgspec.structs.replace(table.fields[table.key], required=True)}


def _plain_tool(table: Table, verb: Verb, pages: int | None, about: str) -> tuple[Tool, verbs.Operation]:
    """The tool `service.collection.verb`."""
    name = f"{table.path}.{verb}"
    arguments = _plain_arguments(name, table, verb, pages)
    operation = {
        "find": lambda: verbs.find(table, arguments, pages),
        "get": lambda: verbs.get(table, arguments),
        "create": lambda: verbs.create(table, arguments),
        "update": lambda: verbs.update(table, arguments),
        "delete": lambda: verbs.delete(table, arguments),
    }[verb]()
    tool = Tool(
        name=name,
        description=" ".join(filter(None, (_describe(table.path, verb, pages), about))),
        schema=arguments.schema(),
        reads=verb in ("find", "get"),
        opens=table.key if verb == "get" else None,
    )
    return tool, operation


def _plain_arguments(tool: str, table: Table, verb: Verb, pages: int | None) -> Arguments:
    fields: Mapping[str, Field] = table.fields
    if verb == "find":
        if pages and "page" in fields:
            raise ServiceError(f"{table.path}.pages", 'a collection with pages has no field "page" of its own')
        return Arguments(tool, {**fields, "page": _PAGE} if pages else fields, wanted=tuple(fields))
    if verb == "create":
        return Arguments(tool, fields, tuple(name for name, field in fields.items() if field.required))
    key = _key_first(table, tool)
    if verb == "update":
        clears = tuple(name for name, field in fields.items() if not field.required and name not in key)
        return Arguments(tool, {**key, **{n: f for n, f in fields.items() if n not in key}}, tuple(key), clears=clears)
    return Arguments(tool, key, tuple(key))


def _describe(path: str, verb: Verb, pages: int | None) -> str:
    return {
        "find": f"Find the records in {path} that match everything given; without arguments, all of them."
        + (f" At most {pages} at once: go on with `page`." if pages else ""),
        "get": f"Read one record in {path}.",
        "create": f"Create a record in {path}. The result is the record as it was saved.",
        "update": f"Change fields of one record in {path}; what is not given stays. The result is the whole record.",
        "delete": f"Delete one record in {path}. The result is the record as it was.",
    }[verb]
