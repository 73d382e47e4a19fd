"""A grammar for answers: one call of a tool that there is, with arguments that it has, as JSON that can be read.

Knows how calls are written (`dialects`) and which tools there are. Does not know models: `Constraint` says which ids
may come next, and whoever samples keeps to them. What is called, and with which values, is up to the policy: so a
baseline under this grammar shows what is left when the format is given away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from ..events.event import Json
from .dialects import Dialect
from .rendering import Rendering

DEPTH = 4
"""So deep may values be nested."""
_ESCAPED = '"\\/bfnrt'


class _State(NamedTuple):
    """Where in an answer a text has come to. `rest` is literal text that must come first; then `mode` says what may.

    Modes: `name` (of the tool, `word` so far), `open` (before its arguments), `first` and `item` (a member or element
    comes, for `first` or none), `key` (an argument, `word` so far), `value`, `string`, `escape`, `number`, `next`
    (after a value), `end`. `stack` holds the open brackets, `used` the arguments that were given.
    """

    mode: str
    rest: str = ""
    word: str = ""
    stack: str = ""
    tool: str = ""
    used: tuple[str, ...] = ()
    inner: bool = False
    """A string is the key of an inner object, not a value."""


class Grammar:
    """What may be written, character by character. `tools` are those of the chat format."""

    def __init__(self, dialect: Dialect, tools: Sequence[Mapping[str, Json]]) -> None:
        functions = [tool["function"] for tool in tools]
        self._arguments: dict[str, tuple[str, ...]] = {
            each["name"]: tuple((each.get("parameters") or {}).get("properties") or ()) for each in functions
        }
        written = "".join(piece.text for piece in dialect.write("", [{"name": _NAME, "args": {}}]))
        before, _, rest = written.partition(_NAME)
        self._middle, _, self._after = rest.partition("{}")
        self.start = _State("name", before)

    def step(self, state: _State, character: str) -> _State | None:
        """The state after one more character; None if it may not stand here."""
        if state.rest:
            return state._replace(rest=state.rest[1:]) if character == state.rest[0] else None
        step = _STEPS.get(state.mode)
        return None if step is None else step(self, state, character)

    def ended(self, state: _State) -> bool:
        return state.mode == "end" and not state.rest

    # --- the parts -----------------------------------------------------------------------------------------

    def _name(self, state: _State, character: str) -> _State | None:
        if state.word in self._arguments and self._middle[:1] == character:
            return _State("open", self._middle[1:], tool=state.word)
        word = state.word + character
        return state._replace(word=word) if any(name.startswith(word) for name in self._arguments) else None

    def _open(self, state: _State, character: str) -> _State | None:
        return state._replace(mode="first", stack="{") if character == "{" else None

    def _first(self, state: _State, character: str) -> _State | None:
        """After an opening brace or bracket: something in it, or nothing."""
        if character == ("}" if state.stack[-1] == "{" else "]"):
            return self._closed(state)
        return self._item(state, character)

    def _item(self, state: _State, character: str) -> _State | None:
        """The beginning of a member or an element."""
        if state.stack[-1] == "[":
            return self._value(state, character)
        if character != '"':
            return None
        if len(state.stack) > 1:
            return state._replace(mode="string", inner=True)
        return state._replace(mode="key", word="") if self._left(state) else None

    def _left(self, state: _State) -> list[str]:
        """Arguments that have not been given yet."""
        return [name for name in self._arguments[state.tool] if name not in state.used]

    def _key(self, state: _State, character: str) -> _State | None:
        left = self._left(state)
        if character == '"' and state.word in left:
            return state._replace(mode="value", rest=":", word="", used=(*state.used, state.word))
        word = state.word + character
        return state._replace(word=word) if any(name.startswith(word) for name in left) else None

    def _value(self, state: _State, character: str) -> _State | None:
        if character == '"':
            return state._replace(mode="string", inner=False)
        if character in "{[" and len(state.stack) < DEPTH:
            return state._replace(mode="first", stack=state.stack + character)
        if character in "123456789":
            return state._replace(mode="number", word="i")
        if character in "0-":
            return state._replace(mode="number", word="0" if character == "0" else "-")
        literal = {"t": "rue", "f": "alse", "n": "ull"}.get(character)
        return None if literal is None else state._replace(mode="next", rest=literal)

    def _string(self, state: _State, character: str) -> _State | None:
        if character == '"':
            return state._replace(mode="value", rest=":") if state.inner else state._replace(mode="next")
        if character == "\\":
            return state._replace(mode="escape")
        return state if character >= " " else None

    def _escape(self, state: _State, character: str) -> _State | None:
        return state._replace(mode="string") if character in _ESCAPED else None

    def _number(self, state: _State, character: str) -> _State | None:
        """`word` is what was last: `-`, a lone `0`, `i`nteger digits, the `.`, or `f`raction digits."""
        last = state.word
        if character.isascii() and character.isdigit():
            after = {"-": "0" if character == "0" else "i", "0": "", "i": "i", ".": "f", "f": "f"}[last]
            return state._replace(word=after) if after else None
        if character == ".":
            return state._replace(word=".") if last in "0i" else None
        return self._next(state._replace(mode="next", word=""), character) if last in "0if" else None

    def _next(self, state: _State, character: str) -> _State | None:
        opened = state.stack[-1]
        if character == ("}" if opened == "{" else "]"):
            return self._closed(state)
        if character != ",":
            return None
        return state._replace(mode="item") if len(state.stack) > 1 or self._left(state) else None

    def _closed(self, state: _State) -> _State:
        stack = state.stack[:-1]
        return state._replace(mode="next", stack=stack) if stack else _State("end", self._after)


_NAME = "\ue0f3"
_STEPS = {
    "name": Grammar._name,
    "open": Grammar._open,
    "first": Grammar._first,
    "item": Grammar._item,
    "key": Grammar._key,
    "value": Grammar._value,
    "string": Grammar._string,
    "escape": Grammar._escape,
    "number": Grammar._number,
    "next": Grammar._next,
}

_Node: TypeAlias = dict[str, Any]
"""The vocabulary by its characters: `node[character]` is another node, `node[""]` the ids that end here."""


class Vocabulary:
    """The texts of all ids of a model, told apart by what they may do inside a string. Made once for a model."""

    def __init__(self, rendering: Rendering) -> None:
        tokens = rendering.tokens
        self.end = rendering.template.end
        anchor = tokens.of([*rendering.dialect.write("", [{"name": "a", "args": {}}])])[-1:]
        known = len(tokens.text(anchor))
        self.texts = {
            number: tokens.text([*anchor, number])[known:]
            for number in range(len(tokens.tokenizer))
            if number not in rendering.template.ends
        }
        self.special = tokens.special
        self.tree: _Node = {}
        self.marked: _Node = {}
        """Of those that may end a string."""
        self.inside: tuple[int, ...] = tuple(
            number
            for number, text in self.texts.items()
            if text and number not in self.special and not any(c in '"\\' or c < " " for c in text)
        )
        """Those that stay inside a string."""
        plain = frozenset(self.inside)
        for number, text in self.texts.items():
            if text:
                _add(self.tree, text, number)
                if number not in plain and number not in self.special:
                    _add(self.marked, text, number)


def _add(tree: _Node, text: str, number: int) -> None:
    node = tree
    for character in text:
        node = node.setdefault(character, {})
    node.setdefault("", []).append(number)


class Constraint:
    """Which ids may come next in an answer: the `allowed` of what a policy is asked."""

    def __init__(self, vocabulary: Vocabulary, grammar: Grammar) -> None:
        self._vocabulary = vocabulary
        self._grammar = grammar
        self._known: dict[tuple[int, ...], _State] = {(): grammar.start}
        self._after = lru_cache(4096)(self._ids_after)

    def __call__(self, ids: Sequence[int]) -> Sequence[int]:
        return self._after(self._state(tuple(ids)))

    def _state(self, ids: tuple[int, ...]) -> _State:
        """Where an answer has come to. Raises ValueError for one that did not keep to the grammar."""
        known = len(ids)
        while ids[:known] not in self._known:
            known -= 1
        state: _State | None = self._known[ids[:known]]
        for number in ids[known:]:
            for character in self._vocabulary.texts[number]:
                state = None if state is None else self._grammar.step(state, character)
        if state is None:
            raise ValueError("the answer has not kept to the grammar, so nothing can follow")
        if len(self._known) > 4096:
            self._known = {(): self._grammar.start}
        self._known[ids] = state
        return state

    def _ids_after(self, state: _State) -> tuple[int, ...]:
        vocabulary, grammar = self._vocabulary, self._grammar
        if grammar.ended(state):
            return (vocabulary.end,)
        if state.mode == "string" and not state.rest:
            return (*vocabulary.inside, *self._walk(vocabulary.marked, state))
        return tuple(self._walk(vocabulary.tree, state))

    def _walk(self, node: _Node, state: _State) -> Iterator[int]:
        """Ids whose text may stand here. A special token is never part of a string."""
        for character, below in node.items():
            if character == "":
                yield from below
            elif (after := self._grammar.step(state, character)) is not None:
                found = self._walk(below, after)
                inside = state.mode == "string" and not state.rest
                yield from (number for number in found if not (inside and number in self._vocabulary.special))
