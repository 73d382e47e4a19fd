"""What a coworker decides: which replies a message gets, when they are sent, and what is kept back.

Knows a person's rules and what has passed between them and the agent so far, as a value (`Mind`). Does not know how
messages travel, who words them, or any clock: the time is an argument. A decision is a pure function, so it can be
made again in a replay.

* A message is answered by all rules whose words it has, in one reply (their texts joined, their slots merged), sent
  after the longest of their `after`s. Only if two of them reach milestones are there several replies: one a milestone.
* A message with the words of more than two rules is fishing: it opens no fact that needs a specific question.
* A fact that is never told is declined: its rule's `say`, without slots or milestone. Someone absent stays silent.
* A fact with a wrong first version is told wrongly until the agent, having heard that, doubts it.
* `otherwise` answers a message that no rule answers, unless the person is absent for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from ..events.event import AGENT, Json
from .durations import Microseconds, microseconds
from .environment import Disclosure, Person, Reply
from .matching import Needle, Reading, as_read, needle

Reached: TypeAlias = Callable[[str], bool]
"""Whether a milestone has been reached."""

FISHING = 2
"""A message with the words of more rules than that opens no fact that needs a specific question."""


class Rule(msgspec.Struct, frozen=True):
    """One `Reply`, compiled."""

    reply: Reply
    any: tuple[Needle, ...]
    all: tuple[Needle, ...]
    challenge: tuple[Needle, ...]
    after: Microseconds

    def is_heard_in(self, reading: Reading) -> bool:
        if not (self.any or self.all):
            return False
        return (not self.any or any(found(reading) for found in self.any)) and all(found(reading) for found in self.all)

    def is_doubted_in(self, reading: Reading) -> bool:
        return any(found(reading) for found in self.challenge)


class Rulebook(msgspec.Struct, frozen=True):
    """A person's rules, compiled once for many messages."""

    rules: tuple[Rule, ...]
    otherwise: str | None
    after: Microseconds


class Part(msgspec.Struct, frozen=True):
    """What one rule contributes to a reply. `rule` is its place in the file; None for `otherwise`."""

    rule: int | None
    say: str
    after: Microseconds
    gives: dict[str, Json] = {}
    mark: str | None = None
    first: bool = False
    """It is the wrong first version."""


class Planned(msgspec.Struct, frozen=True):
    """A reply on its way: to be sent at `due` unless it is withdrawn before."""

    id: int
    to: str
    text: str
    due: Microseconds
    reply_to: int | None = None
    gives: dict[str, Json] = {}
    mark: str | None = None
    parts: tuple[Part, ...] = ()


class Mind(msgspec.Struct, frozen=True):
    """All that a coworker remembers."""

    waiting: tuple[Planned, ...] = ()
    """Replies on their way, in the order in which they were decided."""
    said: tuple[int, ...] = ()
    """Rules whose words have been sent."""
    misled: tuple[int, ...] = ()
    """Rules whose wrong first version has been sent."""
    challenged: tuple[int, ...] = ()
    """Rules whose wrong first version has been doubted."""
    next: int = 0
    """Number of the next reply."""


class Decision(msgspec.Struct, frozen=True):
    """What follows from one message."""

    replies: tuple[Planned, ...] = ()
    """Newly on their way, with what is left of replies that were withdrawn in part."""
    withdrawn: tuple[int, ...] = ()
    """No longer on their way."""


def rulebook(person: Person) -> Rulebook:
    """Compile a person. Raises `durations.DurationError`."""
    return Rulebook(tuple(_rule(reply) for reply in person.replies), person.otherwise, microseconds(person.after))


def _rule(reply: Reply) -> Rule:
    words, every, doubts = (tuple(map(needle, values)) for values in (reply.any, reply.all, reply.challenge))
    return Rule(reply, words, every, doubts, microseconds(reply.after))


def wake(book: Rulebook, mind: Mind, at: Microseconds, to: str = AGENT) -> tuple[Mind, Decision]:
    """At the start: what the person says unasked. Each fact is a message of its own, at its own time."""
    replies: list[Planned] = []
    for place, rule in enumerate(book.rules):
        if rule.reply.tells == "volunteers" and rule.reply.needs is None:
            planned, mind = _plan(mind, [_part(place, rule, False)], to, at, None)
            replies += planned
    return mind, Decision(tuple(replies))


def hear(
    book: Rulebook, mind: Mind, text: str, sender: str, seq: int, at: Microseconds, reached: Reached
) -> tuple[Mind, Decision]:
    """Decide on a message that has just been delivered. `seq` names it, for `reply_to`."""
    said = as_read(text)
    doubted = [place for place in mind.misled if place not in mind.challenged and book.rules[place].is_doubted_in(said)]
    mind = msgspec.structs.replace(mind, challenged=(*mind.challenged, *doubted)) if doubted else mind
    heard = [(place, rule) for place, rule in enumerate(book.rules) if place in doubted or rule.is_heard_in(said)]
    answering = [
        (place, rule)
        for place, rule in heard
        if _is_open(rule, len(heard), reached) and (place in doubted or not _is_used_up(place, rule, mind))
    ]
    cancelled = [name for _, rule in answering for name in rule.reply.cancels]
    mind, withdrawn, kept = _withdraw(
        mind, [place for place, rule in enumerate(book.rules) if rule.reply.name in cancelled]
    )
    parts = [
        _part(place, rule, _is_wrong(place, rule, mind)) for place, rule in answering if rule.reply.tells != "absent"
    ]
    if not answering and book.otherwise is not None:
        parts = [Part(None, book.otherwise, book.after)]
    planned, mind = _plan(mind, parts, sender, at, seq)
    return mind, Decision((*kept, *planned), withdrawn)


