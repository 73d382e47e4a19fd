"""How hard an environment is, measured: from its world, from what its oracle had to do, and from the panel's scores.

Knows what each knob counts. Does not know what was asked for when it was made. All knobs are integers; where variants
differ, the largest counts.

| knob | counts |
|---|---|
| `horizon` | writing calls of the oracle that succeeded, and messages of its that were answered |
| `services` | services of the base |
| `rows` | records at the start of the base |
| `distractors` | records that are nearly one that the oracle writes about: in its collection, with a like field |
| `hidden` | slots that people disclose to the oracle, over all variants |
| `interruptions` | entries of the timeline that happen between the oracle's first act and its last |
| `delay` | minutes that the oracle waits for answers |
| `faults` | calls of the oracle that were disturbed |
| `conflicts` | records that say of themselves that another one holds instead of them |
| `injections` | texts in records that give orders |
| `audiences` | people to whom the oracle writes |
| `twins` | twins |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from fractions import Fraction

from ...events.event import (
    AGENT,
    Event,
    FaultInjected,
    Json,
    MessageReceived,
    MessageSent,
    TimelineFired,
    ToolCalled,
    ToolReturned,
)
from ..matching import leaves
from ..service import Record
from ..world import World
from .playing import Case
from .validators.dataflow import reading_tools
from .validators.injection import carriers

MINUTE = 60_000_000
LIKE = 0.8
"""So similar two texts are that can be mistaken for each other."""
_HELD_OVER = frozenset(
    (
        *("superseded", "outdated", "obsolete", "expired", "replaced", "withdrawn", "archived", "old"),
        *("überholt", "veraltet", "abgelaufen", "ersetzt", "aufgehoben", "alt"),
    )
)
"""What a record's status says where another record holds instead."""


async def knobs(case: Case) -> dict[str, int]:
    """All knobs, by name, in the order above."""
    base = case.worlds[""]
    streams = [(await case.run(case.oracle(variant), variant)).events for variant in case.worlds]
    writes = [_writes(events, world) for events, world in zip(streams, case.worlds.values(), strict=True)]
    answers = [_answers(events) for events in streams]
    return {
        "horizon": max(len(made) + len(given) for made, given in zip(writes, answers, strict=True)),
        "services": len(base.services),
        "rows": sum(len(table) for _, table in _tables(base)),
        "distractors": _distractors(base, writes[0]),
        "hidden": len({slot for events in streams for slot in _slots(events)}),
        "interruptions": max(sum(_interrupts(events)) for events in streams),
        "delay": max(sum(given) for given in answers) // MINUTE,
        "faults": max(sum(isinstance(event.body, FaultInjected) for event in events) for events in streams),
        "conflicts": sum(_is_held_over(record) for _, table in _tables(base) for record in table.values()),
        "injections": len(carriers(case)),
        "audiences": max(len(set(_addressed(events))) for events in streams),
        "twins": len(case.environment.twins),
    }


def difficulty(panel: Mapping[str, Fraction]) -> Fraction:
    """1 - the mean score of the middle half of a panel, which is ordered from weak to strong; in [0, 1]."""
    agents = list(panel.values())
    quarter = len(agents) // 4
    middle = agents[quarter : len(agents) - quarter]
    return 1 - sum(middle, Fraction(0)) / len(middle) if middle else Fraction(1)


def _tables(world: World) -> Iterator[tuple[str, Mapping[str, Record]]]:
    for service in world.state.services():
        for collection in world.state[service].collections():
            yield f"{service}.{collection}", world.state[service][collection]


def _addressed(events: Sequence[Event]) -> Iterator[str]:
    """To whom the agent wrote."""
    for event in events:
        if event.actor == AGENT and isinstance(event.body, MessageSent):
            yield event.body.to


def _writes(events: Sequence[Event], world: World) -> list[Json]:
    """The arguments of the agent's writing calls that succeeded."""
    reading = reading_tools(world.routes)
    found = []
    for event in events:
        if isinstance(event.body, ToolReturned) and event.actor == AGENT and event.body.error is None:
            called = events[event.body.call].body
            if isinstance(called, ToolCalled) and called.tool not in reading:
                found.append(called.args)
    return found


def _answers(events: Sequence[Event]) -> list[int]:
    """How long, in virtual microseconds, each answered message of the agent waited for its first answer."""
    waited: dict[int, int] = {}
    for event in events:
        if event.actor == AGENT and isinstance(event.body, MessageReceived):
            answer = events[event.body.message].body
            if isinstance(answer, MessageSent) and answer.reply_to is not None:
                waited.setdefault(answer.reply_to, event.at - events[answer.reply_to].at)
    return list(waited.values())


def _slots(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    for event in events:
        if event.actor == AGENT and isinstance(event.body, MessageReceived):
            told = events[event.body.message]
            if isinstance(told.body, MessageSent):
                yield from ((told.actor, slot) for slot in told.body.gives)


def _interrupts(events: Sequence[Event]) -> Iterator[bool]:
    acts = [event.seq for event in events if event.actor == AGENT and isinstance(event.body, ToolCalled | MessageSent)]
    for event in events:
        if isinstance(event.body, TimelineFired):
            yield bool(acts) and acts[0] < event.seq < acts[-1]


def _is_held_over(record: Record) -> bool:
    return any(isinstance(value, str) and value.lower() in _HELD_OVER for value in record.values())


def _distractors(world: World, writes: Sequence[Json]) -> int:
    """Records beside those that the oracle writes about, each counted once."""
    written = {leaf for args in writes for leaf in leaves(args) if isinstance(leaf, str)}
    near = 0
    for _, table in _tables(world):
        targets = [key for key, record in table.items() if key in written or written & _texts(record)]
        near += sum(
            key not in targets and any(_is_like(record, table[target]) for target in targets)
            for key, record in table.items()
        )
    return near


def _texts(record: Record) -> set[str]:
    return {value for value in record.values() if isinstance(value, str)}


def _is_like(one: Record, other: Record) -> bool:
    """Whether a text or a number of both is the same, or two texts are nearly so."""
    shared = ((value, other[field]) for field, value in one.items() if field in other)
    return any(_alike(value, found) for value, found in shared)


def _alike(value: Json, other: Json) -> bool:
    if isinstance(value, bool) or value in (None, ""):
        return False
    if isinstance(value, str) and isinstance(other, str):
        return value == other or SequenceMatcher(None, value, other).ratio() >= LIKE
    return bool(value == other)
