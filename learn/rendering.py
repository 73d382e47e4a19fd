"""From the prompts of an agent to token ids, and never back: what was sampled stays as it was.

Knows the prompts of `agents.model` and a chat template. Does not know logs or models. A `Reader` follows one life of an
agent: where a prompt extends the last one, its ids are the last ids, the ids that were sampled, and the ids of what is
new; where it does not, since the context was cut, a new segment begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from ..agents.answers import parse_json
from ..agents.counting import as_json
from ..agents.prompts import decided
from ..events.event import Json
from .dialects import Dialect
from .signatures import signatures
from .templates import Template, Turn
from .tokens import Tokens


class Rendering:
    """How a model reads: its tokenizer and chat template. `tokenizer` is a `PreTrainedTokenizerBase` of transformers.

    Raises TemplateError for one without a usable chat template.
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
        return [*self.tokens.of(self.dialect.write(text, calls)), self.template.end]

    def read(self, ids: Sequence[int]) -> tuple[str, list[Json]]:
        """Text and calls of what the policy wrote."""
        body = ids[:-1] if ids and ids[-1] in self.template.ends else ids
        return self.dialect.read(self.tokens.text(body))

    def turns(self, messages: Sequence[Json], written: dict[bytes, tuple[int, ...]]) -> list[Turn]:
        """Messages of a prompt as turns. `written` has the ids of answers by their `fingerprint`."""
        tools = [tool for message in messages if "tools" in message for tool in message["tools"]]
        turns: list[Turn] = []
        for message in messages:
            role = message.get("role")
            if role == "assistant":
                turns.append(Turn("assistant", ids=written.get(fingerprint(message)) or self._told(message)))
            elif role == "system":
                turns.append(Turn("system", self._system(str(message["content"]), tools)))
            elif role is not None:
                turns.append(Turn(role, str(message["content"])))
        return turns

    def _told(self, message: Json) -> tuple[int, ...]:
        """Ids of an answer that another gave."""
        calls = [
            {"name": call["function"]["name"], "args": parse_json(call["function"]["arguments"])}
            for call in message.get("tool_calls", ())
        ]
        return tuple(self.answer(message.get("content") or "", calls))

    def _system(self, text: str, tools: Sequence[Json]) -> str:
        """The system message: always there, so that no template puts one of its own, and with the tools."""
        parts = [text]
        if tools:
            parts.append(f"Tools:\n{signatures(tools)}")
            if self.dialect.teaching:
                parts.append(self.dialect.teaching)
        return "\n\n".join(parts)


def fingerprint(message: Json) -> bytes:
    return sha256(as_json(message).encode()).digest()


class Reader:
    """The ids of one agent's prompts and answers, as they come."""

    def __init__(self, rendering: Rendering) -> None:
        self._rendering = rendering
        self.segments: list[list[int]] = []
        """The last one is being written."""
        self._shown: list[Json] = []
        """The messages of the last prompt."""
        self._since: list[Json] = []
        """Those of them that came after the last answer; all of them before the first."""
        self._start = self._end = 0
        """Where the last prompt ended, and the last answer; 0 if the segment has no answer yet."""
        self._ended = self._answered = False
        """The policy ended its last turn itself; the last prompt was answered."""
        self._decisions = 0
        self._written: dict[bytes, tuple[int, ...]] = {}

    def prompt(self, messages: Sequence[Json]) -> list[int]:
        """Ids of a prompt: the whole segment, not to be changed."""
        rendering, shown = self._rendering, self._shown
        if not self.segments:
            self.segments.append([])
        segment = self.segments[-1]
        del segment[self._end :]  # a prompt that was never answered is no decision
        new = list(messages[len(shown) :])
        extends = self._end > 0 and list(messages[: len(shown)]) == shown
        if self._answered and new and new[0].get("role") == "assistant":
            new = new[1:]
        since = [*(() if self._answered else self._since), *new]
        self._shown, self._answered = list(messages), False
        if extends and not any(message.get("role") == "assistant" for message in since):
            self._since = since
            segment += rendering.template.following(rendering.turns(since, self._written), self._ended)
        else:
            if self._end:
                segment = []
                self.segments.append(segment)
            self._since, self._end = self._shown, 0
            segment += rendering.template.opening(rendering.turns(messages, self._written))
        self._start = len(segment)
        return segment

    def answered(self, ids: Sequence[int], value: Json) -> tuple[int, int, int]:
        """Append what the policy wrote in answer to the last prompt: the segment, and where that starts and stops.

        `value` is the answer as events have it. Raises ValueError where there is nothing to answer.
        """
        if not self.segments or self._answered:
            raise ValueError("there is no prompt that could be answered")
        segment = self.segments[-1]
        segment += ids
        self._end = len(segment)
        self._ended = bool(ids) and ids[-1] == self._rendering.template.end
        self._answered = True
        self._decisions += 1
        message = decided(value.get("text") or "", value.get("calls") or (), self._decisions)
        self._written[fingerprint(message)] = tuple(ids)
        return len(self.segments) - 1, self._start, self._end
