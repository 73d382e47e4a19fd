"""What a stream can go on with: its own answers, and those of the episodes that it was forked from.

Knows streams and their parents. Does not execute anything. A fork finds requests on their way; where its parent was
told the answer, before or after the fork, it is the fork's answer too, with what was observed of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ..events.codec import decode_many
from ..events.errors import NotFound
from ..events.event import EffectResolved, EpisodeForked, Event
from ..events.log import Log
from .effects import Journal
from .plan import forks_of, journal_of

_Told: TypeAlias = tuple[int, EffectResolved]
"""The `seq` of an answer, and the answer."""


def known(log: Log, stream: str, events: Sequence[Event], until: int | None = None) -> Journal:
    """The answers with which `stream` can go on; with `until`, those with which a fork at that event can.

    Where a parent was deleted, or lies in another log, what only it was told is asked again.
    """
    own = journal_of(events, until)
    resolved = dict(own.resolved)
    observed = {} if until is None else _observed(log, stream, _later(events, until))
    for seq, forked in reversed(forks_of(events)):
        if until is None or seq <= until:
            theirs = [told for told in _told_to_parent(log, forked) if told[1].effect not in resolved]
            observed |= _observed(log, forked.parent, theirs)
            resolved |= {answer.effect: answer for _, answer in theirs}
    return Journal(resolved, own.cancelled, observed)


def _told_to_parent(log: Log, forked: EpisodeForked) -> list[_Told]:
    """The parent's answers to requests that were on their way at the fork."""
    try:
        raw = list(log.read_raw(forked.parent))
    except NotFound:
        return []
    if len(raw) <= forked.seq or raw[forked.seq][2].hex() != forked.digest:
        return []  # Another stream of the same name.
    return _later(decode_many([data for _, data, _ in raw], log.blob), forked.seq)


def _later(events: Iterable[Event], seq: int) -> list[_Told]:
    """Answers behind event `seq` to requests up to it."""
    answers = ((event.seq, event.body) for event in events if isinstance(event.body, EffectResolved))
    return [(place, answer) for place, answer in answers if answer.effect <= seq < place]


def _observed(log: Log, stream: str, answers: Sequence[_Told]) -> dict[int, bytes]:
    """What was observed with some answers of `stream`, by the `seq` of their request."""
    effects = {place: answer.effect for place, answer in answers}
    if not effects:
        return {}
    return {effects[seen.seq]: seen.content for seen in log.observations(stream) if seen.seq in effects}
