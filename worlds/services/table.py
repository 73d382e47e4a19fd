"""One collection, compiled: its fields, how its records get their keys, and how a new record is made.

Knows fields, keys and generated values. Does not know tools or arguments: what comes in has been checked, except the
records of a file, which are checked here. A key is the value of the key field; where a collection has none, records
are numbered `#1`, `#2`, … by how many there have ever been.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from ...events.event import Json
from ..environment import Collection, Field
from ..service import Instant, Record
from ..spelling import nearest
from . import kinds

#: The value of a field in the n-th record, made at this time; None leaves the field out.
Maker: TypeAlias = Callable[[int, Instant | None], Json]

_NUMBERED = re.compile(r"(.*?)(\d{1,15})", re.ASCII | re.DOTALL)
_BLANK = re.compile(r"\{(\w*)\}")


class ServiceError(ValueError):
    """A definition that makes no service: `path` says where in it, from the service's name downwards."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


def hint(name: str, names: Iterable[str]) -> str:
    """What else a wrong name may have meant, to end a sentence with."""
    close = nearest(name, names)
    return f'; did you mean "{close}"?' if close else f"; there are {', '.join(names) or 'none'}"


def check(where: str, field: Field, value: Json) -> None:
    """Raises ServiceError where a definition has a value that its field does not accept."""
    if value is not None and not kinds.accepts(field)(value):
        raise ServiceError(where, f"must be {kinds.expected(field)}, not {kinds.shown(value)}")


def key_text(value: Json) -> str | None:
    """A value as a key; None if it cannot be one."""
    if isinstance(value, str):
        return value or None
    return str(value) if kinds.is_number(value) else None


def local(now: Instant) -> datetime:
    """Wall time of the workspace in whole seconds, without an offset, as records have it."""
    return now.date().replace(tzinfo=None, microsecond=0)


