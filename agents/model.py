"""An agent that a chat model plays: what it sees, what its answers mean, and what it remembers.

Knows the loop from one decision to the next. Does not know HTTP: it asks through a `Perform`. How things are worded is
`prompts`, how much of the history is sent is `window`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from ..events.event import Json, MessageSent, Refused
from .agent import ActorError, Answer, Call, Context, Interrupted, Message, Perform, Request
from .counting import RULES, UTF8_4
from .naming import UnknownName, nearest
from .persona import ASIDE, DONE
from .pictures import picture_of
from .prompts import (
    FINISH,
    OWN_TOOLS,
    SEND,
    WAIT,
    attached,
    call_id,
    clock,
    decided,
    handed_over,
    instructions,
    looked_at,
    notice,
    offered,
    remark,
    request,
    result_text,
    returned,
    wire_names,
)
from .sampling import Sampling
from .window import fit

_REFUSALS = 3
"""So many refusals in a row end the agent."""
_SHRINKINGS = 5
"""So often a prompt that was too long is made shorter."""
_MINUTE = 60_000_000
_LONGEST_WAIT = 100_000
"""Minutes that one wait may take."""


class GaveUp(ActorError):
    """A model could not be brought to answer."""


class ModelOptions(Sampling, frozen=True, kw_only=True):
    """Options of a model that is the agent."""

    interruptible: bool = False
    """A message that arrives while it thinks makes it think again."""
    context: int = 100_000
    """Tokens that a prompt may have."""
    result: int = 10_000
    """Tokens of one tool result that it may see."""
    counting: str = UTF8_4
    """The rule by which `context` and `result` are counted."""
    wording: Literal["brief"] | None = None
    """`brief` for models that have learnt what their work is like: instructions and message heads in short."""
    pictures: bool | None = None
    """Whether it is shown the pictures that the request comes with, and that tools return; left out, it is not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.counting not in RULES:
            raise ValueError(str(UnknownName("counting rule", self.counting, RULES)))
        if self.context < 1000 or self.result < 100:
            raise ValueError("`context` must be at least 1000 tokens, and `result` at least 100")


class ModelAgent:
    """Decides by asking a model. `perform` asks the real one."""

    def __init__(self, options: ModelOptions, perform: Perform) -> None:
        self._options = options
        self._perform = perform

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "openai", **self._options.plain()}

    async def act(self, context: Context) -> str:
        return await _Session(context, self._options, self._perform).run()


