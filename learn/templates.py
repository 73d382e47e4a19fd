"""A chat template, taken apart: the ids that it puts before, between and behind the contents of messages.

Knows Jinja templates of tokenizers, through `apply_chat_template`. Does not know what the contents are. Each content is
replaced by a mark, the template is rendered once for each sequence of roles, and cut at the marks; so contents never
pass through the template, and what was sampled is never rendered again. What a template cannot do (a system message,
tool results, two messages of a user in a row) is found by trying, and done in another way that is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from .dialects import THOUGHT, THOUGHT_ENDS, Dialect, dialect_of
from .tokens import Piece, Tokens

_OPEN, _CLOSE = "\ue0f1", "\ue0f2"
"""Characters of private use: no template knows them, and none trims them."""
_DATE = "1 January 2026"
"""What templates that tell the date are given: the workspace has a date of its own."""
_TODAY = "{% macro strftime_now(format) %}" + _DATE + "{% endmacro %}{{ '' }}"
"""In front of a template. What stands last keeps a line's end behind it, as a block would not."""
_CALL = "000000000"
"""The id of the call that a result answers, for templates that want one."""

_Literals: TypeAlias = tuple[tuple[int, ...], ...]


class TemplateError(ValueError):
    """A chat template that cannot be used, in a sentence."""


class Turn(NamedTuple):
    """A message as a template takes it. `ids` are the policy's own, for an answer of it."""

    role: str
    pieces: tuple[Piece, ...] = ()
    ids: tuple[int, ...] | None = None


