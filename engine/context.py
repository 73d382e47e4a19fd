"""The operations of an actor, as values that it yields to the kernel.

Knows what can be asked for, and has what is given looked at (`given`). Does not know how the kernel answers.
Each operation is a frozen struct and its own awaitable: `await DoSend(…)` hands it to whoever drives the coroutine, and
gives back what that one sends in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..agents.agent import Answer, Call, Interrupted, Message, Perform, Request, Result
from ..events.event import AGENT, Event, Json
from ..worlds.service import Draw, Tool
from ..worlds.world import World
from . import given

if TYPE_CHECKING:
    from .kernel import Kernel
    from .seats import Seat


class Operation(msgspec.Struct, frozen=True):
    """Something an actor asks of the kernel."""

    def __await__(self) -> Generator[Operation, Any, Any]:
        return (yield self)


class DoCalls(Operation, frozen=True):
    calls: tuple[Call, ...]


class DoSend(Operation, frozen=True):
    to: str
    text: str
    reply_to: int | None
    gives: dict[str, Json]
    mark: str | None


class DoReceive(Operation, frozen=True):
    timeout: int | None
    answers: bool
    """Wake for the answers of started effects, too."""


class DoSleep(Operation, frozen=True):
    duration: int


class DoEffect(Operation, frozen=True):
    request: Request
    perform: Perform
    interruptible: bool
    waits: bool


class DoCancel(Operation, frozen=True):
    effect: int
    reason: str


class DoCut(Operation, frozen=True):
    reason: str
    messages: tuple[int, ...]
    shortened: tuple[int, ...]


class KernelContext:
    """An actor's view of the kernel: `agents.agent.Context`."""

    __slots__ = ("_kernel", "_seat")

    def __init__(self, kernel: Kernel, seat: Seat) -> None:
        self._kernel = kernel
        self._seat = seat

    @property
    def name(self) -> str:
        return self._seat.name

    @property
    def now(self) -> int:
        return self._kernel.now

    @property
    def world(self) -> World:
        return self._kernel.world

    @property
    def tools(self) -> Sequence[Tool]:
        return self._kernel.world.routes.offered(self._seat.name)

    @property
    def people(self) -> Mapping[str, str]:
        return self._kernel.people

    @property
    def past(self) -> Sequence[Event]:
        return self._seat.past

    def draw(self, purpose: str) -> Draw:
        return self._kernel.drawer(self._seat.place, purpose)

    def reached(self, mark: str) -> bool:
        return mark in self._kernel.marks

    def unread(self) -> list[Message]:
        return self._seat.take_unread()

    def call(self, *calls: Call) -> Awaitable[list[Result]]:
        return DoCalls(tuple([given.call(call) for call in calls]))

    def send(
        self,
        to: str,
        text: str,
        *,
        reply_to: int | None = None,
        gives: Mapping[str, Json] | None = None,
        mark: str | None = None,
    ) -> Awaitable[int]:
        return DoSend(
            given.person(to, self._kernel.people, () if self._seat.name == AGENT else self._kernel.seats),
            given.text("the text of context.send()", text),
            given.message(reply_to, self._kernel.events),
            given.gives(gives),
            None if mark is None else given.text("`mark` of context.send()", mark),
        )

    async def receive(self, timeout: int | None = None) -> list[Message]:
        received: tuple[list[Message], dict[int, Answer]] = await DoReceive(_timeout(timeout), False)
        return received[0]

    def receive_or_answers(self, timeout: int | None = None) -> Awaitable[tuple[list[Message], dict[int, Answer]]]:
        return DoReceive(_timeout(timeout), True)

    def sleep(self, duration: int) -> Awaitable[None]:
        return DoSleep(given.span("the duration of context.sleep()", duration))

    def effect(
        self, request: Request, perform: Perform, *, interruptible: bool = False
    ) -> Awaitable[Answer | Interrupted]:
        return DoEffect(given.request(request, perform), perform, bool(interruptible), True)

    def start(self, request: Request, perform: Perform) -> Awaitable[int]:
        return DoEffect(given.request(request, perform), perform, False, False)

    def cancel(self, effect: int, reason: str) -> Awaitable[None]:
        return DoCancel(given.number("the effect of context.cancel()", effect), given.text("the reason", reason))

    def cut(self, reason: str, messages: Sequence[int], shortened: Sequence[int]) -> Awaitable[None]:
        return DoCut(
            given.text("the reason of context.cut()", reason),
            given.numbers("`messages` of context.cut()", messages),
            given.numbers("`shortened` of context.cut()", shortened),
        )


def _timeout(timeout: int | None) -> int | None:
    return None if timeout is None else given.span("the timeout of a receive", timeout)
