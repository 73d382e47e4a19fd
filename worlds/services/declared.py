"""Declared services: a definition as data becomes a service, `declared(name, spec)`.

Knows which collections and tools a definition has. What one tool is, is `tools`; how records come about, `table`.
All checking and compiling happens here, once; a call is a look-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...events.event import Json, RecordCreated, ToolError
from ..environment import Collection
from ..environment import Service as Definition
from ..service import Draw, Instant, Outcome, Records, Tool
from ..spelling import nearest
from .table import Table
from .tools import plain_tool, special_tool
from .verbs import Operation


def declared(name: str, spec: Definition) -> DeclaredService:
    """The service that a definition describes; `use` has been resolved. Raises ServiceError where it describes none.

    Its tools are `name.collection.verb` for the verbs of each collection, and `name.tool` for the special ones. A
    special tool called `collection.verb` takes the place of that verb.
    """
    return DeclaredService(name, spec)


class DeclaredService:
    """A service that is data: see `worlds.service.Service`."""

    __slots__ = ("_initial", "_operations", "keys", "name", "tools")

    def __init__(self, name: str, spec: Definition) -> None:
        self.name: str = name
        collections = {**dict.fromkeys(spec.records, Collection()), **spec.collections}
        tables = {
            collection: Table(name, collection, shape, spec.records.get(collection, ()))
            for collection, shape in collections.items()
        }
        self.keys: Mapping[str, str] = {table.path: table.key for table in tables.values() if table.key is not None}
        """By `service.collection`, the field that names its records."""
        offered = _offered(name, spec, tables)
        self.tools: Sequence[Tool] = tuple(tool for tool, _ in offered)
        self._operations = {tool.name: operation for tool, operation in offered}
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
            close = nearest(tool[:60], self._operations)
            message = f'{self.name} has no tool "{tool[:60]}"' + (f'; did you mean "{close}"?' if close else ".")
            return Outcome(error=ToolError(type="unknown_tool", message=message))
        return operation(args, records, now)


def _offered(name: str, spec: Definition, tables: dict[str, Table]) -> list[tuple[Tool, Operation]]:
    """The tools: those of each collection, then the special ones that do not stand in for a verb."""
    offered = []
    for collection, shape in spec.collections.items():
        for verb in shape.can:
            if f"{collection}.{verb}" in spec.tools:
                offered.append(_special(name, f"{collection}.{verb}", spec, tables))
            else:
                offered.append(plain_tool(tables[collection], verb, shape.pages, spec.about))
    done = {tool.name for tool, _ in offered}
    return offered + [_special(name, short, spec, tables) for short in spec.tools if f"{name}.{short}" not in done]


def _special(name: str, short: str, spec: Definition, tables: dict[str, Table]) -> tuple[Tool, Operation]:
    tool = spec.tools[short]
    pages = spec.collections.get(tool.collection, Collection()).pages
    return special_tool(f"{name}.{short}", tool, tables, pages)
