"""What the kernel keeps about each actor: its coroutine, its inbox, what it waits for.

Knows one actor's place in an episode. Does not know the heap, the log or the other actors.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec
import trio

from ..agents.agent import Actor, Answer, Call, Message, Outside, Request
from ..events.event import EffectResolved, Event, MessageReceived, MessageSent
from .context import Operation

Waiting: TypeAlias = Literal["", "start", "calls", "receive", "answers", "sleep", "effect", "ended"]


class ForeignAwait(Exception):
    """An actor awaited something that is not an operation of its context."""


class ActorClosed(BaseException):
    """Raised inside an actor when its episode is over; like a cancellation, not for it to catch."""


class Pending(msgspec.Struct):
    """A request to the outside world that its actor has not learnt the answer of."""

    seq: int
    seat: Seat
    request: Request
    start: int
    bound: int
    waits: bool
    interruptible: bool
    answered: tuple[EffectResolved, Outside | None] | None = None
    resolved: int = -1
    """The `seq` of its `effect.resolved`."""


class Batch(msgspec.Struct):
    """The calls of one decision, run one after the other."""

    calls: tuple[Call, ...]
    results: list[Any]


class Seat:
    """An actor and what it waits for."""

    __slots__ = (
        "actor",
        "answers",
        "batch",
        "cause",
        "coroutine",
        "effect",
        "items",
        "name",
        "past",
        "place",
        "prompts",
        "since",
        "unread",
        "wait",
        "waits",
    )

    def __init__(self, name: str, place: int, actor: Actor) -> None:
        self.name = name
        self.place = place
        self.actor = actor
        self.coroutine: Coroutine[Operation, Any, str] | None = None
        self.unread: list[Message] = []
        self.past: Sequence[Event] = ()
        self.wait: Waiting = "start"
        self.waits = 0
        """How often it has waited: a timer of an older wait is stale."""
        self.since = 0
        self.items = 0
        """Heap items it has created: the last word in their order."""
        self.cause = 0
        """The event that it last learnt of."""
        self.effect: Pending | None = None
        self.batch: Batch | None = None
        self.answers: dict[int, Answer] = {}
        self.prompts: dict[str, list[bytes]] = {}
        """Fingerprints of the last prompt of each kind."""

    def take_unread(self) -> list[Message]:
        messages, self.unread = self.unread, []
        return messages

    def take_answers(self) -> dict[int, Answer]:
        answers, self.answers = self.answers, {}
        return answers

    @property
    def ended(self) -> bool:
        return self.wait == "ended"


def message_of(events: Sequence[Event], received: Event) -> Message:
    """A message as its recipient got it, out of the stream that has its `message.sent`."""
    assert isinstance(received.body, MessageReceived)
    sent = events[received.body.message]
    body = sent.body
    assert isinstance(body, MessageSent)
    return Message(sent.seq, sent.actor, body.text, received.at, body.reply_to, body.gives, body.mark, body.media)


async def unwind(
    seat: Seat, coroutine: Coroutine[Operation, Any, str] | None, error: BaseException, foreign: Any = None
) -> None:
    """End an actor by raising `error` in its coroutine, however it takes that.

    `foreign` is what it awaits, where that is not an operation.
    What it awaits on its way out is its own affair: operations raise again and append nothing, and what belongs to trio
    is handed to trio, so that a nursery the actor should not have opened closes as it must.
    """
    seat.coroutine = None
    seat.wait = "ended"
    if coroutine is None:
        return
    with trio.CancelScope(shield=True):
        try:
            await _taken_back(foreign)
            yielded = coroutine.throw(error)
            for _ in range(1000):
                if isinstance(yielded, Operation):
                    yielded = coroutine.throw(ActorClosed())
                else:
                    yielded = await _through(coroutine, yielded)
            coroutine.close()
        except (ActorClosed, Exception):
            pass  # it returned, or raised something of its own while it was being closed: it is over either way


async def _taken_back(foreign: Any) -> None:
    """Have trio forget what an actor waits for, or it would wake this task for it, at whatever that waits for then."""
    if not hasattr(foreign, "abort_func"):
        return
    with trio.CancelScope() as scope:
        scope.cancel()
        with suppress(Exception):
            (await _Trap(foreign)).unwrap()


async def _through(coroutine: Coroutine[Any, Any, Any], yielded: Any) -> Any:
    """Let trio answer what the actor yielded, and give the actor that answer."""
    try:
        value = await _Trap(yielded)
    except BaseException as error:
        return coroutine.throw(error)
    return coroutine.send(value)


class _Trap:
    def __init__(self, yielded: Any) -> None:
        self._yielded = yielded

    def __await__(self) -> Any:
        return (yield self._yielded)
