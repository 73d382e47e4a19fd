"""The frame: what an agent may change, and whether it kept to it.

Knows the entries of `environment.Frozen.frame` and the writes that evidence notes. Does not know how an environment is
frozen: whoever does that unites `frame_of` over the twins, and adds `free_entries`.

An entry is `service.collection:new` (records of one's own: creating, changing and deleting them),
`service.collection:key.field` (changing this field), `service.collection:key` (deleting this record), or
`service.collection:*.field` (changing this field of any record: it is free).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..environment import Service
from .evidence import Evidence, Write

NAME = "no side effects"
"""The name of the gate that watches the frame."""


class Frame:
    """The entries of a frame, ready to be looked into."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = frozenset(entries)

    def allows(self, write: Write) -> bool:
        if entry(write) in self._entries:
            return True
        return write.field is not None and f"{write.collection}:*.{write.field}" in self._entries


def entry(write: Write) -> str:
    """The narrowest entry that allows a write."""
    if write.key is None:
        return f"{write.collection}:new"
    return f"{write.collection}:{write.key}" if write.field is None else f"{write.collection}:{write.key}.{write.field}"


def frame_of(evidence: Evidence) -> tuple[str, ...]:
    """What the agent changed in one episode, as the entries that allow it, sorted."""
    return tuple(sorted({entry(write) for write in evidence.writes}))


def free_entries(services: Mapping[str, Service]) -> tuple[str, ...]:
    """The entries for all fields that the services declare free, sorted."""
    return tuple(
        sorted(
            f"{service}.{name}:*.{field}"
            for service, spec in services.items()
            for name, collection in spec.collections.items()
            for field in collection.free
        )
    )
