"""Whether a stream's events can belong together, so that whoever reads it need not ask at each.

Knows what each kind of event refers to. Does not know worlds, and executes nothing: a coherent stream may still be one
that could not have happened. A sound chain is no proof of it, since an import may come from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from .errors import DamagedStream
from .event import (
    ActorWaited,
    AnyBody,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeStarted,
    Event,
    FaultInjected,
    GradingStarted,
    Json,
    MessageReceived,
    MessageSent,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
    ToolCalled,
    ToolReturned,
)
from .log import Log

LATEST = 400 * 366 * 86_400_000_000
"""Virtual time that no episode reaches: the calendar has room for it after any start that can be written."""


def events_of(log: Log, stream: str, stop: int | None = None) -> list[Event]:
    """The events of a stream, up to and without `stop`. Raises DamagedStream where they do not belong together."""
    events = list(log.read(stream, 0, stop))
    check_coherent(events)
    return events


def check_coherent(events: Sequence[Event]) -> None:
    """Raises DamagedStream at the first event that cannot come where it is."""
    before = 0
    answered: set[int] = set()
    for place, event in enumerate(events):
        try:
            _check(events, place, event, before, answered)
        except _Wrong as wrong:
            says = f"event {place} cannot be where it is: {wrong}; verify the stream, or ask whoever it is from"
            raise DamagedStream(says, seq=place) from None
        before = event.at


_BEGINNINGS = (EpisodeStarted, GradingStarted)
_ALONE = (RecordCreated, RecordChanged, RecordDeleted, ToolCalled)


class _Wrong(Exception):
    """Why an event cannot be where it is."""


def _check(events: Sequence[Event], place: int, event: Event, before: int, answered: set[int]) -> None:
    body = event.body
    if event.seq != place:
        raise _Wrong(f"it says that it is event {event.seq}")
    if not before <= event.at <= LATEST:
        raise _Wrong(f"its time {event.at} is earlier than that of the event before it, or beyond the calendar")
    if event.cause is not None and not 0 <= event.cause < place:
        raise _Wrong(f"its cause, event {event.cause}, does not come before it")
    if isinstance(body, _BEGINNINGS) != (place == 0):
        raise _Wrong("a stream begins once, with its first event")
    if isinstance(body, _ALONE):
        return  # the most frequent, and they refer to no other event
    match body:
        case EpisodeStarted():
            _check_start(body)
        case MessageReceived():
            _refers(events, place, body.message, MessageSent)
        case MessageSent() if body.reply_to is not None:
            _refers(events, place, body.reply_to, MessageSent)
        case ToolReturned() | FaultInjected():
            _refers(events, place, body.call, ToolCalled)
        case EffectResolved() | EffectCancelled():
            _refers(events, place, body.effect, EffectRequested)
        case EffectRequested():
            _check_prompt(body.prompt)
        case ActorWaited() if not 0 <= body.since <= event.at:
            raise _Wrong(f"it says that somebody waited since {body.since}")
    _once(body, answered)


def _refers(events: Sequence[Event], place: int, seq: int, to: type[AnyBody]) -> None:
    if not 0 <= seq < place or not isinstance(events[seq].body, to):
        raise _Wrong(f"it refers to event {seq}, which is no {to.__struct_config__.tag} before it")


def _once(body: AnyBody, answered: set[int]) -> None:
    """A call returns once, and a request is answered once."""
    seq = body.call if isinstance(body, ToolReturned) else body.effect if isinstance(body, EffectResolved) else None
    if seq is not None:
        if seq in answered:
            raise _Wrong(f"event {seq} was answered before")
        answered.add(seq)


def _check_start(body: EpisodeStarted) -> None:
    try:
        start = datetime.fromisoformat(body.start)
        start + timedelta(microseconds=LATEST)
    except (ValueError, OverflowError):
        raise _Wrong(f"{body.start!r:.60} is no date and time that an episode could start at") from None
    if start.tzinfo is None:
        raise _Wrong(f"its start {body.start!r:.60} has no offset")


def _check_prompt(prompt: Sequence[Json]) -> None:
    for part in prompt:
        span = isinstance(part, list | tuple) and len(part) == 2 and all(type(place) is int for place in part)
        if not span and not isinstance(part, Mapping):
            raise _Wrong("its prompt is not made of messages and of spans of the one before it")
