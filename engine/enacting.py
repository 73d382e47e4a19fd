"""The oracle, or one of its traps, as a model: what it does, done through the agent that a chat model plays.

Knows how a scripted player's operations become the decisions of a model, one after the other. Does not know prompts:
`agents.model` shows the model agent's own, so a demonstration looks exactly as the student will find its work, at a
model's pace and with a model's prices. The player sees only what the model agent has been shown.

What the "model" answers is a function of what the agent has seen, so an episode that was interrupted goes on.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Sequence
from decimal import ROUND_UP, Decimal
from typing import Any, Literal, TypeAlias, cast

import msgspec

from ..agents.agent import ActorError, Answer, Call, Context, Message, Outside, Request, Result
from ..agents.counting import UTF8_4, as_json, utf8_4
from ..agents.model import ModelAgent, ModelOptions
from ..agents.prompts import FINISH, OWN_TOOLS, SEND, WAIT, wire_names
from ..agents.steps import Player
from ..events.event import Json
from ..worlds.environment import Step, Trap
from ..worlds.expressions import write
from ..worlds.syntax import Binary, Node, children
from ..worlds.trapping import BadTrap, bound, edited, mistake
from ..worlds.values import written
from .transcripts import MISTAKE

_ALOUD = 160
"""Characters of what is said of one calculation, at most."""
_MINUTE = 60_000_000
_LONGEST = Decimal(100_000)
"""Minutes that one `wait` may take; who wants to wait longer waits again."""


class Enacted:
    """A model agent whose model is the oracle, spoilt by a trap if one is named.

    To a log it is `openai:oracle`, or `openai:trap:NAME`; its answers are all in there.
    """

    def __init__(
        self, trap: str | None = None, wording: Literal["brief"] | None = None, recovers: bool = False
    ) -> None:
        """With `recovers`, it makes the trap's first mistake, and then does as the oracle."""
        self._trap = trap
        self._recovers = recovers
        self.name = "oracle" if trap is None else f"{'fork' if recovers else 'trap'}:{trap}"
        self._options = ModelOptions(model=self.name, wording=wording)

    @property
    def enacts(self) -> dict[str, Json]:
        """The specification of the scripted agent that it does as."""
        return {"kind": "oracle"} if self._trap is None else {"kind": "trap", "name": self._trap}

    @property
    def specification(self) -> dict[str, Json]:
        return ModelAgent(self._options, _nobody).specification

    async def act(self, context: Context) -> str:
        watched = _Watched(context)
        player = _Lockstep(watched, self._trap, self._recovers)
        return await ModelAgent(self._options, player.perform).act(cast(Context, watched))


async def _nobody(_: Request) -> Outside:
    raise ActorError("only the specification of this agent is of use")


# --- what the agent has seen -------------------------------------------------------------------------------


class _Seen(msgspec.Struct, frozen=True):
    """Something that an operation of the agent came to, and the virtual time at which it did."""

    kind: Literal["results", "sent", "messages"]
    value: Any
    at: int


class _Watched:
    """A context that keeps what the agent gets to see. Everything else it leaves to the real one."""

    def __init__(self, context: Context) -> None:
        self.real = context
        self.seen: list[_Seen] = []
        self.written_to: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def _keep(self, kind: Literal["results", "sent", "messages"], value: Any) -> None:
        self.seen.append(_Seen(kind, value, self.real.now))

    async def call(self, *calls: Call) -> list[Result]:
        results = await self.real.call(*calls)
        self._keep("results", results)
        return results

    async def send(self, to: str, text: str, **more: Any) -> int:
        sent = await self.real.send(to, text, **more)
        self.written_to.append(to)
        self._keep("sent", sent)
        return sent

    async def receive(self, timeout: int | None = None) -> list[Message]:
        messages = await self.real.receive(timeout)
        self._keep("messages", messages)
        return messages

    def unread(self) -> list[Message]:
        messages = self.real.unread()
        if messages:
            self._keep("messages", messages)
        return messages


# --- the player, in the place of a model -------------------------------------------------------------------


class _Operation:
    """An operation of the player's context: what it waits for, and the decision that brings it about."""

    def __init__(self, wanted: Literal["results", "sent", "messages"], decision: Sequence[tuple[str, Json]]) -> None:
        self.wanted = wanted
        self.decision = decision

    def __await__(self) -> Generator[_Operation, Any, Any]:
        return (yield self)


