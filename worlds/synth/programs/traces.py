"""What each step of a program did and came to see, read from the stream that playing it gave.

Knows steps and events. Does not play anything: it follows the stream as the player (`agents.steps`) went through the
steps, so that programs can be made of what was really said and written.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ....events.event import (
    AGENT,
    ActorWaited,
    Body,
    Event,
    Json,
    MessageReceived,
    MessageSent,
    ToolCalled,
    ToolReturned,
)
from ...environment import Step
from ...facts import FactError, Seen, filled
from ...world import World
from ..validators.dataflow import labels

PATIENCE = 5
"""How often the player makes a call that is told to come back later."""


class Act(msgspec.Struct, frozen=True):
    """One call or message."""

    seq: int
    subject: str
    """The tool, or the person."""
    args: dict[str, Json] = {}
    text: str = ""


class Taken(msgspec.Struct, frozen=True):
    """What came of one step."""

    step: Step
    label: str
    place: int
    acts: tuple[Act | None, ...] = ()
    """One for each item of `each`, else one; None where the step's condition was false."""
    value: Json = None

    @property
    def done(self) -> bool:
        """Whether it called or said something."""
        return any(act is not None for act in self.acts)


class _Lost(Exception):
    """The stream does not go on as the steps do: the agent failed, or the episode was over."""


def trace(world: World, steps: Sequence[Step], events: Sequence[Event]) -> tuple[Taken, ...]:
    """What each step did, as far as the program came."""
    follower = _Follower(world, events)
    taken: list[Taken] = []
    try:
        for place, (label, step) in enumerate(zip(labels(steps), steps, strict=True)):
            acts, value = follower.step(step)
            taken.append(Taken(step, label, place, acts, value))
            if step.name is not None:
                follower.scope[f"@{step.name}"] = value
    except (_Lost, FactError):
        pass
    return tuple(taken)


class _Follower:
    """A place in a stream, the messages that nobody has taken yet, and the values of steps."""

    def __init__(self, world: World, events: Sequence[Event]) -> None:
        self.scope = Seen()
        self._inbox: list[tuple[str, MessageSent]] = []
        self._openings = [(opening.sender, opening.text) for opening in world.openings]
        self._sent = {event.seq: (event.actor, event.body) for event in events if isinstance(event.body, MessageSent)}
        self._returned = {event.body.call: event.body for event in events if isinstance(event.body, ToolReturned)}
        kinds = (ToolCalled, MessageSent, MessageReceived, ActorWaited)
        self._events = [event for event in events if event.actor == AGENT and isinstance(event.body, kinds)]
        self._next = 0

    def step(self, step: Step) -> tuple[tuple[Act | None, ...], Json]:
        """What a step did, and its value. Raises `_Lost`, `FactError`."""
        if step.each is None:
            act, value = self._once(step)
            return (act,), value
        items = self._value(step.each) or []
        if step.call is not None:
            return self._calls(step, items)
        pairs = [self._once(step, item) for item in items]
        return tuple(act for act, _ in pairs), [value for _, value in pairs]

    def _once(self, step: Step, *item: Json) -> tuple[Act | None, Json]:
        if step.condition is not None and not self._value(step.condition, *item):
            return None, None
        if step.calc is not None:
            return None, self._value(step.calc, *item)
        if step.call is not None:
            act = self._call()
            return act, self._settled(act)
        if step.wait is not None:
            return None, self._heard(self._fill(step.wait, *item))
        event = self._expect(MessageSent)
        assert isinstance(event.body, MessageSent)
        act = Act(event.seq, event.body.to, text=event.body.text)
        return act, {"text": act.text} if step.ask is None else self._heard(act.subject, act.seq)

    def _calls(self, step: Step, items: Sequence[Json]) -> tuple[tuple[Act | None, ...], Json]:
        acts = [self._call() if self._wanted(step, item) else None for item in items]
        return tuple(acts), [None if act is None else self._settled(act) for act in acts]

    def _wanted(self, step: Step, item: Json) -> bool:
        return step.condition is None or bool(self._value(step.condition, item))

    def _call(self) -> Act:
        event = self._expect(ToolCalled)
        assert isinstance(event.body, ToolCalled)
        return Act(event.seq, event.body.tool, args=event.body.args)

    def _settled(self, act: Act) -> Json:
        seq = act.seq
        for _ in range(PATIENCE - 1):
            returned = self._returned.get(seq)
            if returned is None or returned.error is None or returned.error.retry_after is None:
                break
            seq = self._expect(ToolCalled).seq
        if seq not in self._returned:
            raise _Lost
        return self._returned[seq].result

    def _heard(self, person: str, question: int | None = None) -> Json:
        """The message that a step waited for; null where its time was up first."""
        while True:
            for index, (sender, message) in enumerate(self._inbox):
                if sender == person and (question is None or message.reply_to == question):
                    del self._inbox[index]
                    return {"text": message.text, **message.gives}
            if self._next < len(self._events) and isinstance(self._events[self._next].body, MessageReceived):
                self._receive()
                continue
            if self._next < len(self._events) and isinstance(self._events[self._next].body, ActorWaited):
                self._next += 1
            return None

    def _expect(self, kind: type[Body]) -> Event:
        """The next thing of this kind that the agent did; messages that came before it lie in the inbox."""
        while self._next < len(self._events):
            event = self._events[self._next]
            if isinstance(event.body, MessageReceived):
                self._receive()
                continue
            self._next += 1
            if isinstance(event.body, kind):
                return event
        raise _Lost

    def _receive(self) -> None:
        received = self._events[self._next].body
        assert isinstance(received, MessageReceived)
        sender, message = self._sent[received.message]
        self._next += 1
        if (sender, message.text) in self._openings:
            self._openings.remove((sender, message.text))
        else:
            self._inbox.append((sender, message))

    def _value(self, expression: str, *item: Json) -> Json:
        return self._fill(f"={expression}", *item)

    def _fill(self, value: Json, *item: Json) -> Json:
        if item:
            self.scope["it"] = item[0]
        try:
            return filled(value, self.scope)
        finally:
            self.scope.pop("it", None)
