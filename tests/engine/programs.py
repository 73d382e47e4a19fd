"""Actors that are little programs, and worlds small enough to say what must happen in them.

Knows the operations of an actor's context. Tests and Hypothesis write programs; nothing here checks anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
import trio

from coworkenv.agents.agent import Answer, Call, Context, Outside, Price, Request
from coworkenv.engine.effects import Effects
from coworkenv.engine.kernel import Kernel
from coworkenv.events.chain import GENESIS, link
from coworkenv.events.codec import encode
from coworkenv.events.event import EpisodeStarted, Event
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.world import World

SECOND = 1_000_000
Json = Any

PEOPLE = ("ann", "bob")


class Op(msgspec.Struct, frozen=True):
    """One operation of a program. Times are whole seconds."""


class Calls(Op, frozen=True):
    tools: tuple[str, ...]


class Say(Op, frozen=True):
    to: str
    text: str = ""


class Receive(Op, frozen=True):
    timeout: int | None = None


class Answers(Op, frozen=True):
    timeout: int | None = None


class Sleep(Op, frozen=True):
    seconds: int


class Ask(Op, frozen=True):
    base: int
    per_token: int = 0
    tokens: int = 0
    interruptible: bool = False


class Start(Op, frozen=True):
    base: int
    per_token: int = 0
    tokens: int = 0


class Cancel(Op, frozen=True):
    """Give up the n-th effect that was started, if there was one."""

    place: int


class Program:
    """Does its operations, one after the other. `trace` keeps what it learnt, and when; `closed` hears of its end."""

    def __init__(
        self,
        ops: Sequence[Op],
        perform: Callable[[Request], Awaitable[Outside]] | None = None,
        closed: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._ops = tuple(ops)
        self._perform = perform or answered
        self._closed = closed
        self.trace: list[tuple[int, Any]] = []

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "program", "ops": [repr(op) for op in self._ops]}

    async def act(self, context: Context) -> str:
        started: list[int] = []
        try:
            for op in self._ops:
                learnt = await self._do(op, context, started)
                self.trace.append((context.now, learnt))
        finally:
            self._closed(context.name)
        return "done"

    async def _do(self, op: Op, context: Context, started: list[int]) -> Any:
        match op:
            case Calls(tools):
                return await context.call(*(Call(tool, {}) for tool in tools))
            case Say(to, text):
                return await context.send(to, text)
            case Receive(timeout):
                return await context.receive(None if timeout is None else timeout * SECOND)
            case Answers(timeout):
                return await context.receive_or_answers(None if timeout is None else timeout * SECOND)
            case Sleep(seconds):
                return await context.sleep(seconds * SECOND)
            case Ask():
                return await context.effect(_request(op), self._perform, interruptible=op.interruptible)
            case Start():
                started.append(await context.start(_request(op), self._perform))
                return started[-1]
            case Cancel(place):
                return await context.cancel(started[place], "no longer wanted") if place < len(started) else None
        raise AssertionError(op)


def _request(op: Ask | Start) -> Request:
    price = Price(op.base * SECOND, op.per_token * SECOND)
    settings = {"tokens": op.tokens, "base": price.base, "per_token": price.per_token}
    return Request("model", ({"role": "user", "content": "?"},), settings, price)


async def answered(request: Request, seconds: float = 0.0) -> Outside:
    """A model's answer that is a function of the request."""
    await trio.sleep(seconds)
    tokens = request.settings["tokens"]
    return Outside(Answer(value={"text": "t" * tokens, "calls": [], "stop": "stop"}, tokens=tokens))


def world(*, call: int = 2, message: int = 1, deadline: int = 60, **more: Json) -> World:
    """A store with boxes, two people, and whatever else the test wants. Times are seconds."""
    data: dict[str, Json] = {
        "environment": "coworkenv/1",
        "id": "program",
        "clock": {
            "start": "2026-01-01T00:00",
            "call": f"{call}s",
            "message": f"{message}s",
            "deadline": f"{deadline}s",
        },
        "people": {name: {"role": name} for name in PEOPLE},
        "services": {
            "store": {
                "collections": {
                    "boxes": {"can": ["find", "create"], "fields": {"id": {"type": "id", "new": "B-{n}"}}},
                    "labels": {"fields": {"id": {"type": "id", "new": "L-{n}"}, "box": {"type": "id"}}},
                },
                "tools": {
                    "pack": {
                        "verb": "create",
                        "collection": "boxes",
                        "about": "Makes a box and its label.",
                        "also": [{"create": "labels", "record": {"box": "=record.id"}}],
                    }
                },
            }
        },
        **more,
    }
    return compile_environment(msgspec.convert(data, Environment))


class Steps:
    """Keeps each step as the kernel completes it."""

    replaying = False
    handful = 1

    def __init__(self) -> None:
        self.steps: list[tuple[Event, ...]] = []

    def append(self, events: Sequence[Event]) -> None:
        self.steps.append(tuple(events))

    def observe(self, seq: int, content: bytes, name: str = "response") -> None:
        pass

    async def barrier(self) -> None:
        await trio.lowlevel.checkpoint()


async def run(
    played: World, agent: Any, coworkers: Mapping[str, Any] | None = None, steps: Steps | None = None
) -> Kernel:
    """Run actors to the end of their episode."""
    actors = {"agent": agent, **(coworkers or {})}
    started = EpisodeStarted(environment=played.document, id=played.id, start=played.start.isoformat(), seed=1)
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        kernel = Kernel(played, started, actors, steps or Steps(), Effects(nursery))
        try:
            await kernel.run()
        except Exception as error:
            failure = error
        finally:
            await kernel.close()
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return kernel


def digest(events: Sequence[Event]) -> str:
    last = GENESIS
    for event in events:
        last = link(last, encode(event).data)
    return last.hex()