def due(mind: Mind, now: Microseconds) -> tuple[Mind, tuple[Planned, ...]]:
    """The replies that are to be sent by now, earliest first; they are no longer on their way."""
    ready = sorted((reply for reply in mind.waiting if reply.due <= now), key=lambda reply: (reply.due, reply.id))
    if not ready:
        return mind, ()
    sent = [part for reply in ready for part in reply.parts if part.rule is not None]
    mind = msgspec.structs.replace(
        mind,
        waiting=tuple(reply for reply in mind.waiting if reply.due > now),
        said=_joined(mind.said, (part.rule for part in sent)),
        misled=_joined(mind.misled, (part.rule for part in sent if part.first)),
    )
    return mind, tuple(ready)


def next_due(mind: Mind) -> Microseconds | None:
    """When the next reply is to be sent, if one is on its way."""
    return min((reply.due for reply in mind.waiting), default=None)


def _joined(old: tuple[int, ...], new: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(dict.fromkeys([*old, *(rule for rule in new if rule is not None)]))


def _is_open(rule: Rule, heard: int, reached: Reached) -> bool:
    """Whether a rule may answer a message that `heard` rules have words of."""
    if rule.reply.tells == "on_specific_ask" and heard > FISHING:
        return False
    return rule.reply.needs is None or reached(rule.reply.needs)


def _is_used_up(place: int, rule: Rule, mind: Mind) -> bool:
    """Whether a rule that answers once has answered, or is about to."""
    if not rule.reply.once:
        return False
    return place in mind.said or any(part.rule == place for waiting in mind.waiting for part in waiting.parts)


def _is_wrong(place: int, rule: Rule, mind: Mind) -> bool:
    return (
        rule.reply.tells == "wrong_until_challenged" and rule.reply.first is not None and place not in mind.challenged
    )


def _part(place: int, rule: Rule, wrong: bool) -> Part:
    reply = rule.reply
    if wrong:
        assert reply.first is not None
        return Part(place, reply.first.say, rule.after, reply.first.gives, first=True)
    tells: Disclosure = reply.tells
    if tells == "never":
        return Part(place, reply.say, rule.after)
    return Part(place, reply.say, rule.after, reply.gives, reply.mark)


def _plan(
    mind: Mind, parts: Sequence[Part], to: str, at: Microseconds, reply_to: int | None
) -> tuple[list[Planned], Mind]:
    """The replies that say these parts, all at the time of the slowest."""
    parts = [part for part in parts if part.say or part.gives or part.mark is not None]
    moment = at + max((part.after for part in parts), default=0)
    replies = [
        _reply(mind.next + number, group, to, moment, reply_to) for number, group in enumerate(_by_milestone(parts))
    ]
    mind = msgspec.structs.replace(mind, waiting=(*mind.waiting, *replies), next=mind.next + len(replies))
    return replies, mind


def _by_milestone(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts in order, cut so that no group reaches two milestones: a message has room for one."""
    groups: list[list[Part]] = []
    for part in parts:
        full = part.mark is not None and groups and any(other.mark not in (None, part.mark) for other in groups[-1])
        if full or not groups:
            groups.append([])
        groups[-1].append(part)
    return groups


def _reply(number: int, parts: Sequence[Part], to: str, moment: Microseconds, reply_to: int | None) -> Planned:
    gives: dict[str, Json] = {}
    for part in parts:
        gives.update(part.gives)
    mark = next((part.mark for part in parts if part.mark is not None), None)
    text = " ".join(part.say for part in parts if part.say)
    return Planned(number, to, text, moment, reply_to, gives, mark, tuple(parts))


def _withdraw(mind: Mind, rules: Sequence[int]) -> tuple[Mind, tuple[int, ...], tuple[Planned, ...]]:
    """Take back what waits of these rules: the mind without, replies that wait no longer, and what is left of them."""
    gone = [reply for reply in mind.waiting if any(part.rule in rules for part in reply.parts)]
    if not gone:
        return mind, (), ()
    left = [(reply, [part for part in reply.parts if part.rule not in rules]) for reply in gone]
    kept = [
        _reply(mind.next + number, parts, reply.to, reply.due, reply.reply_to)
        for number, (reply, parts) in enumerate((reply, parts) for reply, parts in left if parts)
    ]
    waiting = (*(reply for reply in mind.waiting if reply not in gone), *kept)
    mind = msgspec.structs.replace(mind, waiting=waiting, next=mind.next + len(kept))
    return mind, tuple(reply.id for reply in gone), tuple(kept)
