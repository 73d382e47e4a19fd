"""The user of τ²-bench: played by a model, as upstream's simulator is, or by a task's reference actions.

Knows the conversation: the agent has greeted, the user speaks first, and whoever acts gets the results alone. Does not
know the agent's tools, nor how anything is graded. The user's last words, which hold upstream's stop sign, are the
summary with which they finish; the agent learns of the end from an empty message, as from any persona.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...agents.agent import Actor, ActorError, Answer, Call, Context, Message, Perform, Request
from ...agents.building import model_at
from ...agents.persona import ASIDE, DONE, PersonaOptions
from ...agents.prompts import decided, offered, result_text, returned, wire_names
from ...agents.registry import BadSpecification
from ...events.event import AGENT, Json
from ...worlds.tau2.reference import Action, turns_of
from ...worlds.tau2.task import GREETING

STOP_SIGNS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
_DONE = "That is done."
_ROUNDS = 200


async def _next(context: Context) -> list[Message]:
    """What the agent says next to the user; what it says while it works is not meant for them."""
    while True:
        heard = [message for message in await context.receive() if message.mark != ASIDE]
        if heard:
            return heard


async def _stop(context: Context, words: str, reply_to: int | None) -> str:
    await context.send(AGENT, "", reply_to=reply_to, mark=DONE)
    return words


# --- reference actions -------------------------------------------------------------------------------------


class _Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: str
    turns: tuple[tuple[Action, ...], ...]


class ReferenceUser:
    """Acts when the agent asks, turn by turn; the last turn ends the conversation."""

    def __init__(self, turns: Sequence[Sequence[Action]]) -> None:
        self._turns = tuple(map(tuple, turns))

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "tau2-reference", "turns": turns_of(self._turns)}

    async def act(self, context: Context) -> str:
        asked: Message | None = None
        for number, turn in enumerate(self._turns, 1):
            asked = (await _next(context))[-1]
            await context.call(*(Call(action.name, action.arguments) for action in turn))
            if number < len(self._turns):
                await context.send(asked.sender, _DONE, reply_to=asked.seq)
        return await _stop(context, STOP_SIGNS[0], asked.seq if asked else None)


def reference(person: str, specification: dict[str, Json]) -> Actor:
    """The coworker of kind `tau2-reference`. Raises BadSpecification."""
    try:
        return ReferenceUser(msgspec.convert(specification, _Turns).turns)
    except msgspec.ValidationError as error:
        raise BadSpecification(f"`tau2-reference` cannot be made so: {error}") from error


# --- a model -----------------------------------------------------------------------------------------------


class ModelUser:
    """A user whom a model plays, told what upstream's simulator is told, with the tools that are theirs."""

    def __init__(self, person: str, options: PersonaOptions, perform: Perform) -> None:
        self._person = person
        self._options = options
        self._perform = perform

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "tau2-user", **self._options.plain()}

    async def act(self, context: Context) -> str:
        wire = wire_names(tool.name for tool in context.tools)
        history: list[Json] = [offered(context.tools, wire)] if wire else []
        history.append({"role": "system", "content": context.world.personas[self._person].text})
        history.append({"role": "user", "content": GREETING})
        reply_to: int | None = None
        for decision in range(1, _ROUNDS + 1):
            value = await self._decide(context, history)
            text, calls = value["text"], value["calls"]
            history.append(decided(text, calls, decision))
            if calls:
                results = await context.call(
                    *(Call(wire.get(call["name"], call["name"]), call["args"]) for call in calls)
                )
                history += (returned(decision, place, result_text(result)) for place, result in enumerate(results))
                continue
            if any(sign in text for sign in STOP_SIGNS):
                return await _stop(context, text, reply_to)
            await context.send(AGENT, text, reply_to=reply_to)
            heard = await _next(context)
            reply_to = heard[-1].seq
            history.append({"role": "user", "content": "\n\n".join(message.text for message in heard)})
        return await _stop(context, "", reply_to)

    async def _decide(self, context: Context, history: Sequence[Json]) -> Json:
        request = Request("model", tuple(history), self._options.settings, self._options.price)
        answer = await context.effect(request, self._perform)
        if not isinstance(answer, Answer) or answer.refused is not None:
            raise ActorError("the model that plays the user was refused an answer")
        return answer.value


def model(person: str, specification: dict[str, Json]) -> Actor:
    """The coworker of kind `tau2-user`. Raises BadSpecification."""
    given = {name: value for name, value in specification.items() if name != "kind"}
    try:
        options = msgspec.convert(given, PersonaOptions)
    except msgspec.ValidationError as error:
        raise BadSpecification(f"`tau2-user` cannot be made so: {error}") from error
    return ModelUser(person, options, model_at(options.url))
