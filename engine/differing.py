"""Where two streams, or two versions of an event, part.

Knows how to compare. Does not know why anything differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

import msgspec

from ..events.event import EpisodeStarted, Event, Json

MISSING = "(not there)"


class Change(msgspec.Struct, frozen=True):
    """One place in a value. A side that has no such place is `MISSING`."""

    path: str
    left: Json
    right: Json


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where two streams part. `seq` is None where they do not, beyond how they began."""

    began: tuple[Change, ...] = ()
    """How their first events differ, the environment left out."""
    same_environment: bool = True
    seq: int | None = None
    left: Event | None = None
    right: Event | None = None
    """The first events that differ after the first of all; None on a side that has ended."""
    changes: tuple[Change, ...] = ()


def difference(left: Sequence[Event], right: Sequence[Event]) -> Difference:
    """Where two streams part. Their first events may differ: that says what was run, not what happened."""
    one, other = (events[0].body if events else None for events in (left, right))
    began: tuple[Change, ...] = ()
    same = one == other
    if isinstance(one, EpisodeStarted) and isinstance(other, EpisodeStarted):
        same = one.environment == other.environment
        began = tuple(c for c in changes(_plain(one), _plain(other)) if c.path != "environment")
    for seq in range(1, max(len(left), len(right))):
        a, b = (events[seq] if seq < len(events) else None for events in (left, right))
        if a != b:
            return Difference(began=began, same_environment=same, seq=seq, left=a, right=b, changes=_between(a, b))
    return Difference(began=began, same_environment=same)


def _between(left: Event | None, right: Event | None) -> tuple[Change, ...]:
    """The fields that differ; of events of two types only that they are, since their fields are not the same."""
    if left is None or right is None:
        return ()
    # As objects: in JSON they are arrays, and a place in one says little.
    found = tuple(changes(_plain(msgspec.structs.asdict(left)), _plain(msgspec.structs.asdict(right))))
    return tuple(change for change in found if change.path == "body.type") or found


def _plain(value: Json) -> Json:
    return msgspec.to_builtins(value, builtin_types=(Decimal,))


def changes(left: Json, right: Json, path: str = "") -> Iterator[Change]:
    """The places where two values differ, as deep as they go."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in dict.fromkeys([*left, *right]):
            inner = f"{path}.{name}" if path else name
            if name in left and name in right:
                yield from changes(left[name], right[name], inner)
            else:
                yield Change(inner, left.get(name, MISSING), right.get(name, MISSING))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for place, (a, b) in enumerate(zip(left, right)):
            yield from changes(a, b, f"{path}[{place}]")
    elif left != right or type(left) is not type(right):
        yield Change(path, left, right)
