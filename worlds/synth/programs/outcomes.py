"""What came of a run, as far as anybody may care: what the agent wrote, said and heard, in order.

Knows events. Left out are times, fields that are free, and texts that no check looked into. Does not know scores. Two
runs of the same outcome are the same to everyone but a clock.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from ....events.event import (
    AGENT,
    Event,
    Json,
    MessageReceived,
    MessageSent,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
)
from ...service import Instant
from ...services.table import local
from ...world import World
from ..playing import Run

Item: TypeAlias = tuple[object, ...]
UNREAD = "(a text that no check looks into)"


def outcome(world: World, run: Run, free: Collection[str], ordered: bool = True) -> list[Item]:
    """All of it, in the order in which it happened, or sorted, and then whatever records are called that were created.

    `free` are the frame's entries of free fields; others do no harm.
    """
    looked = {seq for verdict in run.verdicts if not (verdict.idle and verdict.gate) for seq in verdict.evidence}
    looked -= _answered(run)
    sent = {event.seq: (event.actor, event.body.text) for event in run.events if isinstance(event.body, MessageSent)}
    found: list[Item] = []
    for event in run.events:
        if event.actor == AGENT:
            found += _items(world, event, looked, free, sent)
    if ordered:
        return found
    born = {item[1:4]: _unkeyed(item) for item in found if item[0] == "created"}
    return sorted((_nameless(item, born) for item in found), key=repr)


def _nameless(item: Item, born: Mapping[Item, Item]) -> Item:
    """Something without traces of when it came: what was created (`born`, by service, collection and key) without the
    key that it got by its place among others, a message with its words sorted."""
    match item:
        case ("said", to, str(text)):
            return "said", to, sorted(re.findall(r"\w[\w.-]*\w|\w", text))
        case ("created", *_):
            return _unkeyed(item)
        case ("changed" | "deleted", service, collection, key, *rest):
            return item[0], born.get((service, collection, key), key), *rest
    return item


def _unkeyed(item: Item) -> Item:
    _, service, collection, key, values = item
    assert isinstance(values, dict)
    return "created", service, collection, sorted((name, value) for name, value in values.items() if value != key)


def _answered(run: Run) -> set[int]:
    """The agent's questions. What came of one is its answer, however it was put."""
    bodies = (event.body for event in run.events if event.actor != AGENT)
    replies = {body.reply_to for body in bodies if isinstance(body, MessageSent) and body.gives}
    return {seq for seq in replies if seq is not None}


def _items(
    world: World, event: Event, looked: Collection[int], free: Collection[str], sent: dict[int, tuple[str, str]]
) -> Iterator[Item]:
    match event.body:
        case MessageSent(to=to, text=text):
            yield "said", to, text if event.seq in looked else UNREAD
        case MessageReceived(message=message):
            yield "heard", *sent[message]
        case RecordCreated(service=service, collection=collection, key=key, value=value):
            yield "created", service, collection, key, _values(world, event, f"{service}.{collection}", value, free)
        case RecordChanged(service=service, collection=collection, key=key, set=value, unset=unset):
            values = _values(world, event, f"{service}.{collection}", value, free)
            if values or unset:
                yield "changed", service, collection, key, values, unset
        case RecordDeleted(service=service, collection=collection, key=key):
            yield "deleted", service, collection, key


def _values(
    world: World, event: Event, collection: str, values: dict[str, Json], free: Collection[str]
) -> dict[str, Json]:
    """The fields that are not free and do not only say what time it was."""
    now = local(Instant(world.start, event.at)).isoformat()
    return {name: value for name, value in values.items() if f"{collection}:*.{name}" not in free and value != now}
