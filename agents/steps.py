"""Playing a list of steps: what a scripted agent does with calls, questions, waits and the values it has seen.

Knows the steps of an oracle and the operations of an actor. Does not know any fact of the environment: every value
comes from the steps themselves or from what came back. A call that fails has the value null, like a step that was
left out, so that the steps after it can look and decide; only a step that cannot be evaluated ends the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..events.event import Json
from ..worlds.durations import DurationError, microseconds
from ..worlds.environment import Step
from ..worlds.expressions import Reference, substitute
from ..worlds.facts import FactError, Seen, filled
from ..worlds.syntax import ExpressionError, Node, parse
from ..worlds.values import is_number, written
from .agent import ActorError, Call, Context, Message, Result

PATIENCE = 5
"""How often a call is made that is asked to come back later (`retry_after`)."""


Computed: TypeAlias = Callable[[Node, Json], None]
"""Hears of each expression that was evaluated, what has been seen put in, and of what it came to."""


class StepFailed(ActorError):
    """A step could not be carried out: what it refers to is not there, or is of the wrong kind."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"step {step}: {reason}")
        self.step = step
        self.reason = reason


class Player:
    """Carries out steps one after the other. `seen` are the values that steps already have, by name."""

    def __init__(self, context: Context, seen: dict[str, Json] | None = None, computed: Computed | None = None) -> None:
        self._context = context
        self._computed = computed
        self._scope = Seen({f"@{name}": value for name, value in (seen or {}).items()})
        self._inbox: list[Message] = []

    def see(self, step: str, value: Json) -> None:
        """Give a step its value."""
        self._scope[f"@{step}"] = value

    async def read_openings(self) -> None:
        """Read the request. What it says is no answer to anything, so no step finds it afterwards."""
        expected = [(opening.sender, opening.text) for opening in self._context.world.openings]
        while expected:
            for message in await self._context.receive():
                if (message.sender, message.text) in expected:
                    expected.remove((message.sender, message.text))
                else:
                    self._inbox.append(message)

    async def play(self, steps: Sequence[Step], first: int = 1) -> None:
        """Carry out all steps, of which the first has this number. Raises `StepFailed`."""
        for number, step in enumerate(steps, first):
            label = step.name or f"number {number}"
            value = await self._repeated(step, label)
            if step.name is not None:
                self.see(step.name, value)

    async def _repeated(self, step: Step, label: str) -> Json:
        if step.each is None:
            return await self._once(step, label)
        items = self._evaluate(step.each, label)
        if items is None:
            return []
        if not isinstance(items, list):
            raise StepFailed(label, f"`each` must give a list; it gave {_shown(items)}")
        if step.call is not None:
            return await self._calls(step, label, items)
        return [await self._once(step, label, (item,)) for item in items]

    async def _calls(self, step: Step, label: str, items: list[Json]) -> Json:
        """A call for each item, all in one decision: none of them can depend on what another returns."""
        assert step.call is not None
        wanted = {
            place: Call(step.call, self._fill(step.args, label, (item,)), True)
            for place, item in enumerate(items)
            if step.condition is None or self._evaluate(step.condition, label, (item,))
        }
        values: list[Json] = [None] * len(items)
        for place, result in zip(wanted, await self._context.call(*wanted.values())):
            values[place] = await self._settled(wanted[place], result)
        return values

    async def _once(self, step: Step, label: str, item: tuple[Json, ...] = ()) -> Json:
        """One round of a step; `item` holds the item of its `each`, if it has one."""
        if step.condition is not None and not self._evaluate(step.condition, label, item):
            return None
        if step.call is not None:
            call = Call(step.call, self._fill(step.args, label, item), True)
            for name, value in step.args.items():
                if isinstance(value, str) and value.startswith("="):
                    self._tell(value[1:], call.args[name])
            [result] = await self._context.call(call)
            return await self._settled(call, result)
        if step.calc is not None:
            value = self._evaluate(step.calc, label, item)
            self._tell(step.calc, value)
            return value
        limit = None if step.limit is None else self._limit(step.limit, label, item)
        if step.wait is not None:
            return await self._wait(self._person(step.wait, label, item), limit)
        person = self._person(step.ask if step.ask is not None else step.say, label, item)
        text = written(self._fill(step.text, label, item))
        question = await self._context.send(person, text)
        if step.ask is None:
            return {"text": text}
        return await self._wait(person, limit, question)

    async def _settled(self, call: Call, result: Result) -> Json:
        """What a call gives in the end: one that was asked to come back later is made again."""
        for _ in range(PATIENCE - 1):
            if result.error is None or result.error.retry_after is None:
                break
            await self._context.sleep(result.error.retry_after)
            [result] = await self._context.call(call)
        return result.result

    async def _wait(self, person: str, limit: int | None, question: int | None = None) -> Json:
        """The next message from `person` that no step has taken; with `question`, the next reply to it."""
        until = None if limit is None else self._context.now + limit
        while True:
            for index, message in enumerate(self._inbox):
                if message.sender == person and (question is None or message.reply_to == question):
                    del self._inbox[index]
                    return {"text": message.text, **message.gives}
            remaining = None if until is None else until - self._context.now
            if remaining is not None and remaining <= 0:
                return None
            self._inbox.extend(await self._context.receive(remaining))

    def _person(self, reference: str | None, label: str, item: tuple[Json, ...]) -> str:
        person = self._fill(reference, label, item)
        if not isinstance(person, str) or person not in self._context.people:
            known = ", ".join(self._context.people) or "nobody"
            raise StepFailed(label, f"there is no person {_shown(person)} to write to or wait for; there is {known}")
        return person

    def _limit(self, reference: str, label: str, item: tuple[Json, ...]) -> int:
        """How long to wait; a duration that may have been read somewhere."""
        length = self._fill(reference, label, item)
        try:
            return microseconds(str(length))
        except DurationError as error:
            raise StepFailed(label, str(error)) from None

    def filled(self, value: Json, label: str) -> Json:
        """`value` with what has been seen put in. Raises `StepFailed`."""
        return self._fill(value, label, ())

    def _evaluate(self, expression: str, label: str, item: tuple[Json, ...] = ()) -> Json:
        return self._fill(f"={expression}", label, item)

    def _tell(self, expression: str, value: Json) -> None:
        """Let whoever listens hear what was computed, with what has been seen in the place of names."""
        if self._computed is None or not is_number(value):
            return
        try:
            self._computed(substitute(parse(expression), self._seen, "@"), value)
        except (ExpressionError, LookupError, TypeError):
            return  # It speaks of items, each of which is another; nobody would say that aloud.

    def _seen(self, path: Reference) -> Json:
        value = self._scope[path.name]
        for part in path.path:
            value = value[part]
        return value

    def _fill(self, value: Json, label: str, item: tuple[Json, ...]) -> Json:
        if item:
            self._scope["it"] = item[0]
        try:
            return filled(value, self._scope)
        except FactError as error:
            raise StepFailed(label, str(error)) from error
        finally:
            self._scope.pop("it", None)


def _shown(value: Json) -> str:
    text = written(value)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:60]}…`"
