"""Coworkers who go by their rules: when they hear, when they answer, and what they let a model word.

Knows the operations of an actor. Does not know what a person answers: `worlds.coworker` decides that, and nothing here
changes it. A coworker who has yet to answer hears, and answers, others meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..events.event import Event, Json, MessageSent
from ..worlds.coworker import Decision, Mind, Planned, due, hear, next_due, wake
from ..worlds.environment import Person
from ..worlds.matching import mentions
from .agent import Answer, Context, Perform, Request
from .sampling import Sampling


class RulesCoworker:
    """Says what the rules of `person` decide, in the words of the file."""

    def __init__(self, person: str) -> None:
        self._person = person

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "rules"}

    async def act(self, context: Context) -> str:
        book = context.world.rulebooks[self._person]
        answered = already_answered(context.past)
        mind, _ = wake(book, Mind(), context.now)
        while True:
            mind, replies = due(mind, context.now)
            for reply in replies:
                if (reply.reply_to, reply.text) not in answered:
                    await _send(context, reply, reply.text)
            moment = next_due(mind)
            for message in await context.receive(None if moment is None else moment - context.now):
                mind, _ = hear(book, mind, message.text, message.sender, message.seq, message.at, context.reached)


class ModelCoworker:
    """Says what the rules of `person` decide, in a model's words.

    The model sees only the words of the file, so it cannot be talked into anything. It starts on them when the reply is
    decided; the reply is sent when it is due and worded, whichever is later. Words that drop or add a number or an
    identifier, and refusals, are replaced by those of the file.
    """

    def __init__(self, person: str, sampling: Sampling, perform: Perform) -> None:
        self._person = person
        self._sampling = sampling
        self._perform = perform

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "model", **self._sampling.plain()}

    async def act(self, context: Context) -> str:
        book = context.world.rulebooks[self._person]
        answered = already_answered(context.past)
        asked: dict[int, Planned] = {}
        """Replies that are being worded, by their effect."""
        words: dict[int, str] = {}
        ready: list[Planned] = []
        mind, decision = wake(book, Mind(), context.now)
        await self._word(context, decision, asked)
        while True:
            mind, replies = due(mind, context.now)
            ready.extend(reply for reply in replies if (reply.reply_to, reply.text) not in answered)
            for reply in [reply for reply in ready if reply.id in words]:
                ready.remove(reply)
                await _send(context, reply, words.pop(reply.id))
            moment = next_due(mind)
            timeout = None if moment is None else moment - context.now
            messages, answers = await context.receive_or_answers(timeout)
            for effect, answer in answers.items():
                reply = asked.pop(effect)
                words[reply.id] = reworded(reply, answer)
            for message in messages:
                mind, decision = hear(
                    book, mind, message.text, message.sender, message.seq, message.at, context.reached
                )
                await self._word(context, decision, asked)

    async def _word(self, context: Context, decision: Decision, asked: dict[int, Planned]) -> None:
        """Begin to word new replies, and leave off those that were withdrawn."""
        for effect in [effect for effect, reply in asked.items() if reply.id in decision.withdrawn]:
            del asked[effect]
            await context.cancel(effect, "the reply was withdrawn")
        person = context.world.people[self._person]
        for reply in decision.replies:
            prompt = (
                {"role": "system", "content": _instructions(self._person, person)},
                {"role": "user", "content": reply.text},
            )
            request = Request("model", prompt, self._sampling.settings, self._sampling.price)
            asked[await context.start(request, self._perform)] = reply


async def _send(context: Context, reply: Planned, text: str) -> None:
    await context.send(reply.to, text, reply_to=reply.reply_to, gives=reply.gives, mark=reply.mark)


def already_answered(past: Sequence[Event]) -> set[tuple[int | None, str]]:
    """What a predecessor has said, and to which message: not to be said again by whoever takes over."""
    return {(event.body.reply_to, event.body.text) for event in past if isinstance(event.body, MessageSent)}


def _instructions(name: str, person: Person) -> str:
    who = ", ".join(part for part in (name, person.role) if part)
    about = f" {person.about}" if person.about else ""
    return (
        f"You are {who}.{about} You write to a colleague in a chat. You are given what you have to say. Say it in "
        "your own words and in the same language, as briefly. Keep every number, date, name and identifier exactly as "
        "it is. Leave nothing out and add nothing. Write the message only."
    )


def reworded(reply: Planned, answer: Answer) -> str:
    """A model's words for a reply, if they say the same as far as can be told; else the words of the file."""
    plain = reply.text
    if answer.refused is not None:
        return plain
    text: str = answer.value["text"].strip()
    if not text or len(text) > 4 * len(plain) + 200 or answer.value["stop"] == "length":
        return plain
    given = [value for value in reply.gives.values() if not isinstance(value, bool | dict | list) and value is not None]
    kept = [value for value in given if mentions(plain, value)]
    if not all(mentions(text, value) for value in [*kept, *_telling(plain)]):
        return plain
    # A number that nobody decided to tell would be a disclosure without an event. The other way round this is strict:
    # a date in another notation is a loss, too, since the model was told to keep it as it is.
    return text if all(mentions(plain, value) for value in _telling(text)) else plain


def _telling(text: str) -> list[str]:
    """Words with digits in them: numbers, dates, identifiers; without the signs around them."""
    words = []
    for word in text.split():
        first = next((i for i, c in enumerate(word) if c.isalnum()), len(word))
        last = next((i for i in range(len(word), first, -1) if word[i - 1].isalnum()), first)
        if any(character.isdigit() for character in word):
            words.append(word[first:last])
    return words