class Template:
    """The chat template of a tokenizer. Raises TemplateError if there is none, or it cannot be used."""

    def __init__(self, tokens: Tokens) -> None:
        source = _source(tokens.tokenizer)
        self._tokens = tokens
        self._source = source
        self.dialect: Dialect = dialect_of(source, map(str, tokens.tokenizer.added_tokens_decoder.values()))
        self._literals = lru_cache(1024)(self._tokenised)
        self._bare = self._applied(["user"], prompt=True) == self._applied(["user"], prompt=False)
        """It does not say by itself how an answer begins."""
        self.system = self._can("system", "user", "assistant", "user")
        self.alternates = not self._can("user", "user", "assistant", "user", "user")
        self.tools = self._can("user", "assistant", "tool", "tool", "assistant", "tool", "user") and self._has_tools(
            source
        )
        self._render(("user", "assistant") * 3 + ("user",))
        self.end = self._end()
        """What the policy writes to end its turn."""
        eos = tokens.tokenizer.eos_token_id
        self.ends = frozenset([self.end, *([eos] if eos is not None else [])])
        """After any of these it writes nothing more."""
        opening = self._render(("user",))[-1]
        self.thinks = THOUGHT in opening and THOUGHT_ENDS not in opening
        """The prompt begins the policy's thought."""

    @property
    def notes(self) -> list[str]:
        """What is done in another way than the template would, for a run card."""
        found = {
            "the template has no system message: it stands before the first message of the user": not self.system,
            "the template has no tool results: they stand in messages of the user": not self.tools,
            "the template has no two messages of the user in a row: they are joined": self.alternates,
        }
        return [sentence for sentence, holds in found.items() if holds]

    def opening(self, turns: Sequence[Turn]) -> list[int]:
        """Ids of a whole prompt, up to where the policy writes."""
        plain = self._plain(turns, first=True)
        first, *rest = self._literals(tuple(turn.role for turn in plain), True)
        return self._filled(first, plain, rest)

    def following(self, turns: Sequence[Turn], ended: bool) -> list[int]:
        """Ids of what is new since an answer of the policy, from the end of that answer on.

        `ended`: the policy has written the end of its turn itself.
        """
        plain = self._plain(turns, first=False)
        first, *rest = self._literals(tuple(turn.role for turn in plain), False)
        return self._filled(self._behind(first, ended), plain, rest)

    def _behind(self, literal: tuple[int, ...], ended: bool) -> tuple[int, ...]:
        """What stands behind an answer, without the end of its turn where that is there already."""
        return literal[literal.index(self.end) + 1 :] if ended and self.end in literal else literal

    def _filled(self, first: Sequence[int], turns: Sequence[Turn], literals: Sequence[tuple[int, ...]]) -> list[int]:
        ids = list(first)
        for turn, literal in zip(turns, literals, strict=True):
            if turn.ids is None:
                ids += self._tokens.of(turn.pieces)
                ids += literal
            else:
                ids += turn.ids
                ids += self._behind(literal, turn.ids[-1:] == (self.end,))
        return ids

    def _plain(self, turns: Sequence[Turn], first: bool) -> list[Turn]:
        """The turns with only such roles, in such an order, as the template can take."""
        plain: list[Turn] = []
        for turn in turns:
            if turn.role == "tool" and not self.tools:
                turn = Turn("user", (Piece("[result] "), *turn.pieces))
            elif turn.role == "system" and not self.system:
                if not turn.pieces:
                    continue
                turn = Turn("user", turn.pieces)
            joins = self.alternates or (first and not self.system and len(plain) == 1)
            if joins and plain and plain[-1].role == turn.role == "user":
                plain[-1] = Turn("user", (*plain[-1].pieces, Piece("\n\n"), *turn.pieces))
            else:
                plain.append(turn)
        return plain

    # --- rendering marks -----------------------------------------------------------------------------------

    def _can(self, *roles: str) -> bool:
        try:
            self._render(roles)
            return True
        except TemplateError:
            return False

    def _has_tools(self, source: str) -> bool:
        """Whether results are thought of, rather than put where anybody's message would be."""
        marked = [self._tokens.special.intersection(self._literals((role,), False)[0]) for role in ("tool", "user")]
        return "tool" in source or not marked[0] <= marked[1]

    def _end(self) -> int:
        """The token that the template itself puts behind an answer, else the tokenizer's own end of a text."""
        closing = self._applied(["user", "assistant"], prompt=False).rpartition(_CLOSE)[2]
        found = [i for i in self._tokens.trusted(closing) if i in self._tokens.special]
        eos = self._tokens.tokenizer.eos_token_id
        if not found and eos is None:
            raise TemplateError("no token ends a turn in this chat template, so a policy could never stop")
        return int(found[0] if found else eos)

    def _tokenised(self, roles: tuple[str, ...], first: bool) -> _Literals:
        """The ids around the contents of these roles: one more than there are roles.

        Those of a whole prompt if it is the `first`, else of what comes behind an answer.
        """
        before = () if first else ("user", "assistant")
        texts = self._render((*before, *roles))[len(before) :]
        return tuple(tuple(self._tokens.trusted(text, first and not place)) for place, text in enumerate(texts))

    def _render(self, roles: Sequence[str]) -> list[str]:
        """The texts around the contents of these roles, up to where the policy writes. Raises TemplateError."""
        asks = roles[-1:] != ("assistant",)
        # A template that does not say how an answer begins says it where there is one.
        shown = [*roles, "assistant"] if self._bare and asks else list(roles)
        texts = _cut(self._applied(shown, prompt=not self._bare), shown)
        if not self._bare:
            return texts
        # It may set a space before an answer, which a model writes itself, as a part of the first word.
        texts = [text.rstrip(" ") if role == "assistant" else text for text, role in zip(texts, [*shown, ""])]
        return texts[: len(roles) + 1]

    def _applied(self, roles: Sequence[str], prompt: bool) -> str:
        chat = [_message(role, _mark(place)) for place, role in enumerate(roles)]
        try:
            return str(
                self._tokens.tokenizer.apply_chat_template(
                    chat,
                    chat_template=_TODAY + self._source,
                    tokenize=False,
                    add_generation_prompt=prompt,
                    date_string=_DATE,
                )
            )
        except Exception as error:  # whatever a stranger's template raises
            raise TemplateError(f"the chat template cannot be rendered: {error}") from error


def _source(tokenizer: Any) -> str:
    """The text of the template: of several, the one for chats."""
    given = tokenizer.chat_template
    source = given.get("default") if isinstance(given, dict) else given
    if not source:
        raise TemplateError("the tokenizer has no chat template, so nobody knows how this model reads a chat")
    return str(source)


def _mark(place: int) -> str:
    return f"{_OPEN}{place}{_CLOSE}"


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content, **({"name": "result", "tool_call_id": _CALL} if role == "tool" else {})}


def _cut(text: str, roles: Sequence[str]) -> list[str]:
    """A rendered chat, cut at its marks. Raises TemplateError unless each is there once, in order."""
    texts: list[str] = []
    for place, role in enumerate(roles):
        if text.count(_mark(place)) != 1:
            raise TemplateError(
                f"the chat template does not show message {place + 1} of {len(roles)} ({role}) exactly once, so what "
                "was said cannot be told from what the template adds"
            )
        before, _, text = text.partition(_mark(place))
        if _OPEN in before:
            raise TemplateError("the chat template changes the order of messages")
        texts.append(before)
    return [*texts, text]