class _Puppet:
    """The player's context: gives what the agent has seen, as far as it has, and asks for more by deciding."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.now = context.now
        self.inbox: list[Message] = []
        tools = [*(tool.name for tool in OWN_TOOLS if context.world.talks), *(tool.name for tool in context.tools)]
        self._wire = {name: on_wire for on_wire, name in wire_names(tools).items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    async def call(self, *calls: Call) -> list[Result]:
        if not calls:
            return []
        results: list[Result] = await _Operation("results", [self._call(call) for call in calls])
        return results

    def _call(self, call: Call) -> tuple[str, Json]:
        return self._wire.get(call.tool, call.tool), call.args

    async def send(self, to: str, text: str) -> int:
        sent: int = await _Operation("sent", [(SEND, {"to": to, "text": text})])
        return sent

    async def receive(self, timeout: int | None = None) -> list[Message]:
        if not self.inbox:
            await _Operation("messages", [(WAIT, {} if timeout is None else {"minutes": _minutes(timeout)})])
        messages, self.inbox = self.inbox, []
        return messages

    async def sleep(self, duration: int) -> None:
        until = self.now + duration
        while self.now < until:
            await _Operation("messages", [(WAIT, {"minutes": _minutes(until - self.now)})])


def _minutes(span: int) -> Json:
    """A span of virtual time in minutes, rounded up to hundredths, as somebody would write it."""
    exact = Decimal(span) / _MINUTE
    minutes = min(exact.quantize(Decimal("0.01"), ROUND_UP), _LONGEST)
    return int(minutes) if minutes == minutes.to_integral_value() else minutes.normalize()


_Play: TypeAlias = Coroutine[_Operation, Any, None]


class _Lockstep:
    """A model that decides what the oracle does next: its steps, played as far as what was seen reaches."""

    def __init__(self, watched: _Watched, trap: str | None, recovers: bool) -> None:
        self._watched = watched
        self._trap = trap
        self._recovers = recovers
        self._puppet = _Puppet(watched.real)
        self._taken = 0
        self._play: _Play | None = None
        self._operation: _Operation | None = None
        self._failure = ""
        self._thoughts: list[str] = []
        """What was computed for the decision that comes next."""
        self._erring = False
        """What it does next is the trap's mistake."""
        self._decided = "", False
        """Of the operation under way: its thoughts, and whether it is the mistake."""

    async def perform(self, _: Request) -> Outside:
        return self.decide()

    async def _steps(self) -> None:
        world = self._watched.real.world
        trap = None if self._trap is None else world.traps[self._trap]
        try:
            if trap is not None and self._recovers:
                await self._recovering(world.oracle, trap)
            elif trap is not None:
                await self._following(edited(world.oracle, trap), bound(trap))
            else:
                await self._following(world.oracle, {})
        except BadTrap as error:
            raise ActorError(str(error)) from error

    async def _following(self, steps: Sequence[Step], seen: dict[str, Json]) -> Player:
        player = Player(cast(Context, self._puppet), seen, self._compute)
        await player.read_openings()
        await player.play(steps)
        return player

    async def _recovering(self, steps: Sequence[Step], trap: Trap) -> None:
        """Go with the oracle up to where the trap does something else; do that; then what is right."""
        found = mistake(steps, trap)
        if found is None:
            raise BadTrap("the trap makes no mistake that could be made good: it does no step otherwise")
        place, wrong = found
        player = await self._following(steps[:place], {})
        self._erring = True
        await player.play([wrong])
        self._erring = False
        await player.play(steps[place:], place + 1)

    def _compute(self, expression: Node, value: Json) -> None:
        if said := narrated(expression, value):
            self._thoughts.append(said)

    def decide(self) -> Outside:
        """Play on with what has been seen since, and say what it takes to see more."""
        if self._play is None:
            self._play = self._steps()
            self._advance(None)
        while self._operation is not None and self._taken < len(self._watched.seen):
            seen = self._watched.seen[self._taken]
            self._taken += 1
            self._puppet.now = seen.at
            if seen.kind == "messages":
                self._puppet.inbox.extend(seen.value)
            if seen.kind == self._operation.wanted:
                self._advance(seen.value)
        if self._operation is None:
            return _answer([(FINISH, {"summary": self._failure or self._summary()})])
        return _answer(self._operation.decision, *self._decided)

    def _advance(self, value: Any) -> None:
        assert self._play is not None
        try:
            self._operation = self._play.send(value)
        except StopIteration:
            self._operation = None
        except ActorError as error:  # a step that cannot be carried out ends the oracle; the grade will say so
            self._operation, self._failure = None, str(error)
        self._decided = " ".join(self._thoughts), self._erring
        self._thoughts.clear()

    def _summary(self) -> str:
        """What was changed and who was written to, in the order in which it was first done."""
        changing = {tool.name for tool in self._watched.real.tools if not tool.reads}
        results = [result for seen in self._watched.seen if seen.kind == "results" for result in seen.value]
        done = dict.fromkeys(r.tool for r in results if r.error is None and r.tool in changing)
        parts = [f"Done: {', '.join(done)}." if done else "Nothing had to be changed."]
        people = dict.fromkeys(self._watched.written_to)
        return " ".join([*parts, f"I wrote to {', '.join(people)}."] if people else parts)


def narrated(expression: Node, value: Json) -> str:
    """What somebody says who works out a number, such as `3 * 149.00 = 447.00.`; empty where nothing is worked out.

    `expression` has what was seen in it, so only that is said.
    """
    if not _calculates(expression):
        return ""
    said = f"{write(expression)} = {written(value)}."
    return said if len(said) <= _ALOUD else ""


def _calculates(node: Node) -> bool:
    if isinstance(node, Binary) and node.operator in ("+", "-", "*", "/"):
        return True
    return any(_calculates(child) for child in children(node))


def _answer(decision: Sequence[tuple[str, Json]], thoughts: str = "", erring: bool = False) -> Outside:
    """An answer of a chat model that makes these calls, counted as where a server does not say."""
    calls: list[Json] = [{"name": name, "args": args} for name, args in decision]
    value: dict[str, Json] = {"text": thoughts, "calls": calls, "stop": MISTAKE if erring else "tool_calls"}
    tokens = utf8_4(thoughts) + sum(utf8_4(as_json(call)) for call in calls)
    return Outside(Answer(value=value, tokens=tokens, counted=UTF8_4))
