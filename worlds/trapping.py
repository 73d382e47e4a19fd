"""How a trap turns the oracle's steps into those of a plausible bad agent.

Knows the parts of a trap. Does not play anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from ..events.event import Json
from .environment import Step, Trap
from .facts import fill


class BadTrap(ValueError):
    """A trap that does not fit the oracle it is laid over."""


def edited(steps: Sequence[Step], trap: Trap) -> tuple[Step, ...]:
    """The oracle's steps with those of `drop` gone, `change` made, those of `repeat` done twice and `add` at the end.

    Raises `BadTrap` where a step or a part of one does not exist.
    """
    names = {step.name for step in steps if step.name is not None}
    for name in (*trap.drop, *trap.repeat, *(path.partition(".")[0] for path in trap.change)):
        if name not in names:
            raise BadTrap(f"the oracle has no step `{name}`; its steps are {', '.join(sorted(names))}")
    result: list[Step] = []
    for step in steps:
        if step.name in trap.drop:
            continue
        changes = {path: value for path, value in trap.change.items() if path.partition(".")[0] == step.name}
        step = _changed(step, changes) if changes else step
        result.extend([step, step] if step.name in trap.repeat else [step])
    return (*result, *trap.add)


def mistake(steps: Sequence[Step], trap: Trap) -> tuple[int, Step] | None:
    """Where the trap first does a step of the oracle otherwise, and that step as it does it.

    None for one that only leaves steps out or adds some: it makes no mistake that could be made good. Raises `BadTrap`.
    """
    changed = edited(steps, msgspec.structs.replace(trap, drop=(), repeat=(), add=()))
    for place, (right, wrong) in enumerate(zip(steps, changed, strict=True)):
        if right != wrong and wrong.calc is None:
            return place, wrong
    return None


def bound(trap: Trap) -> dict[str, Json]:
    """What the agent believes it has seen: null for each step that was dropped, with the values of `bind` in it."""
    seen: dict[str, Json] = dict.fromkeys(trap.drop)
    for path, value in trap.bind.items():
        _put(seen, path.split("."), fill(value, {}))
    return seen


def _changed(step: Step, changes: Mapping[str, Json]) -> Step:
    plain = msgspec.to_builtins(step, builtin_types=(Decimal,))
    for path, value in changes.items():
        parts = path.split(".")[1:]
        if not parts:
            raise BadTrap(f"`{path}` names a whole step; name a part of it, such as `{path}.args.amount`")
        _put(plain, parts, value)
    try:
        return msgspec.convert(plain, Step)
    except msgspec.ValidationError as error:
        raise BadTrap(f"step `{step.name}` cannot be changed so: {error}") from error


def _put(into: dict[str, Json], parts: Sequence[str], value: Json) -> None:
    """Set, or with null remove, the value at a path; objects on the way are made where there are none."""
    *way, last = parts
    for part in way:
        below = into.get(part)
        into[part] = dict(below) if isinstance(below, dict) else {}
        into = into[part]
    if value is None:
        into.pop(last, None)
    else:
        into[last] = value
