"""Projections: whatever is asked of a stream is a pure fold over its events.

Knows how to fold, and a few projections that need no other knowledge. Does not know where events come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

import msgspec

from .event import Event, MessageReceived, MessageSent

S = TypeVar("S")


class Projection(Protocol[S]):
    """A pure fold. States are values: `apply` gives a new one and leaves the old as it was."""

    def start(self) -> S:
        """The state before the first event."""
        ...

    def apply(self, state: S, event: Event) -> S: ...


def fold(projection: Projection[S], events: Iterable[Event], state: S | None = None) -> S:
    """The state after `events`, going on from `state`, or from the start if that is None."""
    current = projection.start() if state is None else state
    apply = projection.apply
    for event in events:
        current = apply(current, event)
    return current


class CountByType:
    """How many events of each type there are, by tag, in order of first appearance."""

    def start(self) -> dict[str, int]:
        return {}

    def apply(self, state: dict[str, int], event: Event) -> dict[str, int]:
        return {**state, event.type: state.get(event.type, 0) + 1}


class Line(msgspec.Struct, frozen=True):
    """One message, as one person's transcript has it: at the virtual time (µs) when it was sent or read there."""

    at: int
    seq: int
    """Of the `message.sent`."""
    sender: str
    to: str
    text: str


class Transcripts(msgspec.Struct, frozen=True):
    """`sent` has all messages by seq; `lines` has those that each actor has sent or read, in that order."""

    sent: dict[int, Line] = {}
    lines: dict[str, tuple[Line, ...]] = {}


class TranscriptByActor:
    """What each actor has said and heard. A message that nobody has read yet is in its sender's transcript only."""

    def start(self) -> Transcripts:
        return Transcripts()

    def apply(self, state: Transcripts, event: Event) -> Transcripts:
        body = event.body
        if isinstance(body, MessageSent):
            line = Line(event.at, event.seq, event.actor, body.to, body.text)
            return Transcripts({**state.sent, event.seq: line}, _with(state.lines, event.actor, line))
        if isinstance(body, MessageReceived) and body.message in state.sent:
            line = msgspec.structs.replace(state.sent[body.message], at=event.at)
            return Transcripts(state.sent, _with(state.lines, event.actor, line))
        return state


def _with(lines: dict[str, tuple[Line, ...]], actor: str, line: Line) -> dict[str, tuple[Line, ...]]:
    return {**lines, actor: (*lines.get(actor, ()), line)}
