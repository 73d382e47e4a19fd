"""What a special tool does beyond its verb: guard the call, write fields of its own, write other records too.

Knows the compiled form of `when`, `refusal`, `set` and `also`. Does not know verbs or arguments. Whatever cannot be
done refuses the whole call, so that a call never does half of what it says.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...events.event import Json, ToolError
from ..environment import UNUSED, SideEffect
from ..expressions import ExpressionError, Scope
from ..formula import Formula
from ..matching import equal_to
from ..service import Instant, Record
from .draft import Draft
from .formulas import Names, check_constants, formulas
from .table import ServiceError, Table, hint, local


class Refusal(Exception):
    """Ends a call; `error` is what the agent is told."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.error = ToolError(type=kind, message=message)


class Also(msgspec.Struct, frozen=True):
    """One side effect, compiled."""

    verb: str
    table: Table
    where: Mapping[str, Formula]
    values: Mapping[str, Formula]


class Extras(msgspec.Struct, frozen=True):
    """Everything a special tool adds. `PLAIN`, the extras of a plain verb, adds nothing."""

    when: Formula | None = None
    refusal: str = ""
    set: Mapping[str, Formula] = {}
    also: tuple[Also, ...] = ()
    dated: bool = False
    """Something in it may ask what time it is, which takes longer to say than most calls take."""

    def scope(self, table: Table, record: Record | None, args: Mapping[str, Json], now: Instant) -> dict[str, Json]:
        """What the expressions see of a call: nothing, where there are none."""
        if self is PLAIN:
            return {}
        seen = None if record is None else table.complete(record)
        scope = {"record": seen, "args": args}
        return {**scope, "now": local(now).isoformat()} if self.dated else scope

    def holds(self, scope: Scope) -> bool:
        """Whether the condition does. Raises Refusal where it cannot be worked out."""
        return self.when is None or bool(_computed(self.when, scope))

    def guard(self, scope: Scope) -> None:
        """Raises Refusal unless the condition holds."""
        if not self.holds(scope):
            raise Refusal("refused", self.refusal)

    def values(self, scope: Scope) -> dict[str, Json]:
        """What the tool itself writes into its record."""
        return {name: _computed(value, scope) for name, value in self.set.items()}

    def write_others(self, draft: Draft, scope: dict[str, Json], record: Record | None, now: Instant) -> None:
        """The side effects of a call that left `record`, each seeing what those before it did. Raises Refusal."""
        for also in self.also:
            inner = {**scope, "record": record}
            if also.verb == "create":
                _create(also, draft, inner, now)
            else:
                _write_matching(also, draft, inner)


PLAIN = Extras()


def _computed(value: Formula, scope: Scope) -> Json:
    try:
        return value(scope)
    except ExpressionError as error:
        raise Refusal("refused", f"This cannot be worked out: {error.message}") from None


def _create(also: Also, draft: Draft, scope: Scope, now: Instant) -> None:
    table = also.table
    values = {name: _computed(value, scope) for name, value in also.values.items()}
    taken = draft.table(table.name)
    key, record = table.make(
        {name: value for name, value in values.items() if value is not None}, taken, draft.count(table.name), now
    )
    if key is None or key in taken:
        raise Refusal("conflict", f'{table.path} cannot take another record "{str(key)[:60]}".')
    draft.create(table.name, key, record)


def _write_matching(also: Also, draft: Draft, scope: dict[str, Json]) -> None:
    """Change or delete every record whose fields are the wanted values. Null matches nothing."""
    wanted = {name: _computed(value, scope) for name, value in also.where.items()}
    if None in wanted.values():
        return
    tests = {name: equal_to(value) for name, value in wanted.items()}
    for key, record in list(draft.table(also.table.name).items()):
        if not all(test(record.get(name)) for name, test in tests.items()):
            continue
        if also.verb == "delete":
            draft.delete(also.table.name, key)
        else:
            inner = {**scope, "it": also.table.complete(record)}
            values = {name: _computed(value, inner) for name, value in also.values.items()}
            draft.write(also.table.name, key, record, values)


def compile_also(side: SideEffect, tables: Mapping[str, Table], names: Names, where: str) -> Also:
    """A side effect of a definition, checked. Raises ServiceError."""
    targets = {"create": side.create, "update": side.update, "delete": side.delete}
    named = [(verb, target) for verb, target in targets.items() if target is not None]
    if len(named) != 1:
        raise ServiceError(where, "says exactly one of `create`, `update` and `delete`")
    verb, target = named[0]
    if target not in tables:
        raise ServiceError(f"{where}.{verb}", f'there is no collection "{target}"{hint(target, tables)}')
    table, fields = tables[target], side.record if verb == "create" else side.set
    unused = [part for part in UNUSED[verb] if getattr(side, part)]
    if unused:
        raise ServiceError(f"{where}.{unused[0]}", f"means nothing beside `{verb}`")
    if verb != "create" and not side.where:
        raise ServiceError(where, f"needs `where`, which says which records of {table.path} it means")
    written = "record" if verb == "create" else "set"
    if verb == "update" and table.key in fields:
        raise ServiceError(f"{where}.set.{table.key}", "is the key of the record, which never changes")
    inner = {**names, "it": table.fields} if verb == "update" else names
    also = Also(
        verb=verb,
        table=table,
        where=formulas(side.where, names, f"{where}.where"),
        values=formulas(fields, inner, f"{where}.{written}"),
    )
    check_constants(side.where, table.fields, f"{where}.where")
    check_constants(fields, table.fields, f"{where}.{written}")
    return also
