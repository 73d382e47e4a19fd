"""A baseline that has learnt by heart: the nearest training request, and its calls with this request's values.

Knows demonstrations, words, and the agent that a chat model plays. Does not know the world: where a training request
differs from this one, its words are replaced by those that stand in their place here. What tools return it never uses,
so whatever is not in the request, it gets wrong unless it happens to be the same as in training. A policy that is not
well ahead of it has not been shown to do more than remember.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Literal, NamedTuple

import msgspec

from ..agents.agent import Answer, Context, Outside, Request
from ..agents.answers import parse_json
from ..agents.counting import UTF8_4, as_json, utf8_4
from ..agents.model import ModelAgent, ModelOptions
from ..agents.prompts import FINISH
from ..events.event import Json
from ..worlds.world import World
from .lessons import Lesson

KIND = "memoriser"

_WORD = re.compile(r"\w(?:[\w.,:@/'-]*\w)?|[^\w\s]")
"""A word, number, date or id; or a sign between them."""
_RUN = 12
"""Words that a value may have."""


class NothingLearnt(ValueError):
    """There is no demonstration to remember."""


class Memory(msgspec.Struct, frozen=True):
    """A demonstration as it is remembered: what was asked, and what was then decided."""

    asked: str
    """The request as its model was shown it, and the instructions behind it."""
    decisions: tuple[tuple[dict[str, Json], ...], ...]
    """Of each decision its calls, as `{"name", "args"}`."""


class Memoriser:
    """Plays one memory, whatever comes back."""

    def __init__(self, memory: Memory, wording: Literal["brief"] | None = None) -> None:
        self._memory = memory
        self._options = ModelOptions(model=KIND, wording=wording)

    @property
    def specification(self) -> dict[str, Json]:
        told = {"wording": self._options.wording} if self._options.wording else {}
        return {"kind": KIND, **told, **msgspec.to_builtins(self._memory, builtin_types=(dict,))}

    async def act(self, context: Context) -> str:
        return await ModelAgent(self._options, self._perform).act(context)

    async def _perform(self, request: Request) -> Outside:
        """What was decided at this place of the memory, in the words of this request."""
        made = sum(message.get("role") == "assistant" for message in request.prompt)
        calls: list[Json] = [{"name": FINISH, "args": {"summary": ""}}]
        if made < len(self._memory.decisions):
            here = Substitution(self._memory.asked, asked(request.prompt))
            calls = [{"name": c["name"], "args": here.of(c["args"])} for c in self._memory.decisions[made]]
        value = {"text": "", "calls": calls, "stop": "tool_calls"}
        return Outside(Answer(value=value, tokens=sum(utf8_4(as_json(call)) for call in calls), counted=UTF8_4))


def build(specification: dict[str, Json]) -> Memoriser:
    """The memoriser that a log names. Raises msgspec.ValidationError."""
    given = {name: value for name, value in specification.items() if name not in ("kind", "wording")}
    return Memoriser(msgspec.convert(given, Memory), specification.get("wording"))


def memoriser(lessons: Sequence[Lesson], world: World) -> Memoriser:
    """Who plays the lesson whose request is most like this world's. Raises NothingLearnt."""
    whole = [lesson for lesson in lessons if not lesson.unlearnt]
    if not whole:
        raise NothingLearnt("there is no demonstration to remember")
    request = Counter(_words("\n".join(opening.text for opening in world.openings)))
    near = [_overlap(request, Counter(_words(_request(lesson.messages)))) for lesson in whole]
    lesson = whole[near.index(max(near))]
    brief = "\nPeople you can write to" not in asked(lesson.messages)
    return Memoriser(_memory(lesson), "brief" if brief else None)


def _memory(lesson: Lesson) -> Memory:
    decisions = [
        tuple(
            {"name": call["function"]["name"], "args": parse_json(call["function"]["arguments"])}
            for call in message.get("tool_calls", ())
        )
        for message in lesson.messages
        if message["role"] == "assistant"
    ]
    return Memory(asked(lesson.messages), tuple(decisions))


