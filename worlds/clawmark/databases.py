"""Databases on a page, with typed rows, as a service such as Notion has them.

Knows databases by title, schemas and rows; the newest row comes first. Does not know what a value of a property looks
like (`properties`). There is no filter but the tools' own, and no relation, formula or block: tasks use none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from ...events.event import Json, RecordChanged, RecordDeleted
from ..service import Instant, Outcome, Record, RecordEvent, Records
from .properties import empty, kept, kind_of, options_of, plain
from .verbs import Nothing, Numbered, Refused, VerbService, derived_id, found, unknown, verb

NAME = "databases"
PAGES = Numbered(NAME, "pages")
DATABASES = Numbered(NAME, "databases")
ROWS = Numbered(NAME, "rows")


def find(records: Records, title: str) -> Record | None:
    """The first database whose title contains this, or whose id it is."""
    wanted = title.casefold()
    for each in records["databases"].values():
        if each["id"] == title or wanted in each["title"].casefold():
            return each
    return None


def create_page(records: Records, title: str) -> RecordEvent:
    key = PAGES.next(records)
    return PAGES.create(key, {"id": derived_id("page", key), "title": title})


def create_database(records: Records, title: str, schema: Mapping[str, Json]) -> RecordEvent:
    """Raises Refused for a property of no known type."""
    for each in schema.values():
        kind_of(each)
    key = DATABASES.next(records)
    return DATABASES.create(key, {"id": derived_id("database", key), "title": title, "schema": dict(schema)})


def create_row(records: Records, database: Record, given: Mapping[str, Json]) -> list[RecordEvent]:
    """A row, after what it takes of new options. Raises Refused."""
    key = ROWS.next(records)
    values = written(database, given)
    row: dict[str, Json] = {"id": derived_id("row", key), "database": database["id"], "properties": values}
    return [*_new_options(records, database, values), ROWS.create(key, row)]


def update_row(records: Records, row: str, given: Mapping[str, Json]) -> list[RecordEvent]:
    """Raises Refused."""
    key, record = row_of(records, row)
    database = database_of(records, record)
    values = written(database, given)
    merged = {**record["properties"], **values}
    change = RecordChanged(service=NAME, collection="rows", key=key, set={"properties": merged})
    return [*_new_options(records, database, values), change]


def archive_row(records: Records, row: str) -> RecordEvent:
    """Raises Refused."""
    return RecordDeleted(service=NAME, collection="rows", key=row_of(records, row)[0])


def row_of(records: Records, row: str) -> tuple[str, Record]:
    """Its key, and the row. Raises Refused."""
    pair = found(records, "rows", "id", row)
    if pair is None:
        raise Refused(f"There is no row {row[:60]!r}.", "not_found")
    return pair


def database_of(records: Records, row: Record) -> Record:
    pair = found(records, "databases", "id", row["database"])
    assert pair is not None
    return pair[1]


def rows(records: Records, database: Record) -> list[Record]:
    """The newest first."""
    mine = [row for row in records["rows"].values() if row["database"] == database["id"]]
    return mine[::-1]


def written(database: Record, given: Mapping[str, Json]) -> dict[str, Json]:
    """Raises Refused."""
    values = {}
    for name, value in given.items():
        if name not in database["schema"]:
            known = ", ".join(database["schema"])
            raise Refused(f"{database['title']} has no property {name[:80]!r}; it has {known}.")
        values[name] = kept(name, kind_of(database["schema"][name]), value)
    return values


def row_object(database: Record, row: Record) -> dict[str, Json]:
    """A row as the service's own interface gives it."""
    properties = {}
    for name, schema in database["schema"].items():
        kind = kind_of(schema)
        value = row["properties"].get(name, empty(kind))
        properties[name] = {"id": name, "type": kind, kind: value}
    return {"object": "page", "id": row["id"], "archived": False, "properties": properties}


