"""From the prompts of an agent to token ids, and never back: what was sampled stays as it was.

Knows the prompts of `agents.model` and a chat template. Does not know logs or models. A `Reader` follows one life of an
agent: where a prompt extends the last one, its ids are the last ids, the ids that were sampled, and the ids of what is
new; where it does not, since the context was cut, a new segment begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..agents.answers import parse_json
from ..agents.counting import as_json
from ..agents.prompts import decided
from ..events.event import Json
from .dialects import THOUGHT_ENDS, Dialect, spoken
from .signatures import signatures
from .templates import Template, Turn
from .tokens import Piece, Tokens

Said: TypeAlias = tuple[str, ...]
"""What an answer says, however it was written: its text, and the names and arguments of its calls."""
Written: TypeAlias = tuple[Said, tuple[int, ...]]
"""An answer of the policy: what it says, and its ids."""


class Rendering:
    """How a model reads: its tokenizer and chat template. `tokenizer` is a `PreTrainedTokenizerBase` of transformers.

    Raises TokenizerError or TemplateError for one that cannot be used.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokens = Tokens(tokenizer)
        self.template = Template(self.tokens)
        self.digest = self.tokens.digest

    @property
    def dialect(self) -> Dialect:
        return self.template.dialect

    def answer(self, text: str, calls: Sequence[Json]) -> list[int]:
        """Ids of an answer that nobody sampled, with the end of its turn: tokenised once, as the model would write."""
        thought = [Piece(f"{THOUGHT_ENDS}\n\n", trusted=True)] if self.template.thinks else []
        return [*self.tokens.of([*thought, *self.dialect.write(text, calls)]), self.template.end]

    def read(self, ids: Sequence[int]) -> tuple[str, list[Json]]:
        """Text and calls of what the policy wrote; what it only thought is neither."""
        body = ids[:-1] if ids and ids[-1] in self.template.ends else ids
        return self.dialect.read(spoken(self.tokens.text(body), self.template.thinks))

    def opening(self, messages: Sequence[Json], written: Sequence[Written] = ()) -> list[int]:
        """Ids of a whole prompt. `written` are the policy's answers so far, of which `messages` may hold some."""
        tools = [tool for message in messages if "tools" in message for tool in message["tools"]]
        chat = [message for message in messages if "role" in message]
        instructions = ""
        if chat and chat[0]["role"] == "system":
            instructions, chat = _content(chat[0]), chat[1:]
        turns = [self._system(instructions, tools)]
        for message, ids in zip(chat, _own_ids(chat, written), strict=True):
            if message["role"] == "assistant" and ids is None:
                ids = tuple(self.answer(_content(message), calls_of(message)))
            turns.append(_turn(message) if ids is None else Turn("assistant", ids=ids))
        return self.template.opening(turns)

    def following(self, messages: Sequence[Json], ended: bool) -> list[int]:
        """Ids of messages that came after an answer. `ended`: the policy has written the end of that itself."""
        return self.template.following([_turn(message) for message in messages], ended)

    def _system(self, text: str, tools: Sequence[Json]) -> Turn:
        """The system message: always there, so that no template puts one of its own, and with the tools."""
        told = "\n\n".join(part for part in (text, f"Tools:\n{signatures(tools)}" if tools else "") if part)
        pieces = [Piece(told)] if told else []
        if tools and self.dialect.teaching:
            pieces.append(Piece(f"\n\n{self.dialect.teaching}", trusted=True))
        return Turn("system", tuple(pieces))


def _turn(message: Json) -> Turn:
    return Turn(message["role"], (Piece(_content(message)),))