def asked(messages: Sequence[Json]) -> str:
    """The first message to the model, and the instructions behind it."""
    system = next((m["content"] for m in messages if m.get("role") == "system"), "")
    return f"{_request(messages)}\n{system}"


def _request(messages: Sequence[Json]) -> str:
    return next((str(m["content"]) for m in messages if m.get("role") == "user"), "")


def _words(text: str) -> list[str]:
    return [found.casefold() for found in _WORD.findall(text)]


def _overlap(one: Counter[str], other: Counter[str]) -> Fraction:
    """Words in common over words in either: 1 for the same words."""
    return Fraction((one & other).total(), max(1, (one | other).total()))


# --- this request's values ---------------------------------------------------------------------------------


class _Span(NamedTuple):
    start: int
    stop: int


class Substitution:
    """What stands in one text where something stands in another, by aligning both word by word."""

    def __init__(self, there: str, here: str) -> None:
        self._here = here
        found = [(match[0], match.span()) for match in _WORD.finditer(there)]
        self._there = [word for word, _ in found]
        self._spans = [match.span() for match in _WORD.finditer(here)]
        words = [here[start:stop] for start, stop in self._spans]
        self._blocks = SequenceMatcher(None, self._there, words, autojunk=False).get_opcodes()

    def of(self, value: Json) -> Json:
        """A value with the words of the one text replaced by those of the other; names of fields stay."""
        if isinstance(value, dict):
            return {name: self.of(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.of(inner) for inner in value]
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        return _number(self._mapped([as_json(value)])) or value

    def _text(self, text: str) -> str:
        matches = list(_WORD.finditer(text))
        words = [match[0] for match in matches]
        whole = self._mapped(words)
        if whole is not None:
            return whole
        parts, end, place = [], 0, 0
        while place < len(words):
            size, mapped = next(self._runs(words[place : place + _RUN]), (1, None))
            if mapped is not None:
                parts += [text[end : matches[place].start()], mapped]
                end = matches[place + size - 1].end()
            place += size
        return "".join([*parts, text[end:]])

    def _runs(self, words: Sequence[str]) -> Iterator[tuple[int, str]]:
        """From the longest on, beginnings of `words` that are a value in the one text, and what it is in the other."""
        if _is_value(words[0]):
            for size in range(len(words), 0, -1):
                mapped = self._mapped(words[:size]) if _is_value(words[size - 1]) else None
                if mapped is not None:
                    yield size, mapped

    def _mapped(self, words: Sequence[str]) -> str | None:
        """What stands in the other text for these words; None if they are not in the one, or nothing stands there."""
        size = len(words)
        if not size:
            return None
        starts = (place for place, word in enumerate(self._there) if word == words[0])
        start = next((s for s in starts if self._there[s : s + size] == list(words)), None)
        if start is None:
            return None
        span = _Span(self._place(start, False), self._place(start + size, True))
        if span.start >= span.stop:
            return None
        return self._here[self._spans[span.start][0] : self._spans[span.stop - 1][1]]

    def _place(self, place: int, ending: bool) -> int:
        """Where a boundary between words of the one text is in the other; within a block that differs in length, as
        far from its beginning where something begins, from its end where something ends."""
        for _, i1, i2, j1, j2 in self._blocks:
            if (i1 < place <= i2) if ending else (i1 <= place < i2):
                return max(j1, j2 - (i2 - place)) if ending else min(j2, j1 + place - i1)
        return 0 if not ending else len(self._spans)


def _is_value(word: str) -> bool:
    """Whether a word looks like a name, a number or an id."""
    return any(letter.isdigit() or letter.isupper() for letter in word)


def _number(text: str | None) -> Json:
    """The number that a text is; None for any other."""
    try:
        found = parse_json(text) if text is not None else None
    except ValueError:
        return None
    return None if isinstance(found, bool | str | list | dict) else found
