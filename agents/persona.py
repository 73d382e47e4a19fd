"""A coworker whom a model plays freely, from a persona: a benchmark's simulated user.

Knows the conversation so far and when it is over. Does not know the agent's tools, what they returned, or any rule: a
persona discloses nothing in the sense of checks.

The conversation goes in rounds: the agent says something, the persona answers. It ends when the model writes `[DONE]`
or nothing, or when the persona has answered as often as it may; the agent learns that from an empty message with the
mark `done`. What the agent says while it works comes with the mark `aside`: it is heard, and not answered.
"""

from __future__ import annotations

from decimal import Decimal

from ..events.event import Json, MessageSent
from ..worlds.world import Persona
from .agent import Answer, Context, Message, Perform, Request
from .counting import utf8_4
from .sampling import Sampling
from .window import shorten

DONE = "done"
"""The mark of a persona's last, empty message: they have no more to say."""
ASIDE = "aside"
"""The mark of what an agent says to a persona while it works."""

_SATISFIED = "[DONE]"
_LONGEST = 20_000
"""Tokens of one message that the model is shown."""
_LANGUAGES = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish", "ja": "Japanese"}


class PersonaOptions(Sampling, frozen=True, kw_only=True):
    """Options of a model that plays a person."""

    temperature: Decimal | None = Decimal("0.7")


class PersonaCoworker:
    """Answers the agent as `person` would."""

    def __init__(self, person: str, options: PersonaOptions, perform: Perform) -> None:
        self._person = person
        self._options = options
        self._perform = perform

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "persona", **self._options.plain()}

    async def act(self, context: Context) -> str:
        persona = context.world.personas[self._person]
        transcript = [("User", opening.text) for opening in context.world.openings if opening.sender == self._person]
        said = {e.body.reply_to: e.body.text for e in context.past if isinstance(e.body, MessageSent)}
        rounds = 0
        while True:
            question: Message | None = None
            for message in await context.receive():
                transcript.append(("Assistant", message.text))
                if message.seq in said:
                    transcript.append(("User", said[message.seq]))
                    rounds += 1
                elif message.mark != ASIDE:
                    question = message
            if question is None:
                continue
            reply = await self._answer(context, persona, transcript) if rounds < persona.rounds else ""
            if not reply:
                await context.send(question.sender, "", reply_to=question.seq, mark=DONE)
                return ""
            rounds += 1
            transcript.append(("User", reply))
            await context.send(question.sender, reply, reply_to=question.seq)

    async def _answer(self, context: Context, persona: Persona, transcript: list[tuple[str, str]]) -> str:
        """What the persona says next; nothing if they are satisfied, or the model has nothing to say."""
        prompt = (
            {"role": "system", "content": _instructions(persona)},
            {"role": "user", "content": _conversation(transcript)},
        )
        request = Request("model", prompt, self._options.settings, self._options.price)
        answer = await context.effect(request, self._perform)
        if not isinstance(answer, Answer) or answer.refused is not None:
            return ""
        text: str = answer.value["text"].strip()
        return "" if _SATISFIED in text else text


def _instructions(persona: Persona) -> str:
    language = _LANGUAGES.get(persona.language, persona.language)
    return (
        f"You play a person who works with an assistant. Speak as that person, naturally, in {language}, in one to "
        "three sentences, and never as a machine. Answer what the assistant asks truthfully, from the description "
        "below; what it does not say you do not know, and you say so in your own way. When the assistant has delivered "
        f"everything you wanted, or you have no more questions, write {_SATISFIED} and nothing else.\n\n"
        f"The person you play:\n{persona.text}"
    )


def _conversation(transcript: list[tuple[str, str]]) -> str:
    lines = [f"[{who}]: {shorten(text, _LONGEST, utf8_4)}" for who, text in transcript if text]
    return "\n".join(lines) + "\n\nAnswer the assistant's last message as the user."