def _content(message: Json) -> str:
    """The text of a message; some chats have a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return "" if content is None else str(content)


def calls_of(message: Json) -> list[Json]:
    """What a message of an assistant calls, as `{"name", "args"}`."""
    return [
        {"name": call["function"]["name"], "args": _arguments(call["function"]["arguments"])}
        for call in message.get("tool_calls") or ()
    ]


def _arguments(given: Json) -> Json:
    """Arguments as the chat format has them, a text of JSON. What cannot be read is what agents take it for: none."""
    if not isinstance(given, str):
        return given or {}
    try:
        return parse_json(given) if given.strip() else {}
    except ValueError:
        return {}


def _said(message: Json) -> Said:
    calls = (part for call in calls_of(message) for part in (str(call["name"]), as_json(call["args"])))
    return (_content(message), *calls)


def _own_ids(chat: Sequence[Json], written: Sequence[Written]) -> list[tuple[int, ...] | None]:
    """For each message of a chat the ids with which the policy wrote it, if it did and it says what they say.

    A history loses its oldest turns first, so both are gone through from their ends.
    """
    found: list[tuple[int, ...] | None] = [None] * len(chat)
    left = len(written)
    for place in range(len(chat) - 1, -1, -1):
        if chat[place]["role"] != "assistant":
            continue
        said = _said(chat[place])
        match = next((n for n in range(left - 1, -1, -1) if written[n][0] == said), None)
        if match is not None:
            found[place], left = written[match][1], match
    return found


class Reader:
    """The ids of one agent's prompts and answers, as they come."""

    def __init__(self, rendering: Rendering) -> None:
        self.segments: list[list[int]] = []
        """The last one is being written; it may end with a prompt that nobody has answered."""
        self._rendering = rendering
        self._shown: list[Json] = []
        """The messages of the last prompt."""
        self._since: list[Json] = []
        """Those of them that came after the last answer."""
        self._start = self._end = 0
        """In the last segment: where the last prompt ended, and the last answer; 0 if there is none yet."""
        self._ended = self._answered = False
        """The policy ended its last turn itself; the last prompt was answered."""
        self._written: list[Written] = []

    def prompt(self, messages: Sequence[Json]) -> list[int]:
        """Ids of a prompt: the whole segment, not to be changed."""
        messages, shown = list(messages), self._shown
        # The same messages are mostly the same objects, so this looks at each but into few.
        extends = messages[: len(shown)] == shown
        new = messages[len(shown) :]
        if not self.segments:
            self.segments.append([])
        elif extends and not new and not self._answered:
            return self.segments[-1]
        del self.segments[-1][self._end :]  # A prompt that was never answered is in no decision.
        since = new if self._answered else [*self._since, *new]
        if self._answered and new and new[0].get("role") == "assistant":
            extends = extends and _said(new[0]) == self._written[-1][0]
            since = new[1:]
        if extends and self._end and not any(message.get("role") == "assistant" for message in since):
            self.segments[-1] += self._rendering.following(since, self._ended)
        else:
            if self._end:
                self.segments.append([])
            since, self._end = [], 0
            self.segments[-1] += self._rendering.opening(messages, self._written)
        self._shown, self._since, self._answered = messages, since, False
        self._start = len(self.segments[-1])
        return self.segments[-1]

    def answered(self, ids: Sequence[int], value: Json) -> tuple[int, int, int]:
        """Append what the policy wrote in answer to the last prompt: the segment, and where that starts and stops.

        `value` is the answer as events have it. Raises ValueError where there is nothing to answer.
        """
        if not self.segments or self._answered:
            raise ValueError("there is no prompt that could be answered")
        self.segments[-1] += ids
        self._end = len(self.segments[-1])
        self._ended = bool(ids) and ids[-1] == self._rendering.template.end
        self._answered = True
        said = _said(decided(value.get("text") or "", value.get("calls") or (), 0))
        self._written.append((said, tuple(ids)))
        return len(self.segments) - 1, self._start, self._end

    def finished(self) -> tuple[tuple[int, ...], ...]:
        """All segments, each up to its last answer."""
        whole = self.segments if self._end else self.segments[:-1]
        return tuple(tuple(segment[: self._end] if segment is self.segments[-1] else segment) for segment in whole)
