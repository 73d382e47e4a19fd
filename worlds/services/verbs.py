"""What the five verbs do to one collection: each is a function from arguments and records to an outcome.

Knows tables, arguments and the extras of a special tool (guard, own writes, side effects). Does not know where they
were written down. Everything is compiled beforehand; a call only looks things up. An error never comes with changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...events.event import Json, ToolError
from ..service import Instant, Outcome, Record, Records
from . import kinds
from .arguments import Arguments
from .draft import Draft, changed
from .table import Table, key_text

Operation: TypeAlias = Callable[[Json, Records, Instant], Outcome]


def refuse(kind: str, message: str) -> Outcome:
    return Outcome(error=ToolError(type=kind, message=message))


def _not_found(table: Table, value: Json) -> Outcome:
    return refuse("not_found", f'There is no record "{str(value)[:60]}" in {table.path}.')


def find(table: Table, arguments: Arguments, pages: int | None) -> Operation:
    """All records that match every argument, in order of insertion; with `pages`, so many at a time."""
    tests = {name: kinds.finds(field) for name, field in table.fields.items()}

    def operation(args: Json, records: Records, now: Instant) -> Outcome:
        given = arguments.check(args)
        if isinstance(given, ToolError):
            return Outcome(error=given)
        page = given.pop("page", None) if pages else None
        found: list[Record] = list(records[table.name].values())
        for name, value in given.items():
            if name in tests:
                test = tests[name](value)
                found = [record for record in found if test(record.get(name))]
        return Outcome(result=found) if pages is None else _page(found, page, pages)

    return operation


def _page(found: list[Record], page: Json, size: int) -> Outcome:
    """Page 1, 2, … of what was found; `next` is the page after it, null at the end."""
    number = 1
    if page is not None:
        text = str(page)
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
            return refuse("invalid_argument", f'"page" must be what "next" said, such as "2", not {kinds.shown(page)}.')
        number = int(text)
    start = (number - 1) * size
    following = str(number + 1) if start + size < len(found) else None
    return Outcome(result={"items": found[start : start + size], "next": following})


def get(table: Table, arguments: Arguments) -> Operation:
    """The record with this key."""
    key_field = table.key
    assert key_field is not None

    def operation(args: Json, records: Records, now: Instant) -> Outcome:
        given = arguments.check(args)
        if isinstance(given, ToolError):
            return Outcome(error=given)
        record = records[table.name].get(key_text(given[key_field]) or "")
        return _not_found(table, given[key_field]) if record is None else Outcome(result=record)

    return operation


def create(table: Table, arguments: Arguments) -> Operation:
    """A new record of the arguments, with what the service itself fills in."""

    def operation(args: Json, records: Records, now: Instant) -> Outcome:
        given = arguments.check(args)
        if isinstance(given, ToolError):
            return Outcome(error=given)
        taken = records[table.name]
        key, record = table.make(given, taken, records.count(table.name), now)
        if key is None:
            return refuse("invalid_argument", f'{table.path} needs a "{table.key}", which names the record.')
        if key in taken:
            return refuse("conflict", f'There is already a record "{key[:60]}" in {table.path}.')
        draft = Draft(table.service, records)
        draft.create(table.name, key, record)
        return Outcome(result=record, changes=tuple(draft.changes))

    return operation


def update(table: Table, arguments: Arguments) -> Operation:
    """Write the arguments into the record with this key. What it already says is not written again."""
    key_field = table.key
    assert key_field is not None

    def operation(args: Json, records: Records, now: Instant) -> Outcome:
        given = arguments.check(args)
        if isinstance(given, ToolError):
            return Outcome(error=given)
        wanted = given.pop(key_field)
        key = key_text(wanted) or ""
        record = records[table.name].get(key)
        if record is None:
            return _not_found(table, wanted)
        if not given:
            return refuse(
                "invalid_argument", f"Nothing to change: give at least one field of {table.path} besides its key."
            )
        draft = Draft(table.service, records)
        return Outcome(result=_write(draft, table, key, record, given), changes=tuple(draft.changes))

    return operation


def _write(draft: Draft, table: Table, key: str, record: Record, values: Mapping[str, Json]) -> Record:
    """Change what differs, drop what is null; the record as it is then."""
    fresh = {
        name: value
        for name, value in values.items()
        if value is not None and not (name in record and kinds.same(record[name], value))
    }
    unset = tuple(name for name, value in values.items() if value is None and name in record)
    if not fresh and not unset:
        return record
    draft.change(table.name, key, fresh, unset)
    return changed(record, fresh, unset)


def delete(table: Table, arguments: Arguments) -> Operation:
    """Remove the record with this key; the result is what it said."""
    key_field = table.key
    assert key_field is not None

    def operation(args: Json, records: Records, now: Instant) -> Outcome:
        given = arguments.check(args)
        if isinstance(given, ToolError):
            return Outcome(error=given)
        key = key_text(given[key_field]) or ""
        record = records[table.name].get(key)
        if record is None:
            return _not_found(table, given[key_field])
        draft = Draft(table.service, records)
        draft.delete(table.name, key)
        return Outcome(result=record, changes=tuple(draft.changes))

    return operation
