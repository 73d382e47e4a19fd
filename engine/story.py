"""What happened in an episode, as moments that fit on one line each.

Knows which events belong together: a call and its return, a message sent and read, a request and its answer. Does not
know lanes, colours or screens. What begins and ends with nothing in between is one moment; otherwise it is two, so that
the gap is seen. Texts are as the log has them: who draws them makes them printable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from ..events.event import (
    ActorFailed,
    ActorFinished,
    ActorWaited,
    ContextCut,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeEnded,
    EpisodeForked,
    EpisodeStarted,
    Event,
    FaultInjected,
    Json,
    MessageReceived,
    MessageSent,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
    TimelineFired,
    ToolCalled,
    ToolReturned,
)
from .clocks import length
from .printable import brief

Role: TypeAlias = Literal["plain", "quiet", "said", "tool", "good", "bad", "record", "mark", "time", "strong"]
Word: TypeAlias = tuple[Role, str]
Kind: TypeAlias = Literal[
    "sent", "read", "said", "called", "returned", "did", "thought", "cut short", "happened", "line"
]


class Moment(msgspec.Struct, kw_only=True):
    """One line of the story. `said` and `did` are whole: begun and ended here."""

    kind: Kind
    seqs: list[int]
    at: int
    """Virtual time of the first of its events."""
    actor: str
    peer: str | None = None
    """Who is written to, or whose message is read."""
    subject: int | None = None
    """The event that it is about: the message, call or request."""
    words: list[Word]
    then: list[Word] = []
    """What came of it; on a line of its own where both do not fit on one."""
    busy: tuple[Literal["thinking", "calling"], int] | None = None
    """What its actor does from here on, and until which virtual time."""


def story(events: Sequence[Event]) -> list[Moment]:
    """The moments of a stream, in the order of their first events."""
    teller = _Teller(events)
    for event in events:
        teller.tell(event)
    return _joined(teller.moments)


class _Teller:
    def __init__(self, events: Sequence[Event]) -> None:
        self.moments: list[Moment] = []
        self._events = {event.seq: event for event in events}
        self._returns = {e.body.call: e for e in events if isinstance(e.body, ToolReturned)}
        self._reads = {e.body.message: e for e in events if isinstance(e.body, MessageReceived)}
        self._answers = {e.body.effect: e for e in events if isinstance(e.body, EffectResolved)}
        self._ends = {e.body.effect: e for e in events if isinstance(e.body, EffectCancelled)}
        self._records: dict[int, list[Word]] = {}
        self._faults: dict[int, list[Word]] = {}

    def tell(self, event: Event) -> None:
        teller = _TELLERS.get(type(event.body))
        if teller is not None:
            teller(self, event, event.body)

    def _add(self, kind: Kind, event: Event, words: list[Word], **more: Any) -> Moment:
        moment = Moment(kind=kind, seqs=[event.seq], at=event.at, actor=event.actor, words=words, **more)
        self.moments.append(moment)
        return moment

    def _started(self, event: Event, body: EpisodeStarted) -> None:
        who = str(body.agent.get("kind", "?"))
        words: list[Word] = [("strong", f"{body.id} "), ("quiet", f"begins; agent {who}, seed {body.seed}")]
        self._add("happened", event, words)

    def _sent(self, event: Event, body: MessageSent) -> None:
        words: list[Word] = [("said", f"“{body.text}”")]
        then: list[Word] = []
        if body.gives:
            then.append(("good", f"gives {', '.join(body.gives)} "))
        if body.mark:
            then.append(("mark", f"✓ {body.mark} "))
        if event.seq not in self._reads:
            then.append(("quiet", "never read"))
        self._add("sent", event, words, then=then, peer=body.to, subject=event.seq)

    def _received(self, event: Event, body: MessageReceived) -> None:
        sent = self._events.get(body.message)
        if sent is None or not isinstance(sent.body, MessageSent):
            return
        words: list[Word] = [
            ("quiet", f"reads {body.message} "),
            ("time", f"{length(event.at - sent.at)} later "),
            ("quiet", f"“{sent.body.text}”"),
        ]
        self._add("read", event, words, peer=sent.actor, subject=body.message)

    def _called(self, event: Event, body: ToolCalled) -> None:
        words: list[Word] = [("tool", body.tool)]
        if body.args not in ({}, None):
            words.append(("plain", f" {brief(body.args, 60)}"))
        returned = self._returns.get(event.seq)
        until = returned.at if returned else event.at
        self._add("called", event, words, subject=event.seq, busy=("calling", until) if returned else None)

    def _returned(self, event: Event, body: ToolReturned) -> None:
        called = self._events[body.call]
        took = length(event.at - called.at)
        then: list[Word] = [("quiet", "→ "), ("time", f"{took} "), *self._faults.pop(body.call, [])]
        records = self._records.pop(body.call, [])
        if body.error is not None:
            then.append(("bad", f"✗ {body.error.type}: {body.error.message}"))
        elif not records:
            then.append(("good", _result(body.result)))
        words: list[Word] = [("quiet", f"{body.call} returns")]
        self._add("returned", event, words, then=[*then, *records], subject=body.call)

    def _record(self, event: Event, body: RecordCreated | RecordChanged | RecordDeleted) -> None:
        where = f"{body.service}.{body.collection}:{body.key}"
        words: list[Word] = [("record", f"✎ {where} "), ("plain", f"{_done(body)} ")]
        cause = self._events.get(-1 if event.cause is None else event.cause)
        if cause is not None and isinstance(cause.body, ToolCalled):
            self._records.setdefault(cause.seq, []).extend(words)
        else:
            self._add("happened", event, words)

    def _fault(self, event: Event, body: FaultInjected) -> None:
        self._faults.setdefault(body.call, []).append(("bad", f"fault {body.kind} "))

    def _requested(self, event: Event, body: EffectRequested) -> None:
        if body.kind == "foreign":
            return  # its call tells what it returned
        answer, end = self._answers.get(event.seq), self._ends.get(event.seq)
        doing = {"model": "thinks", "human": "asks a human", "judge": "is judged"}.get(body.kind, body.kind)
        words: list[Word] = [("strong", doing)]
        then: list[Word] = []
        until = body.bound
        if answer is not None and isinstance(answer.body, EffectResolved):
            until = answer.body.due
            words.append(("time", f" {length(until - event.at)}"))
            if answer.body.tokens is not None:
                words.append(("quiet", f" · {answer.body.tokens} tokens"))
            then = _answer(answer.body)
        elif end is None:
            words.append(("bad", " (no answer yet)"))
        if end is not None:
            until = min(until, end.at)
        moment = self._add("thought", event, words, then=then, subject=event.seq, busy=("thinking", until))
        if answer is not None:
            moment.seqs.append(answer.seq)

    def _cancelled(self, event: Event, body: EffectCancelled) -> None:
        asked = self._events.get(body.effect)
        words: list[Word] = [("bad", f"{body.effect} cut short"), ("quiet", f": {body.reason}")]
        if asked is not None:
            words.append(("time", f", after {length(event.at - asked.at)}"))
        if body.paid is not None:
            words.append(("quiet", f"; {body.paid} tokens were written"))
        self._add("cut short", event, words, subject=body.effect)

    def _fired(self, event: Event, body: TimelineFired) -> None:
        self._add("happened", event, [("strong", f"◆ {body.name}")])

    def _waited(self, event: Event, body: ActorWaited) -> None:
        self._add("happened", event, [("quiet", f"waited {length(event.at - body.since)} in vain")])

    def _context(self, event: Event, body: ContextCut) -> None:
        cut = f"context cut: {len(body.messages)} left out, {len(body.shortened)} shortened"
        self._add("happened", event, [("bad", cut), ("quiet", f" ({body.reason})")])

    def _finished(self, event: Event, body: ActorFinished) -> None:
        self._add("happened", event, [("strong", "finishes "), ("said", f"“{body.summary}”" if body.summary else "")])

    def _failed(self, event: Event, body: ActorFailed) -> None:
        self._add("happened", event, [("bad", f"fails: {body.error} "), ("plain", body.message)])

    def _forked(self, event: Event, body: EpisodeForked) -> None:
        changes = "; ".join(f"{name}: {brief(value, 50)}" for name, value in body.changes.items()) or "nothing"
        self._add("line", event, [("mark", f"forked from {body.parent} at {body.seq} "), ("plain", f"({changes})")])

    def _ended(self, event: Event, body: EpisodeEnded) -> None:
        detail = f": {body.detail}" if body.detail else ""
        self._add("happened", event, [("strong", f"ends, {body.reason}"), ("quiet", detail)])


_TELLERS: Mapping[type, Callable[[_Teller, Event, Any], None]] = {
    EpisodeStarted: _Teller._started,
    MessageSent: _Teller._sent,
    MessageReceived: _Teller._received,
    ToolCalled: _Teller._called,
    ToolReturned: _Teller._returned,
    RecordCreated: _Teller._record,
    RecordChanged: _Teller._record,
    RecordDeleted: _Teller._record,
    FaultInjected: _Teller._fault,
    EffectRequested: _Teller._requested,
    EffectCancelled: _Teller._cancelled,
    TimelineFired: _Teller._fired,
    ActorWaited: _Teller._waited,
    ContextCut: _Teller._context,
    ActorFinished: _Teller._finished,
    ActorFailed: _Teller._failed,
    EpisodeForked: _Teller._forked,
    EpisodeEnded: _Teller._ended,
}


def _done(body: RecordCreated | RecordChanged | RecordDeleted) -> str:
    if isinstance(body, RecordCreated):
        return "created"
    if isinstance(body, RecordDeleted):
        return "deleted"
    changes = [f"{name} = {brief(value, 24)}" for name, value in body.set.items()]
    return ", ".join([*changes, *(f"no {name}" for name in body.unset)])


def _result(result: Json) -> str:
    """A result in a few words: how many, where it is a list of many."""
    if isinstance(result, list):
        if len(result) != 1:
            return f"{len(result)} items" if result else "nothing"
        return brief(result[0])
    return "nothing" if result is None or result == {} else brief(result)


def _answer(body: EffectResolved) -> list[Word]:
    """What was answered: calls, words, or a refusal."""
    if body.refused is not None:
        return [("bad", f"✗ {body.refused.type}: {body.refused.message}")]
    words: list[Word] = []
    if isinstance(body.answer, dict):
        calls = body.answer.get("calls") or []
        if calls:
            words.append(("good", f"→ {len(calls)} call{'s' if len(calls) > 1 else ''} "))
        if body.answer.get("text"):
            words.append(("said", f"“{body.answer['text']}”"))
    return words


def _joined(moments: Sequence[Moment]) -> list[Moment]:
    """Make one moment of a beginning and the end that follows it at once."""
    joined: list[Moment] = []
    for moment in moments:
        before = joined[-1] if joined else None
        pair = (before.kind, moment.kind) if before and before.subject == moment.subject else None
        if before is not None and pair == ("sent", "read"):
            joined[-1] = msgspec.structs.replace(before, kind="said", seqs=before.seqs + moment.seqs)
        elif before is not None and pair == ("called", "returned"):
            seqs = list(range(before.seqs[0], moment.seqs[-1] + 1))
            joined[-1] = msgspec.structs.replace(before, kind="did", seqs=seqs, then=moment.then, busy=None)
        else:
            joined.append(moment)
    return joined
