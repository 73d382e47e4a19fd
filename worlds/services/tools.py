"""One tool of a declared service: what it takes, what an agent is told of it, and the operation behind it.

Knows how a verb of a collection, and a special tool, are written in a definition. Does not know what verbs do.
Everything that a definition can get wrong about a tool is a ServiceError here.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..environment import Field, Verb
from ..environment import Tool as Definition
from ..service import Tool
from .arguments import Arguments
from .extras import PLAIN, Extras, compile_also
from .formulas import check_constants, condition, formulas
from .table import ServiceError, Table, check, hint
from .verbs import Operation, operation

_PAGE = Field(type="any", about='Which page: what "next" said before. Left out, the first.')

#: Which other types an argument may have that is written into a field of this type.
_NARROWER: Mapping[str, tuple[str, ...]] = {
    "text": ("id", "date", "time", "datetime", "email", "choice"),
    "number": ("integer",),
}


def plain_tool(table: Table, verb: Verb, pages: int | None, about: str) -> tuple[Tool, Operation]:
    """The tool `service.collection.verb`."""
    name = f"{table.path}.{verb}"
    arguments = _plain_arguments(name, table, verb, pages)
    description = " ".join(filter(None, (_describe(table.path, verb, pages), about)))
    tool = _offered(name, description, arguments, table, verb, reads=verb in ("find", "get"))
    return tool, operation(verb, table, arguments, PLAIN, pages)


def special_tool(name: str, spec: Definition, tables: Mapping[str, Table], pages: int | None) -> tuple[Tool, Operation]:
    """The tool `name`, service included, that `spec` describes over one of `tables`."""
    if spec.collection not in tables:
        raise ServiceError(f"{name}.collection", f'there is no "{spec.collection}"{hint(spec.collection, tables)}')
    table = tables[spec.collection]
    arguments = _special_arguments(name, spec, table, pages)
    extras = _extras(name, spec, tables, arguments)
    description = spec.about or _describe(table.path, spec.verb, pages)
    reads = spec.verb in ("find", "get") and not spec.also
    return _offered(name, description, arguments, table, spec.verb, reads), operation(
        spec.verb, table, arguments, extras, pages
    )


def _offered(name: str, about: str, arguments: Arguments, table: Table, verb: Verb, reads: bool) -> Tool:
    opens = table.key if verb == "get" and reads else None
    return Tool(name=name, description=about, schema=arguments.schema(), reads=reads, opens=opens)


def _describe(path: str, verb: Verb, pages: int | None) -> str:
    return {
        "find": f"Find the records in {path} that match everything given; without arguments, all of them."
        + (f" At most {pages} at once: go on with `page`." if pages else ""),
        "get": f"Read one record in {path}.",
        "create": f"Create a record in {path}. The result is the record as it was saved.",
        "update": f"Change fields of one record in {path}; what is not given stays. The result is the whole record.",
        "delete": f"Delete one record in {path}. The result is the record as it was.",
    }[verb]


# --- arguments -----------------------------------------------------------------------------------------------


def _plain_arguments(tool: str, table: Table, verb: Verb, pages: int | None) -> Arguments:
    fields = table.fields
    if verb == "find":
        return Arguments(tool, {**fields, **_paging(tool, fields, pages)}, wanted=tuple(fields))
    if verb == "create":
        return Arguments(tool, fields, tuple(name for name, field in fields.items() if field.required))
    key = _key_field(tool, table)
    if verb == "update":
        clears = tuple(name for name, field in fields.items() if not field.required and name not in key)
        return Arguments(tool, {**key, **_without(fields, key)}, tuple(key), clears=clears)
    return Arguments(tool, key, tuple(key))


def _special_arguments(tool: str, spec: Definition, table: Table, pages: int | None) -> Arguments:
    takes, verb = spec.takes, spec.verb
    required = tuple(name for name, field in takes.items() if field.required)
    defaults = {name: field.default for name, field in takes.items() if field.default is not None}
    for name, default in defaults.items():
        check(f"{tool}.takes.{name}.default", takes[name], default)
    if verb == "find":
        wanted = tuple(name for name in takes if name in table.fields)
        return Arguments(tool, {**takes, **_paging(tool, takes, pages)}, required, wanted=wanted, defaults=defaults)
    for name, field in takes.items():
        into = table.fields[name].type if name in table.fields else "any"
        if into != "any" and field.type != into and field.type not in _NARROWER.get(into, ()):
            raise ServiceError(f"{tool}.takes.{name}", f"is of type {field.type}, but the field is of type {into}")
    if verb == "create":
        required = tuple(name for name in takes if name in required or _must(table, name))
        return Arguments(tool, takes, required, defaults=defaults)
    key = _key_field(tool, table)
    required = (*key, *(name for name in required if name not in key))
    return Arguments(tool, {**key, **_without(takes, key)}, required, defaults=defaults)


def _must(table: Table, name: str) -> bool:
    return name in table.fields and table.fields[name].required


def _without(fields: Mapping[str, Field], key: Mapping[str, Field]) -> dict[str, Field]:
    return {name: field for name, field in fields.items() if name not in key}


def _paging(tool: str, fields: Mapping[str, Field], pages: int | None) -> dict[str, Field]:
    if pages is None:
        return {}
    if pages < 1 or "page" in fields:
        raise ServiceError(tool, "`pages` needs at least 1 record a page, and no other argument called page")
    return {"page": _PAGE}


def _key_field(tool: str, table: Table) -> dict[str, Field]:
    """The field that names a record, as an argument that must be given."""
    if table.key is None:
        raise ServiceError(tool, f"{table.path} needs a `key`, or a field `id`, so that an agent can name a record")
    return {table.key: msgspec.structs.replace(table.fields[table.key], required=True, default=None)}


# --- what a special tool adds --------------------------------------------------------------------------------


def _extras(tool: str, spec: Definition, tables: Mapping[str, Table], arguments: Arguments) -> Extras:
    table = tables[spec.collection]
    record = {"record": table.fields}
    call = {"args": arguments.fields, "now": None}
    before = call if spec.verb == "create" else {**record, **call}
    after = call if spec.verb == "find" else {**record, **call}
    if spec.when is not None and spec.verb != "find" and not spec.refusal:
        raise ServiceError(f"{tool}.refusal", "is missing: what is an agent told when `when` does not hold?")
    extras = Extras(
        when=None if spec.when is None else condition(spec.when, before, f"{tool}.when"),
        refusal=spec.refusal,
        set=formulas(spec.set, before, f"{tool}.set"),
        also=tuple(compile_also(side, tables, after, f"{tool}.also[{index}]") for index, side in enumerate(spec.also)),
        dated=b"now" in msgspec.json.encode([spec.when, spec.set, spec.also]),
    )
    _check_set(tool, spec, table)
    return extras


def _check_set(tool: str, spec: Definition, table: Table) -> None:
    """Raises ServiceError where what the tool writes cannot be a record of the table."""
    if spec.set and spec.verb not in ("create", "update"):
        raise ServiceError(f"{tool}.set", f"a tool that does `{spec.verb}` writes no fields")
    check_constants(spec.set, table.fields, f"{tool}.set")
    if spec.verb == "update" and table.key in spec.set:
        raise ServiceError(f"{tool}.set.{table.key}", "is the key of the record, which never changes")
    if spec.verb == "create":
        missing = [name for name in table.fields if _must(table, name) and name not in {**spec.takes, **spec.set}]
        unmade = [name for name in missing if table.fields[name].new is None and table.fields[name].default is None]
        if unmade:
            reason = f'nothing gives the field "{unmade[0]}", which {table.path} requires; name it in `takes` or `set`'
            raise ServiceError(tool, reason)