class Table:
    """A collection of the service `service`, with the `opening` records it starts with, by key."""

    __slots__ = ("_ahead", "_defaults", "_makers", "_next", "fields", "key", "name", "opening", "path", "service")

    def __init__(self, service: str, name: str, spec: Collection, records: Sequence[Record]) -> None:
        self.service = service
        self.name = name
        self.path = f"{service}.{name}"
        self.fields: dict[str, Field] = dict(spec.fields) or kinds.infer(records)
        self._check_fields(spec)
        self.key = self._key_field(spec, records)
        self._makers = {
            name: maker for name, field in self.fields.items() if (maker := self._maker(name, field)) is not None
        }
        self._defaults = {
            name: field.default for name, field in self.fields.items() if field.default is not None and not field.new
        }
        self._next, self._ahead = self._numbering(records)
        self.opening = self._opening(records)

    # --- compiling -------------------------------------------------------------------------------------------

    def _key_field(self, spec: Collection, records: Sequence[Record]) -> str | None:
        """The field that names a record. `id` does where it can; a field that the definition calls its key must."""
        name = spec.key or "id"
        if name not in self.fields:
            if spec.key is None:
                return None
            raise ServiceError(f"{self.path}.key", f'there is no field "{name}"{hint(name, self.fields)}')
        keys = [key_text(record[name]) for record in records if record.get(name) is not None]
        names_them = len(set(keys)) == len(keys) and None not in keys
        if spec.key is None and not spec.fields:
            return name if names_them and len(keys) == len(records) else None
        if not names_them:
            raise ServiceError(f"{self.path}.key", f'"{name}" cannot name the records: its values are not unique')
        return name

    def _check_fields(self, spec: Collection) -> None:
        for name, field in self.fields.items():
            if (field.type == "choice") != bool(field.of):
                raise ServiceError(
                    f"{self.path}.fields.{name}.of", "lists the values of a `choice`, and of nothing else"
                )
        for name in spec.free:
            if name not in self.fields:
                raise ServiceError(f"{self.path}.free", f'there is no field "{name}"{hint(name, self.fields)}')

    def _maker(self, name: str, field: Field) -> Maker | None:
        """What fills the field where nobody does."""
        if field.new is not None:
            return self._new(name, field, field.new)
        default = field.default
        if default is None:
            return None
        if name == self.key:
            raise ServiceError(f"{self.path}.fields.{name}.default", "a key has no default, since keys must differ")
        check(f"{self.path}.fields.{name}.default", field, default)
        return lambda n, now: default

    def _new(self, name: str, field: Field, template: str) -> Maker:
        if set(_BLANK.findall(template)) - {"n", "now"}:
            raise ServiceError(f"{self.path}.fields.{name}.new", f'"{template}" may contain {{n}} and {{now}} only')
        if name == self.key and "{n}" not in template:
            raise ServiceError(f"{self.path}.fields.{name}.new", f'"{template}" needs {{n}}, since keys must differ')
        if field.type in ("integer", "number"):
            return lambda n, now: n
        if "{now}" not in template:
            return lambda n, now: template.replace("{n}", str(n))

        def written(n: int, now: Instant | None) -> Json:
            if now is None:
                return None
            moment = local(now)
            part = moment.date() if field.type == "date" else moment.time() if field.type == "time" else moment
            return template.replace("{n}", str(n)).replace("{now}", part.isoformat())

        return written

    def _numbering(self, records: Sequence[Record]) -> tuple[Maker | None, int]:
        """How keys go on that nobody gives, and by how much their numbers run ahead of the count of records.

        O-5512 and O-5498 are followed by O-5513; without any example, the first of `orders` is orders-1.
        """
        if self.key is None or self.key in self._makers:
            return self._makers.get(self.key or ""), 0
        prefix, width, highest = f"{self.name}-", 1, len(records)
        for record in records:
            match = _NUMBERED.fullmatch(key_text(record.get(self.key)) or "")
            if match:
                prefix, width, highest = match[1], len(match[2]), max(highest, int(match[2]))
        ahead, kind = highest - len(records), self.fields[self.key].type
        if kind in ("integer", "number"):
            return (lambda n, now: n), ahead
        if kind in ("text", "id", "any"):
            return (lambda n, now: f"{prefix}{n:0{width}}"), ahead
        return None, 0

    def _opening(self, records: Sequence[Record]) -> dict[str, dict[str, Json]]:
        """The records of the file, checked; keys and defaults are filled in, times are not."""
        taken = {key_text(record.get(self.key)) for record in records} if self.key else set()
        opening: dict[str, dict[str, Json]] = {}
        for index, record in enumerate(records):
            for name, value in record.items():
                where = f"{self.path}.records[{index}].{name}"
                if name not in self.fields:
                    raise ServiceError(where, f"there is no such field{hint(name, self.fields)}")
                check(where, self.fields[name], value)
            key, values = self.make(record, taken, index, None)
            if key is None:
                raise ServiceError(f"{self.path}.records[{index}]", f'it needs a "{self.key}", which names it')
            taken.add(key)
            opening[key] = values
        return opening

    def complete(self, record: Record) -> Record:
        """A record as expressions see it: a field that it lacks has its default."""
        return {**self._defaults, **record} if self._defaults else record

    # --- making records --------------------------------------------------------------------------------------

    def make(
        self, values: Mapping[str, Json], taken: Container[str | None], count: int, now: Instant | None
    ) -> tuple[str | None, dict[str, Json]]:
        """A new record of these values, in the order of the fields, and its key: None if nothing can name it.

        `taken` are the keys there are: a made key avoids them, a given one is the caller's matter. `count` is how many
        records there have ever been. Without a time, fields that are made of it stay out.
        """
        n = count + 1
        if self.key is None:
            key: str | None = f"#{n}"
        elif values.get(self.key) is not None:
            key = key_text(values[self.key])
        elif self._next is None:
            return None, {}
        else:
            n += self._ahead
            while (key := key_text(self._next(n, now) or "")) in taken and key is not None:
                n += 1
            values = {**values, self.key: self._next(n, now)}
        makers = self._makers
        record: dict[str, Json] = {}
        for name in self.fields:
            if name in values:
                record[name] = values[name]
            elif name in makers and (made := makers[name](n, now)) is not None:
                record[name] = made
        return key, record
