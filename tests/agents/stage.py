"""A stage for one actor: its context, answered at once and in order, without a kernel.

Services are real and records change; people, arrivals and the outside world are what the test says. Virtual time goes
on as the kernel would let it, but nothing else happens meanwhile. Where an actor would wait for ever, the play is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

import msgspec

from coworkenv.agents.agent import Actor, Answer, Call, Interrupted, Message, Perform, Request, Result
from coworkenv.engine.draw import Drawer
from coworkenv.events.event import Event, ToolError
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.document import parse
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.records import initial_state
from coworkenv.worlds.service import Instant, Outcome, Tool
from coworkenv.worlds.world import World

SECOND = 1_000_000
MINUTE = 60 * SECOND


def world_of(text: str, twin: str | None = None) -> World:
    """The world of an environment file's text."""
    return compile_environment(msgspec.convert(parse(text), Environment), twin)


class Idle(Exception):
    """Nothing will ever happen to the actor again."""


class Sent(msgspec.Struct, frozen=True):
    seq: int
    at: int
    to: str
    text: str
    reply_to: int | None = None
    gives: dict[str, Any] = {}
    mark: str | None = None


async def nobody(request: Request) -> Any:
    raise AssertionError("the stage answers requests itself")


class Stage:
    """A `Context`. `answers` are what the outside world says, in order; `answering` says it as a function."""

    def __init__(
        self,
        world: World,
        *,
        name: str = "agent",
        answers: Sequence[Answer | Interrupted] = (),
        answering: Callable[[Request], Answer | Interrupted] | None = None,
        people: Callable[[Sent], Sequence[tuple[int, Message]]] = lambda sent: (),
        errors: Mapping[int, ToolError] | None = None,
        past: Sequence[Event] = (),
    ) -> None:
        """`people` say what each message that is sent leads to, and after how long; `errors` come at the nth call."""
        self.name = name
        self.world = world
        self.now = 0
        self.past = past
        self.marks: set[str] = set()
        self.called: list[Call] = []
        self.results: list[Result] = []
        self.sent: list[Sent] = []
        self.requests: list[Request] = []
        self.cancelled: list[int] = []
        self.cuts: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.waits: list[int | None] = []
        self._state = initial_state(created for service in world.services for created in service.initial())
        self._answers = list(answers)
        self._answering = answering
        self._people = people
        self._errors = errors or {}
        self._seq = 1000
        self._queue: list[tuple[int, int, Message]] = []
        self._pending: dict[int, tuple[int, Answer]] = {}
        for number, opening in enumerate(world.openings):
            if name == "agent":
                self.arrive(0, Message(number + 1, opening.sender, opening.text, 0, media=opening.media))

    def arrive(self, at: int, message: Message) -> None:
        """Let a message be delivered at this time."""
        heappush(self._queue, (at, len(self._queue) + self._number(), msgspec.structs.replace(message, at=at)))

    def _number(self) -> int:
        self._seq += 1
        return self._seq

    def play(self, actor: Actor) -> str | None:
        """Let the actor live; its summary, or None if it waits for ever."""
        coroutine = actor.act(self)
        try:
            coroutine.send(None)  # type: ignore[attr-defined]
        except StopIteration as stop:
            return stop.value
        except Idle:
            return None
        raise AssertionError("the actor awaited something that is not of its context")

    # --- the context ---------------------------------------------------------------------------------------

    @property
    def tools(self) -> list[Tool]:
        return [tool for service in self.world.services for tool in service.tools]

    @property
    def people(self) -> dict[str, str]:
        return {name: person.role for name, person in self.world.people.items()} | dict.fromkeys(
            self.world.personas, ""
        )

    def draw(self, purpose: str) -> Drawer:
        return Drawer([7], 1, purpose)

    def reached(self, mark: str) -> bool:
        return mark in self.marks

    async def call(self, *calls: Call) -> list[Result]:
        results = []
        for call in calls:
            self.now += self.world.call
            self.called.append(call)
            outcome = self._outcome(call)
            results.append(Result(self._number(), call.tool, outcome.result, outcome.error, outcome.status))
        self.results.extend(results)
        return results

    def _outcome(self, call: Call) -> Outcome:
        if len(self.called) in self._errors:
            return Outcome(error=self._errors[len(self.called)])
        for service in self.world.services:
            if call.tool in [tool.name for tool in service.tools]:
                now = Instant(self.world.start, self.now)
                outcome = service.call(call.tool, call.args, self._state[service.name], now, self.draw("service"))
                for change in outcome.changes:
                    self._state = self._state.apply(change)
                return outcome
        return Outcome(error=ToolError("unknown_tool", f"there is no tool {call.tool}"))

    async def send(self, to, text, *, reply_to=None, gives=None, mark=None) -> int:
        sent = Sent(self._number(), self.now, to, text, reply_to, dict(gives or {}), mark)
        self.sent.append(sent)
        for after, message in self._people(sent):
            self.arrive(self.now + after, message)
        return sent.seq

    def unread(self) -> list[Message]:
        messages = []
        while self._queue and self._queue[0][0] <= self.now:
            messages.append(heappop(self._queue)[2])
        return messages

    async def receive(self, timeout: int | None = None) -> list[Message]:
        messages, _ = await self._wait(timeout, answers=False)
        return messages

    async def receive_or_answers(self, timeout: int | None = None) -> tuple[list[Message], dict[int, Answer]]:
        return await self._wait(timeout, answers=True)

    async def _wait(self, timeout: int | None, *, answers: bool) -> tuple[list[Message], dict[int, Answer]]:
        self.waits.append(timeout)
        moments = [at for at, _, _ in self._queue[:1]]
        if answers:
            moments += [due for due, _ in self._pending.values()]
        if timeout is not None:
            moments.append(self.now + timeout)
        if not moments:
            raise Idle
        self.now = max(self.now, min(moments))
        ready = {seq: answer for seq, (due, answer) in self._pending.items() if answers and due <= self.now}
        for seq in ready:
            del self._pending[seq]
        return self.unread(), ready

    async def sleep(self, duration: int) -> None:
        self.now += duration

    def _ask(self, request: Request) -> tuple[int, Answer | Interrupted]:
        self.requests.append(request)
        if self._answering is None and not self._answers:
            raise Idle
        answer = self._answers.pop(0) if self._answering is None else self._answering(request)
        tokens = (answer.tokens or 0) if isinstance(answer, Answer) else 0
        return request.price.of(tokens), answer

    async def effect(self, request: Request, perform: Perform, *, interruptible: bool = False) -> Answer | Interrupted:
        cost, answer = self._ask(request)
        self.now += cost
        return answer

    async def start(self, request: Request, perform: Perform) -> int:
        cost, answer = self._ask(request)
        assert isinstance(answer, Answer)
        seq = self._number()
        self._pending[seq] = (self.now + cost, answer)
        return seq

    async def cancel(self, effect: int, reason: str) -> None:
        del self._pending[effect]
        self.cancelled.append(effect)

    async def cut(self, reason: str, messages: Sequence[int], shortened: Sequence[int]) -> None:
        assert reason
        self.cuts.append((tuple(messages), tuple(shortened)))


def says(text: str = "", *calls: tuple[str, Any], tokens: int = 50, stop: str = "stop", **more: Any) -> Answer:
    """A model's answer."""
    value = {"text": text, "calls": [{"name": name, "args": args} for name, args in calls], "stop": stop}
    return Answer(value=value, tokens=tokens, **more)
