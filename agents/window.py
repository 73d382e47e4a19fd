"""What of a long history is sent to a model: a pure function of the history, a budget, and a counting rule.

Knows messages in the chat format, and what may be left out of them. Does not know what they are about. The order of
sacrifices: long tool results lose their middle; then the oldest results become a line each; then the oldest turns go;
then, if a single turn is too much, every long text in it is shortened. The first `keep` messages (tools, instructions,
request) always stay, and a call never loses its result or a result its call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ..events.event import Json
from .counting import RULES, UTF8_4, as_json
from .pictures import TOKENS, is_part

LEFT_OUT = "[This result is left out here to save space. Call the tool again if you need it.]"
TURNS_LEFT_OUT = "[Earlier turns are left out here to save space.]"
_PER_MESSAGE = 4
_SMALLEST = 32
"""Tokens to which a text may be shortened at most."""

_Count = Callable[[str], int]


class Window(msgspec.Struct, frozen=True):
    """What is sent. Positions are indices into the whole history."""

    messages: tuple[Json, ...]
    left_out: tuple[int, ...] = ()
    shortened: tuple[int, ...] = ()
    tokens: int = 0
    """Length of `messages` by the rule."""
    whole: int = 0
    """Length of the whole history."""


def fit(history: Sequence[Json], budget: int, *, keep: int, result: int, rule: str = UTF8_4) -> Window:
    """The window of at most `budget` tokens, if there is one: what is kept in any case may be longer.

    `result` is how many tokens a tool result may have even where there is room.
    """
    count = RULES[rule]
    draft = _Draft(history, budget, count)
    whole = draft.total
    draft.shorten([i for i, m in enumerate(history) if m.get("role") == "tool"], max(_SMALLEST, min(result, budget)))
    if draft.total > budget:
        turns = _turns(history, keep)
        draft.blank([i for turn in turns[:-1] for i in turn if history[i].get("role") == "tool"])
        draft.drop(turns[:-1])
        draft.squeeze([i for i in range(len(history)) if i not in draft.dropped])
    messages = [draft.messages[i] for i in range(len(history)) if i not in draft.dropped]
    if draft.dropped:
        messages.insert(keep, _turns_left_out())
    return Window(tuple(messages), tuple(sorted(draft.dropped)), tuple(sorted(draft.changed)), draft.total, whole)


def length(message: Json, count: _Count) -> int:
    """Tokens of one message by a counting rule."""
    if "role" not in message:
        return count(as_json(message))
    content = message.get("content")
    pictures = [each for each in content if is_part(each)] if isinstance(content, list) else []
    if pictures:
        content = [each for each in content if not is_part(each)]
    total = count(content) if isinstance(content, str) else count(as_json(content))
    total += TOKENS * len(pictures)
    for call in message.get("tool_calls", ()):
        total += count(call["function"]["name"]) + count(call["function"]["arguments"])
    return total + _PER_MESSAGE


def shorten(text: str, limit: int, count: _Count) -> str:
    """`text` within `limit` tokens: its beginning and its end, and between them how much is missing."""
    tokens = count(text)
    if tokens <= limit:
        return text
    room = len(text) * limit // tokens
    while True:
        head = room * 2 // 3
        tail = room - head
        line = f"\n[… {len(text) - room} of {len(text)} characters are left out here …]\n"
        short = text[:head] + line + (text[-tail:] if tail else "")
        if room == 0 or count(short) <= limit:
            return short
        room = min(room - 1, room * 7 // 8)


def _turns(history: Sequence[Json], keep: int) -> list[list[int]]:
    """Positions after the first `keep`, in groups that stay or go together: an answer, and what came of it."""
    turns: list[list[int]] = []
    for position in range(keep, len(history)):
        if not turns or history[position].get("role") == "assistant":
            turns.append([])
        turns[-1].append(position)
    return turns


def _turns_left_out() -> dict[str, Json]:
    return {"role": "user", "content": TURNS_LEFT_OUT}


class _Draft:
    """A history while it is being cut."""

    def __init__(self, history: Sequence[Json], budget: int, count: _Count) -> None:
        self.messages = list(history)
        self.changed: set[int] = set()
        self.dropped: set[int] = set()
        self._budget = budget
        self._count = count
        self._lengths = [length(message, count) for message in history]
        self.total = sum(self._lengths)

    def _replace(self, position: int, message: Json) -> None:
        self.messages[position] = message
        self.changed.add(position)
        self.total -= self._lengths[position]
        self._lengths[position] = length(message, self._count)
        self.total += self._lengths[position]

    def shorten(self, positions: Sequence[int], limit: int) -> None:
        """Shorten each long text of these messages, whether there is room or not."""
        for position in positions:
            if self._lengths[position] > limit:
                message = self._shortened(self.messages[position], limit)
                if message != self.messages[position]:
                    self._replace(position, message)

    def _shortened(self, message: Json, limit: int) -> Json:
        content = message.get("content")
        changed = dict(message)
        if isinstance(content, str):
            changed["content"] = shorten(content, limit, self._count)
        if message.get("tool_calls"):
            changed["tool_calls"] = [self._shortened_call(call, limit) for call in message["tool_calls"]]
        return changed

    def _shortened_call(self, call: Json, limit: int) -> Json:
        function = call["function"]
        if self._count(function["arguments"]) <= limit:
            return call
        arguments = as_json({"left_out": shorten(function["arguments"], limit // 2, self._count)})
        return {**call, "function": {**function, "arguments": arguments}}

    def blank(self, positions: Sequence[int]) -> None:
        """Replace tool results by a line, the oldest first, until there is room."""
        for position in positions:
            if self.total <= self._budget:
                return
            if self._lengths[position] > self._count(LEFT_OUT) + _PER_MESSAGE:
                self._replace(position, {**self.messages[position], "content": LEFT_OUT})

    def drop(self, turns: Sequence[Sequence[int]]) -> None:
        """Leave out whole turns, the oldest first, until there is room."""
        for turn in turns:
            if self.total <= self._budget:
                return
            if not self.dropped:
                self.total += length(_turns_left_out(), self._count)
            for position in turn:
                self.dropped.add(position)
                self.changed.discard(position)
                self.total -= self._lengths[position]

    def squeeze(self, positions: Sequence[int]) -> None:
        """Shorten whatever is long, more and more, until there is room or nothing is long any more."""
        limit = max((self._lengths[i] for i in positions), default=0)
        # From the end, so that of two that are as long the request, which everything else is about, gives last.
        while self.total > self._budget and limit > _SMALLEST:
            limit = max(_SMALLEST, limit * 3 // 4)
            for position in reversed(positions):
                if self.total <= self._budget:
                    return
                if self.messages[position].get("role") not in (None, "system"):
                    self.shorten([position], limit)