class _Session:
    """One life of a model agent. `_history` is everything it could be shown, in the order of prompts."""

    def __init__(self, context: Context, options: ModelOptions, perform: Perform) -> None:
        self._context = context
        self._world = context.world
        self._options = options
        self._perform = perform
        self._brief = options.wording == "brief"
        tools = [*(OWN_TOOLS if self._world.talks else ()), *context.tools]
        self._tools = wire_names(tool.name for tool in tools)
        self._history: list[Json] = [
            offered(tools, self._tools),
            {"role": "system", "content": instructions(self._world, context.people, context.now, self._brief)},
        ]
        self._keep = 0
        """How many messages of the history are in every prompt."""
        self._budget = options.context
        self._sent = 0
        """Tokens of the last prompt."""
        self._cut: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        """What the last prompt left out and shortened."""
        self._arrived: list[Message] = []
        """Messages that the model has not been shown yet."""
        self._pictures: dict[str, str] = {}
        """Those that the last calls returned."""
        self._requester = ""
        self._decisions = 0
        self._rounds = 0
        """How often it has said something to whoever asked and waited for the answer."""
        self._refusals = 0
        self._shrinkings = 0
        self._summary: str | None = None
        """What ends the agent, once it is there."""

    async def run(self) -> str:
        await self._begin()
        while self._summary is None:
            answer = await self._decide()
            if isinstance(answer, Interrupted):
                continue
            if answer.refused is not None:
                self._refused(answer.refused)
            else:
                await self._live_with(answer.value, cut=answer.paid is not None)
        return self._summary

    async def _begin(self) -> None:
        waits = self._world.openings or self._spoken_to_first()
        messages = await self._context.receive() if waits else self._context.unread()
        self._requester = messages[0].sender if messages else next(iter(self._context.people), "")
        self._history.append(request(self._world, messages, self._context.people, self._brief))
        if self._options.pictures and self._world.pictures:
            self._history.append(attached(self._world.pictures))
        self._keep = len(self._history)
        past = [event.body for event in self._context.past]
        self._rounds = sum(isinstance(body, MessageSent) and body.mark != ASIDE for body in past)
        taken_over = handed_over(self._context.past)
        if taken_over is not None:
            self._history.append(taken_over)

    def _spoken_to_first(self) -> bool:
        """Whether a persona begins the conversation, in their own words."""
        return any(name in self._context.people for name in self._world.personas)

    def _hear(self, messages: Sequence[Message]) -> None:
        if messages:
            self._history.append(notice(self._world, messages, self._context.people, self._brief))

    # --- asking --------------------------------------------------------------------------------------------

    async def _decide(self) -> Answer | Interrupted:
        self._hear([*self._arrived, *self._context.unread()])
        self._arrived.clear()
        options = self._options
        window = fit(self._history, self._budget, keep=self._keep, result=options.result, rule=options.counting)
        cut = window.left_out, window.shortened
        if cut != self._cut:
            # What is cut stays cut until the next such event, so only a difference is worth one.
            self._cut = cut
            reason = f"{window.whole} tokens by {options.counting}, of which {self._budget} may be sent"
            await self._context.cut(reason, *cut)
        self._sent = window.tokens
        asked = Request("model", window.messages, options.settings, options.price)
        return await self._context.effect(asked, self._perform, interruptible=options.interruptible)

    def _refused(self, refused: Refused) -> None:
        """Make the next request a different one. Raises `GaveUp` when that has been tried often enough."""
        if refused.type == "context_length":
            self._shrinkings += 1
            if self._shrinkings > _SHRINKINGS:
                raise GaveUp(f"the prompt is too long for the model even with {self._sent} tokens; use another model")
            self._budget = max(1, min(self._budget, self._sent) * 3 // 5)
            return
        self._refusals += 1
        if self._refusals >= _REFUSALS:
            raise GaveUp(f"the model was refused an answer {self._refusals} times in a row; last: {refused.message}")
        self._history.append(remark(f"Your last answer was refused. {refused.message} Go on in another way."))

    # --- living with an answer -----------------------------------------------------------------------------

    async def _live_with(self, value: Json, cut: bool) -> None:
        """Do what was decided; or, if a message cut the thought short before it came to that, only remember it."""
        text, calls = value["text"], value["calls"]
        self._decisions += 1
        self._shrinkings = 0
        if cut and value["stop"] == "interrupted":
            if text:
                self._history.append(decided(text, (), self._decisions))
            self._history.append(remark("You were interrupted here; nothing that you wrote was sent or done."))
        elif calls:
            self._refusals = 0
            self._history.append(decided(text, calls, self._decisions))
            if text and self._world.on_text == "round" and self._requester in self._world.personas:
                await self._context.send(self._requester, text, mark=ASIDE)
            await self._carry_out(calls)
        else:
            await self._speak(text)

    async def _carry_out(self, calls: Sequence[Json]) -> None:
        """Carry out calls in their order. Those to services that follow each other go to the kernel together."""
        self._pictures = {}
        texts: dict[int, str] = {}
        together: list[tuple[int, Call]] = []
        for index, call in enumerate(calls):
            name = self._tools.get(call["name"], call["name"])
            if "error" in call:
                texts[index] = call["error"]
            elif self._world.talks and name in (SEND, WAIT, FINISH):
                texts |= await self._call(together)
                together = []
                texts[index] = await self._own(name, call["args"])
                if self._summary is not None:
                    return
            else:
                together.append((index, Call(name, call["args"])))
        texts |= await self._call(together)
        self._history.extend(returned(self._decisions, index, texts[index]) for index in range(len(calls)))
        if self._pictures:
            self._history.append(looked_at(self._pictures))

    async def _call(self, numbered: Sequence[tuple[int, Call]]) -> dict[int, str]:
        results = await self._context.call(*(call for _, call in numbered)) if numbered else []
        texts: dict[int, str] = {}
        for (index, _), result in zip(numbered, results, strict=True):
            uri = picture_of(result.result) if self._options.pictures else None
            if uri is not None:
                self._pictures[call_id(self._decisions, index)] = uri
            texts[index] = result_text(result, pictures=uri is not None)
        return texts

    async def _own(self, name: str, args: Json) -> str:
        """Carry out a call to one of our own tools, and say what came of it."""
        given = args if isinstance(args, dict) else {}
        if name == FINISH:
            summary = given.get("summary")
            self._summary = summary if isinstance(summary, str) else ""
            return ""
        return await (self._send(given) if name == SEND else self._wait(given))

    async def _send(self, args: dict[str, Json]) -> str:
        to, text, reply_to = args.get("to"), args.get("text"), args.get("reply_to")
        people = self._context.people
        if not isinstance(to, str) or to not in people:
            hint = nearest(to, people) if isinstance(to, str) else ""
            return f"Nothing was sent: `to` must be one of {', '.join(people) or 'nobody'}{hint}."
        if not isinstance(text, str) or not text:
            return "Nothing was sent: `text` must be the message."
        number = reply_to if type(reply_to) is int and reply_to >= 0 else None
        sent = await self._context.send(to, text, reply_to=number)
        return f"Message {sent} is sent."

    async def _wait(self, args: dict[str, Json]) -> str:
        minutes = args.get("minutes")
        if minutes is None:
            limit = None
        elif isinstance(minutes, int | Decimal) and not isinstance(minutes, bool) and 0 < minutes <= _LONGEST_WAIT:
            limit = int(minutes * _MINUTE)
        else:
            return (
                f"`minutes` must be a number above 0 and at most {_LONGEST_WAIT}; leave it out to wait for a message."
            )
        messages = await self._context.receive(limit)
        self._arrived.extend(messages)  # Shown behind the results of all calls, as the chat format wants it.
        when = clock(self._world, self._context.now, self._brief)
        return f"It is {when}. " + ("A message has arrived." if messages else "No message has arrived.")

    async def _speak(self, text: str) -> None:
        """Live with plain text, as the environment's `on_text` wants it."""
        mode, to = self._world.on_text, self._requester
        if mode == "finish" or to not in self._context.people or self._has_all_rounds(to):
            self._summary = text
            return
        if mode == "wait" and not text.strip():
            self._refused(Refused("empty", "It was empty: no text, and no call."))
            return
        self._refusals = 0
        self._history.append(decided(text, (), self._decisions))
        await self._context.send(to, text)
        messages = await self._context.receive()
        self._rounds += 1
        if any(message.mark == DONE and not message.text for message in messages):
            self._summary = text
        self._hear(messages)

    def _has_all_rounds(self, person: str) -> bool:
        """Whether a persona has answered as often as they will."""
        persona = self._world.personas.get(person)
        return self._world.on_text == "round" and persona is not None and self._rounds >= persona.rounds