def _new_options(records: Records, database: Record, values: Mapping[str, Json]) -> list[RecordEvent]:
    """Options that are chosen and not there yet are made."""
    schema = dict(database["schema"])
    for name, value in values.items():
        kind = kind_of(schema[name])
        settings = schema[name][kind] or {}
        known = [option["name"] for option in settings.get("options", ())]
        if new := [option for option in options_of(kind, value) if option not in known]:
            options = [*settings.get("options", ()), *({"name": option} for option in dict.fromkeys(new))]
            schema[name] = {**schema[name], kind: {**settings, "options": options}}
    if schema == database["schema"]:
        return []
    pair = found(records, "databases", "id", database["id"])
    assert pair is not None
    return [RecordChanged(service=NAME, collection="databases", key=pair[0], set={"schema": schema})]


# --- tools -------------------------------------------------------------------------------------------------

_Database = Annotated[str, msgspec.Meta(description="Its title, a part of it, or its id.")]
_Properties = Annotated[
    dict[str, Json], msgspec.Meta(description="Values by the name of the property: texts, numbers, names of options.")
]


def _asked(records: Records, title: str) -> Record:
    database = find(records, title)
    if database is None:
        raise unknown(records, "databases", "title", "database", title)
    return database


def _plain_row(database: Record, row: Record) -> dict[str, Json]:
    values = {}
    for name, schema in database["schema"].items():
        kind = kind_of(schema)
        values[name] = plain(kind, row["properties"].get(name, empty(kind)))
    return {"id": row["id"], "properties": values}


def _list(_: Nothing, records: Records, now: Instant) -> Outcome:
    listed: list[Json] = []
    for each in records["databases"].values():
        properties: dict[str, Json] = {}
        for name, schema in each["schema"].items():
            kind = kind_of(schema)
            options = [option["name"] for option in (schema[kind] or {}).get("options", ())]
            properties[name] = {"type": kind, "options": options} if options else {"type": kind}
        listed.append({"id": each["id"], "title": each["title"], "properties": properties})
    return Outcome({"databases": listed})


class _Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    database: _Database
    where: Annotated[
        dict[str, Json], msgspec.Meta(description="Only rows whose properties have exactly these values.")
    ] = {}


def _query(args: _Query, records: Records, _: Instant) -> Outcome:
    database = _asked(records, args.database)
    written(database, dict.fromkeys(args.where))
    shown: Sequence[dict[str, Json]] = [_plain_row(database, row) for row in rows(records, database)]
    chosen = [row for row in shown if all(row["properties"][name] == value for name, value in args.where.items())]
    return Outcome({"rows": chosen})


class _Create(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    database: _Database
    properties: _Properties


def _create(args: _Create, records: Records, _: Instant) -> Outcome:
    changes = create_row(records, _asked(records, args.database), args.properties)
    return Outcome({"id": derived_id("row", ROWS.next(records))}, changes=tuple(changes))


class _Update(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: Annotated[str, msgspec.Meta(description="Its id.")]
    properties: _Properties


def _update(args: _Update, records: Records, _: Instant) -> Outcome:
    changes = update_row(records, args.row, args.properties)
    return Outcome({"id": args.row}, changes=tuple(changes))


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    row: Annotated[str, msgspec.Meta(description="Its id.")]


def _get(args: _Row, records: Records, _: Instant) -> Outcome:
    row = row_of(records, args.row)[1]
    return Outcome(_plain_row(database_of(records, row), row))


def _archive(args: _Row, records: Records, _: Instant) -> Outcome:
    return Outcome({"id": args.row}, changes=(archive_row(records, args.row),))


DATABASE = VerbService(
    name=NAME,
    verbs=(
        verb("db_list", "All databases, with their properties.", Nothing, _list, reads=True),
        verb("db_query", "The rows of a database, the newest first.", _Query, _query, reads=True),
        verb("db_get_row", "One row.", _Row, _get, reads=True),
        verb("db_create_row", "Add a row to a database.", _Create, _create),
        verb("db_update_row", "Change some properties of a row.", _Update, _update),
        verb("db_archive_row", "Take a row out of its database.", _Row, _archive),
    ),
)
