"""What an actor is: an `async def` over a context whose every operation the kernel answers.

Knows the operations an agent or a coworker has. Does not know the kernel that answers them. An actor may await nothing
but these operations: anything else is an error that names the actor. Times are virtual, in microseconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from ..events.event import Event, Json, Refused, ToolError
from ..worlds.service import Draw, Tool
from ..worlds.world import World


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message that has been delivered to the actor."""

    seq: int
    """Its name: the `seq` of its `message.sent`."""
    sender: str
    text: str
    at: int
    """When it arrived."""
    reply_to: int | None = None
    gives: dict[str, Json] = {}
    mark: str | None = None
    media: tuple[Json, ...] = ()


class Call(msgspec.Struct, frozen=True, gc=False):
    tool: str
    args: Json = {}
    normal: bool = False
    """The arguments are as events have them already: they come from the environment and from what tools returned."""


class Result(msgspec.Struct, frozen=True, gc=False):
    """What a call returned. `seq` names the call: the `seq` of its `tool.called`."""

    seq: int
    tool: str
    result: Json = None
    error: ToolError | None = None
    status: int | None = None


class Price(msgspec.Struct, frozen=True):
    """What an answer costs in virtual time: `base + per_token × tokens`, never less than `base`."""

    base: int = 2_000_000
    per_token: int = 20_000

    def of(self, tokens: int) -> int:
        return self.base + self.per_token * tokens

    def tokens(self, time: int) -> int:
        """How many tokens were written in this time."""
        return max(0, time - self.base) // max(1, self.per_token)


class Request(msgspec.Struct, frozen=True):
    """A request to the outside world: `prompt` is all its messages, `settings` whatever else shapes the answer."""

    kind: str
    prompt: tuple[Json, ...] = ()
    settings: Json = {}
    price: Price = Price()


class Answer(msgspec.Struct, frozen=True):
    """What the outside world answered, as the actor learns it."""

    value: Json = None
    """For a model `{"text": str, "calls": [{"name", "args"}], "stop": str}`; `"ids"` where the server gives them."""
    refused: Refused | None = None
    tokens: int | None = None
    prompt_tokens: int | None = None
    counted: str | None = None
    paid: int | None = None
    """Set when a message interrupted the answer: only so many tokens of it were paid for, the rest is gone."""


class Interrupted(msgspec.Struct, frozen=True):
    """A message arrived before the answer could be known; the request was cancelled."""


class Outside(msgspec.Struct, frozen=True):
    """The real answer, as whoever performs the request gives it to the kernel."""

    answer: Answer
    observed: dict[str, Json] = {}
    """What is worth keeping and changes nothing: raw response, log-probabilities, retries, wall-clock latency."""


class Unavailable(Exception):
    """The outside world cannot answer now (connection, 429, 5xx after retries): the episode is suspended."""


class ActorError(Exception):
    """Why an actor cannot go on, in a sentence of ours that is the same in every run: it goes into the log."""


Perform: TypeAlias = Callable[[Request], Awaitable[Outside]]
"""Asks the real world, under trio. Called at most once for a request whose answer is not in the log."""


class Context(Protocol):
    """An actor's hands and eyes. Only `call`, `receive`, `sleep` and `effect` wait; virtual time passes only there."""

    @property
    def name(self) -> str: ...

    @property
    def now(self) -> int:
        """Virtual time."""
        ...

    @property
    def world(self) -> World: ...

    @property
    def tools(self) -> Sequence[Tool]:
        """The services' tools that the actor may call."""
        ...

    @property
    def people(self) -> Mapping[str, str]:
        """Who can be written to, with their role."""
        ...

    @property
    def past(self) -> Sequence[Event]:
        """What it has done and seen before it was put in another's place by a fork; usually nothing."""
        ...

    def draw(self, purpose: str) -> Draw: ...

    def reached(self, mark: str) -> bool:
        """Whether a message with this milestone has been sent."""
        ...

    def call(self, *calls: Call) -> Awaitable[list[Result]]:
        """Run calls one after the other; wakes once, after the last. After an error the rest still run."""
        ...

    def send(
        self,
        to: str,
        text: str,
        *,
        reply_to: int | None = None,
        gives: Mapping[str, Json] | None = None,
        mark: str | None = None,
    ) -> Awaitable[int]:
        """Send a message, and return its `seq` at once. It arrives a message's latency later."""
        ...

    def unread(self) -> list[Message]:
        """Messages delivered since the last look, without waiting."""
        ...

    def receive(self, timeout: int | None = None) -> Awaitable[list[Message]]:
        """Messages delivered since the last look; waits for one, at most `timeout`. Empty when time ran out."""
        ...

    def sleep(self, duration: int) -> Awaitable[None]: ...

    def effect(
        self, request: Request, perform: Perform, *, interruptible: bool = False
    ) -> Awaitable[Answer | Interrupted]:
        """Ask the outside world. With `interruptible`, a message that arrives meanwhile cancels or cuts the answer."""
        ...

    def start(self, request: Request, perform: Perform) -> Awaitable[int]:
        """Ask without waiting; the answer comes with `receive_or_answers`. Returns the effect's `seq`."""
        ...

    def receive_or_answers(self, timeout: int | None = None) -> Awaitable[tuple[list[Message], dict[int, Answer]]]:
        """Like `receive`, and wakes for the answers of effects that were started, too."""
        ...

    def cancel(self, effect: int, reason: str) -> Awaitable[None]:
        """Give up a started effect."""
        ...

    def cut(self, reason: str, messages: Sequence[int], shortened: Sequence[int]) -> Awaitable[None]:
        """Say in the log what the next prompt leaves out."""
        ...


class Actor(Protocol):
    """Whoever acts in a workspace."""

    @property
    def specification(self) -> dict[str, Json]:
        """All that may change what it does: goes into the first event. Rebuilding from it gives the same actor."""
        ...

    async def act(self, context: Context) -> str:
        """Live until done; what it returns is the summary of `actor.finished`. Coworkers live until closed."""
        ...
