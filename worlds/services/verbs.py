"""What the five verbs do to one collection: each is a function from arguments and records to an outcome.

Knows tables, arguments and the extras of a special tool. Does not know where they were written down. Everything is
compiled beforehand, and a call only looks things up. An error never comes with changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...events.event import Json, ToolError
from ..service import Instant, Outcome, Record, Records
from . import kinds
from .arguments import Arguments
from .draft import Draft
from .extras import PLAIN, Extras, Refusal
from .table import Table, key_text

Operation: TypeAlias = Callable[[Json, Records, Instant], Outcome]
#: What a verb does with checked arguments: it may raise Refusal.
_Act: TypeAlias = Callable[[dict[str, Json], Draft, Records, Instant], Json]


def operation(verb: str, table: Table, arguments: Arguments, extras: Extras, pages: int | None) -> Operation:
    """The verb, applied to a table. `pages` counts for `find` alone."""
    act = _find(table, extras, pages) if verb == "find" else _VERBS[verb](table, extras)

    def run(args: Json, records: Records, now: Instant) -> Outcome:
        given = arguments.check(args)
        if isinstance(given, ToolError):
            return Outcome(error=given)
        draft = Draft(table.service, records)
        try:
            result = act(given, draft, records, now)
        except Refusal as refusal:
            return Outcome(error=refusal.error)
        return Outcome(result=result, changes=tuple(draft.changes))

    return run


def _find(table: Table, extras: Extras, pages: int | None) -> _Act:
    """All records that match every argument, in order of insertion; with `pages`, so many at a time.

    A guard chooses records here: those for which it holds.
    """
    tests = {name: kinds.finds(field) for name, field in table.fields.items()}

    def act(given: dict[str, Json], draft: Draft, records: Records, now: Instant) -> Json:
        page = given.pop("page", None) if pages else None
        found: list[Record] = list(records[table.name].values())
        for name, value in given.items():
            if name in tests:
                test = tests[name](value)
                found = [record for record in found if test(record.get(name))]
        scope = extras.scope(table, None, given, now)
        if extras.when is not None:
            found = [record for record in found if extras.holds({**scope, "record": table.complete(record)})]
        extras.write_others(draft, scope, None, now)
        return found if pages is None else _page(found, page, pages)

    return act


def _page(found: list[Record], page: Json, size: int) -> Json:
    """Page 1, 2, … of what was found; `next` is the page after it, null at the end."""
    number = 1
    if page is not None:
        text = page if isinstance(page, str) else str(page) if type(page) is int and abs(page) < 10**9 else ""
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
            shown = kinds.shown(page)
            raise Refusal("invalid_argument", f'"page" must be what "next" said before, such as "2", not {shown}.')
        number = int(text)
    start = (number - 1) * size
    following = str(number + 1) if start + size < len(found) else None
    return {"items": found[start : start + size], "next": following}


def _named(table: Table, records: Records, given: dict[str, Json]) -> tuple[str, Record]:
    """The record that the arguments name. Raises Refusal."""
    assert table.key is not None
    key = key_text(given[table.key]) or ""
    record = records[table.name].get(key)
    if record is None:
        raise Refusal("not_found", f'There is no record "{key[:60]}" in {table.path}.')
    return key, record


def _finished(
    table: Table, key: str, record: Record, extras: Extras, draft: Draft, scope: dict[str, Json], now: Instant
) -> Record | None:
    """Write the side effects; the record as they leave it, null if they deleted it."""
    if not extras.also:
        return record
    extras.write_others(draft, scope, table.complete(record), now)
    return draft.table(table.name).get(key)


def _get(table: Table, extras: Extras) -> _Act:
    """The record with this key."""

    def act(given: dict[str, Json], draft: Draft, records: Records, now: Instant) -> Json:
        key, record = _named(table, records, given)
        scope = extras.scope(table, record, given, now)
        extras.guard(scope)
        return _finished(table, key, record, extras, draft, scope, now)

    return act


def _create(table: Table, extras: Extras) -> _Act:
    """A new record of the arguments, with what the service itself fills in."""

    def act(given: dict[str, Json], draft: Draft, records: Records, now: Instant) -> Json:
        scope = extras.scope(table, None, given, now)
        extras.guard(scope)
        taken = records[table.name]
        key, record = table.make({**given, **extras.values(scope)}, taken, records.count(table.name), now)
        if key is None:
            raise Refusal("invalid_argument", f'{table.path} needs a "{table.key}", which names the record.')
        if key in taken:
            raise Refusal("conflict", f'There is already a record "{key[:60]}" in {table.path}.')
        draft.create(table.name, key, record)
        return _finished(table, key, record, extras, draft, scope, now)

    return act


def _update(table: Table, extras: Extras) -> _Act:
    """Write the arguments into the record with this key."""

    def act(given: dict[str, Json], draft: Draft, records: Records, now: Instant) -> Json:
        key, record = _named(table, records, given)
        scope = extras.scope(table, record, given, now)
        extras.guard(scope)
        values = {name: value for name, value in given.items() if name != table.key and name in table.fields}
        values.update(extras.values(scope))
        if not values and extras is PLAIN:
            raise Refusal("invalid_argument", f"Nothing to change: give at least one field besides {table.key}.")
        after = draft.write(table.name, key, record, values)
        return _finished(table, key, after, extras, draft, scope, now)

    return act


def _delete(table: Table, extras: Extras) -> _Act:
    """Remove the record with this key; the result is what it said."""

    def act(given: dict[str, Json], draft: Draft, records: Records, now: Instant) -> Json:
        key, record = _named(table, records, given)
        scope = extras.scope(table, record, given, now)
        extras.guard(scope)
        draft.delete(table.name, key)
        extras.write_others(draft, scope, table.complete(record), now)
        return record

    return act


_VERBS: dict[str, Callable[[Table, Extras], _Act]] = {
    "get": _get,
    "create": _create,
    "update": _update,
    "delete": _delete,
}
