"""Figures of streams: how many events of which kind, tokens, and what asynchrony did.

Knows how to count. Does not know what is good. All figures are plain numbers; times are microseconds of virtual time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ..events.event import (
    AGENT,
    ActorWaited,
    ContextCut,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    Event,
    FaultInjected,
    MessageReceived,
    MessageSent,
    ToolCalled,
    ToolReturned,
)


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """What can be counted in one stream, or in several together."""

    streams: int = 0
    events: int = 0
    at: int = 0
    """Virtual time, added up over the streams."""
    types: dict[str, int] = {}
    actors: dict[str, int] = {}
    tools: dict[str, int] = {}
    """Calls, by tool."""
    calls: int = 0
    errors: int = 0
    """Calls that returned an error."""
    messages: int = 0
    unread: int = 0
    delays: int = 0
    """Time from sending to reading, added up."""
    decisions: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    thinking: int = 0
    """Time that answers took, added up."""
    refused: int = 0
    cancelled: int = 0
    """Requests given up before their answer existed."""
    cut: int = 0
    """Answers of which an interruption left a part."""
    overtaken: int = 0
    """Messages read while an answer that was begun before they were sent was still on its way."""
    waits: int = 0
    """Waits that ended without what was waited for."""
    context_cuts: int = 0
    faults: int = 0


def statistics(events: Sequence[Event]) -> Statistics:
    """The figures of one stream."""
    types: dict[str, int] = {}
    actors: dict[str, int] = {}
    tools: dict[str, int] = {}
    for event in events:
        types[event.type] = types.get(event.type, 0) + 1
        actors[event.actor] = actors.get(event.actor, 0) + 1
        if isinstance(event.body, ToolCalled):
            tools[event.body.tool] = tools.get(event.body.tool, 0) + 1
    by_seq = {event.seq: event for event in events}
    reads = [
        (by_seq[e.body.message], e) for e in events if isinstance(e.body, MessageReceived) and e.body.message in by_seq
    ]
    resolved = [event.body for event in events if isinstance(event.body, EffectResolved)]
    cancelled = [(event.at, event.body) for event in events if isinstance(event.body, EffectCancelled)]
    ends = {body.effect: body.due for body in resolved}
    ends |= {body.effect: at + 1 for at, body in cancelled}
    asked = [event for event in events if isinstance(event.body, EffectRequested)]
    sent = [event for event in events if isinstance(event.body, MessageSent)]
    return Statistics(
        streams=1,
        events=len(events),
        at=events[-1].at if events else 0,
        types=types,
        actors=actors,
        tools=tools,
        calls=sum(tools.values()),
        errors=sum(isinstance(e.body, ToolReturned) and e.body.error is not None for e in events),
        messages=len(sent),
        unread=len(sent) - len(reads),
        delays=sum(read.at - was_sent.at for was_sent, read in reads),
        decisions=sum(event.actor == AGENT for event in asked),
        tokens=sum(body.tokens or 0 for body in resolved),
        prompt_tokens=sum(body.prompt_tokens or 0 for body in resolved),
        thinking=sum(body.due - by_seq[body.effect].at for body in resolved if body.effect in by_seq),
        refused=sum(body.refused is not None for body in resolved),
        cancelled=sum(body.paid is None for _, body in cancelled),
        cut=sum(body.paid is not None for _, body in cancelled),
        overtaken=_overtaken(reads, asked, ends),
        waits=sum(isinstance(event.body, ActorWaited) for event in events),
        context_cuts=sum(isinstance(event.body, ContextCut) for event in events),
        faults=sum(isinstance(event.body, FaultInjected) for event in events),
    )


def _overtaken(reads: Sequence[tuple[Event, Event]], asked: Sequence[Event], ends: Mapping[int, int]) -> int:
    """How often a message got past its reader's thinking: sent after the request, read before its answer was due."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for event in asked:
        if event.seq in ends:
            spans.setdefault(event.actor, []).append((event.seq, ends[event.seq]))
    return sum(
        any(seq < sent.seq and read.at < due for seq, due in spans.get(read.actor, ()) if seq < read.seq)
        for sent, read in reads
    )


def together(parts: Iterable[Statistics]) -> Statistics:
    """The sum of figures."""
    total: dict[str, Any] = msgspec.structs.asdict(Statistics())
    for part in parts:
        for name, value in msgspec.structs.asdict(part).items():
            total[name] = _sum(total[name], value)
    return Statistics(**total)


def _sum(one: Any, other: Any) -> Any:
    """The sum of two numbers, or of two counts by name."""
    if isinstance(one, dict):
        return {name: one.get(name, 0) + other.get(name, 0) for name in dict.fromkeys([*one, *other])}
    return one + other
