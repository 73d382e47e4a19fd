"""A database as records, and back: which of its parts are collections.

Knows JSON. Does not know any domain: how a database is laid out is read off it as it is at the start, and holds from
then on. Used on both sides of the line to the worker, so it imports nothing but msgspec.

A member that holds objects only is a collection of them, a list one of its items by position. Of any other object, the
members that hold objects only are collections of their own (`accounts.data`), and what is left is one record. What is
no object is wrapped as `{"": value}`, so that each record is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["map", "list", "one"]
Table: TypeAlias = dict[str, dict[str, Any]]
"""Collections, and in them records by key."""


class Part(msgspec.Struct, frozen=True):
    """Where a collection is in a database."""

    path: tuple[str, ...]
    kind: Kind
    apart: tuple[str, ...] = ()
    """Members of a `one` that are collections of their own."""

    @property
    def collection(self) -> str:
        return ".".join(self.path)


class BadLayout(ValueError):
    """A database that is not laid out any more as it was at the start."""


def layout_of(database: Mapping[str, Any]) -> tuple[Part, ...]:
    """How a database is laid out."""
    return tuple(part for name, value in database.items() for part in _parts(name, value))


def _parts(name: str, value: Any) -> Iterator[Part]:
    if isinstance(value, list):
        yield Part((name,), "list")
    elif isinstance(value, dict) and (not value or _holds_objects(value)):
        yield Part((name,), "map")
    else:
        members = value.items() if isinstance(value, dict) else ()
        apart = tuple(member for member, inner in members if isinstance(inner, dict) and _holds_objects(inner))
        yield Part((name,), "one", apart)
        for member in apart:
            yield Part((name, member), "map")


def _holds_objects(value: dict[str, Any]) -> bool:
    return bool(value) and all(isinstance(each, dict) for each in value.values())


def records_of(database: Mapping[str, Any], layout: tuple[Part, ...]) -> Table:
    """The records of a database. Raises BadLayout."""
    known = {part.path[0] for part in layout}
    if strangers := [name for name in database if name not in known]:
        raise BadLayout(f"the database has members that it had not at the start: {', '.join(strangers)}")
    return {part.collection: _records(_at(database, part.path), part) for part in layout}


def _at(database: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(database, dict) or name not in database:
            raise BadLayout(f"the database has no {'.'.join(path)} any more")
        database = database[name]
    return database


def _records(value: Any, part: Part) -> dict[str, Any]:
    if part.kind == "one":
        if part.apart:
            if not isinstance(value, dict):
                raise BadLayout(f"{part.collection} is no object any more")
            value = {name: inner for name, inner in value.items() if name not in part.apart}
        return {part.path[-1]: _held(value)}
    if part.kind == "list" and isinstance(value, list):
        return {str(place): _held(item) for place, item in enumerate(value)}
    if part.kind == "map" and isinstance(value, dict):
        return {key: _held(item) for key, item in value.items()}
    raise BadLayout(f"{part.collection} was a {part.kind} at the start; it is a {type(value).__name__} now")


def _held(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) and "" not in value else {"": value}


def _loose(record: Mapping[str, Any]) -> Any:
    return record[""] if "" in record else dict(record)


def database_of(records: Mapping[str, Mapping[str, Mapping[str, Any]]], layout: tuple[Part, ...]) -> dict[str, Any]:
    """The database that these are the records of; the order of its members may differ."""
    database: dict[str, Any] = {}
    for part in layout:
        table = records.get(part.collection, {})
        value: Any
        if part.kind == "one":
            value = _loose(table[part.path[-1]])
        elif part.kind == "list":
            value = [_loose(table[str(place)]) for place in range(len(table))]
        else:
            value = {key: _loose(record) for key, record in table.items()}
        if len(part.path) == 2:
            database[part.path[0]][part.path[1]] = value
        else:
            database[part.path[0]] = value
    return database


class Snapshot:
    """Records as they were at one moment, kept so that they can be told from later ones."""

    def __init__(self, records: Table) -> None:
        self.records = records
        self.texts = {name: {key: _text(record) for key, record in table.items()} for name, table in records.items()}


def differences(service: str, before: Snapshot, after: Snapshot) -> list[dict[str, Any]]:
    """The record events that lead from one to the other, as JSON."""
    changes: list[dict[str, Any]] = []
    for name, table in after.records.items():
        where = {"service": service, "collection": name}
        old = before.records.get(name, {})
        changes += ({"type": "record.deleted", **where, "key": key} for key in old if key not in table)
        for key, record in table.items():
            if key not in old:
                changes.append({"type": "record.created", **where, "key": key, "value": record})
            elif before.texts[name][key] != after.texts[name][key]:
                changes.append({"type": "record.changed", **where, "key": key, **_change(old[key], record)})
    return changes


def _change(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in new.items() if name not in old or _text(old[name]) != _text(value)}
    unset = [name for name in old if name not in new]
    return {"set": changed, "unset": unset} if unset else {"set": changed}


def _text(value: Any) -> str:
    """The same for the same JSON; other where only the kind of a number is."""
    return json.dumps(value, sort_keys=True)
