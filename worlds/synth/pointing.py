"""Changing one place of an environment's data, and leaving the rest as it was.

Knows JSON pointers (RFC 6901) and plain data. Does not know what any place means. Nothing is changed in place: what is
returned shares with the data whatever the change does not touch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...events.event import Json
from .findings import parts


class BadEdit(ValueError):
    """An edit that does not fit the environment: the sentence says which, where and why."""


Data: TypeAlias = dict[str, Json]
_ABSENT = object()
END = "-"
"""The place after the last item of a list."""


def there(data: Json, at: str) -> bool:
    """Whether something stands at this place."""
    return _found(data, parts(at)) is not _ABSENT


def read(data: Json, at: str) -> Json:
    """What stands at this place. Raises `BadEdit` where nothing does."""
    found = _found(data, parts(at))
    if found is _ABSENT:
        raise BadEdit(f"there is nothing at {at or '/'}")
    return found


def put(data: Data, at: str, value: Json) -> Data:
    """Data with this value at this place; objects on the way are made where there are none. Raises `BadEdit`."""
    changed: Data = _at(data, parts(at), at, lambda _: value)
    return changed


def change(data: Data, at: str, how: Callable[[Json], Json]) -> Data:
    """Data with what stands at this place changed. Raises `BadEdit` where nothing does."""
    read(data, at)
    changed: Data = _at(data, parts(at), at, how)
    return changed


def append(data: Data, at: str, value: Json) -> Data:
    """Data with one more item in the list at this place, which is made if there is none. Raises `BadEdit`."""
    return put(data, f"{at}/{END}", value) if there(data, at) else put(data, at, [value])


def remove(data: Data, at: str) -> Data:
    """Data without what stands at this place. Raises `BadEdit` where nothing does."""
    if not parts(at):
        raise BadEdit("the whole environment cannot be removed")
    read(data, at)
    outer, _, _ = at.rpartition("/")
    last = parts(at)[-1]
    return change(data, outer, lambda inside: _without(inside, last))


def rename(data: Data, at: str, name: str) -> Data:
    """Data in which the key at the end of this pointer has another name, in the same place. Raises `BadEdit`."""
    if not parts(at):
        raise BadEdit("the whole environment is no key, and cannot be called otherwise")
    read(data, at)
    outer, _, _ = at.rpartition("/")
    last = parts(at)[-1]
    inside = read(data, outer)
    if not isinstance(inside, dict) or name in inside:
        raise BadEdit(f"{last!r} at {at} cannot be called {name!r}: there is one of that name")
    return change(data, outer, lambda _: {name if key == last else key: item for key, item in inside.items()})


def _without(inside: Json, last: str) -> Json:
    if isinstance(inside, list):
        return [item for position, item in enumerate(inside) if position != int(last)]
    return {key: item for key, item in inside.items() if key != last}


def _found(value: Json, steps: list[str]) -> Json:
    for step in steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _ABSENT
    return value


def _at(inside: Json, steps: list[str], at: str, how: Callable[[Json], Json]) -> Json:
    if not steps:
        return how(inside)
    step, rest = steps[0], steps[1:]
    if isinstance(inside, list):
        if step == END or (step.isdecimal() and int(step) == len(inside)):
            return [*inside, _at({} if rest else None, rest, at, how)]
        if not step.isdecimal() or int(step) > len(inside):
            raise BadEdit(f"there is no item {step!r} on the way to {at}")
        position = int(step)
        return [*inside[:position], _at(inside[position], rest, at, how), *inside[position + 1 :]]
    if inside is not None and not isinstance(inside, Mapping):
        raise BadEdit(f"there is no {step!r} on the way to {at}: {inside!r} has no parts")
    known = dict(inside or {})
    known[step] = _at(known.get(step), rest, at, how)
    return known
