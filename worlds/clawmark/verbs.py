"""A service made of verbs: each a tool, the struct of its arguments, and a pure function.

Knows how arguments are read and how a refusal is told. Does not know any particular service.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Generic, TypeVar

import msgspec

from ...events.event import Json, RecordCreated, ToolError
from ..service import Draw, Instant, Outcome, Record, RecordEvent, Records, Tool

_Args = TypeVar("_Args", bound=msgspec.Struct)


class Refused(Exception):
    """Why something is not done, in a sentence for whoever asked for it."""

    def __init__(self, says: str, type: str = "refused") -> None:
        super().__init__(says)
        self.says = says
        self.type = type


class Verb(msgspec.Struct, Generic[_Args], frozen=True):
    """One tool. `act` gets its arguments, the service's records and the moment; it may raise Refused."""

    tool: Tool
    args: type[_Args]
    act: Callable[[_Args, Records, Instant], Outcome]


def verb(
    name: str,
    description: str,
    args: type[_Args],
    act: Callable[[_Args, Records, Instant], Outcome],
    reads: bool = False,
) -> Verb[_Args]:
    return Verb(Tool(name=name, description=description, schema=schema_of(args), reads=reads), args, act)


def schema_of(args: type[msgspec.Struct]) -> dict[str, Json]:
    """The JSON Schema of a tool's arguments; each may have a description, by `Annotated` and `msgspec.Meta`."""
    whole: dict[str, Any] = msgspec.json.schema(args)
    found: dict[str, Any] = whole["$defs"][args.__name__]
    return {key: value for key, value in found.items() if key != "title"}


def read(args: type[_Args], given: Json) -> _Args:
    """Raises Refused."""
    try:
        return msgspec.convert(given, args)
    except msgspec.ValidationError as error:
        raise Refused(f"The arguments do not fit: {error}.", "invalid_arguments") from None


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # The arguments of a tool that takes none. A docstring would be told to agents.
    pass


class VerbService(msgspec.Struct, frozen=True, kw_only=True):
    """Implements `service.Service`."""

    name: str
    verbs: tuple[Verb[Any], ...]

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(verb.tool for verb in self.verbs)

    def initial(self) -> list[RecordCreated]:
        return []

    def call(self, tool: str, args: Json, records: Records, now: Instant, draw: Draw) -> Outcome:
        for verb in self.verbs:
            if verb.tool.name == tool:
                try:
                    return verb.act(read(verb.args, args), records, now)
                except Refused as refused:
                    return Outcome(error=ToolError(type=refused.type, message=refused.says))
        return Outcome(error=ToolError(type="unknown_tool", message=f"There is no tool {tool[:100]!r}."))


class Numbered(msgspec.Struct, frozen=True):
    """Creates records of one collection, each under its number."""

    service: str
    collection: str

    def next(self, records: Records, past: int = 0) -> str:
        """The key of the next record; `past` are those that are about to be created before it."""
        return f"#{records.count(self.collection) + past + 1}"

    def create(self, key: str, value: dict[str, Json]) -> RecordEvent:
        return RecordCreated(service=self.service, collection=self.collection, key=key, value=value)


def derived_id(kind: str, number: str) -> str:
    """An id in the form of a UUID, which is a function of what it names."""
    digits = sha256(f"{kind} {number}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"


def found(records: Records, collection: str, field: str, value: str) -> tuple[str, Record] | None:
    """The first record with this field, and its key."""
    return next(((key, each) for key, each in records[collection].items() if each[field] == value), None)


def unknown(records: Records, collection: str, field: str, what: str, asked: str) -> Refused:
    """What is said where there is none of a name: which there are."""
    known = ", ".join(each[field] for each in records[collection].values()) or "none"
    return Refused(f"There is no {what} {asked[:80]!r}; there are: {known}.", "not_found")
