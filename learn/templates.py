"""A chat template, taken apart: the ids that it puts before, between and behind the contents of messages.

Knows Jinja templates of tokenizers, through `apply_chat_template`. Does not know what the contents are. Each content is
replaced by a mark, the template is rendered once for each sequence of roles, and cut at the marks; so contents never
pass through the template, and what was sampled is never rendered again. What a template cannot do (a system message,
tool results, two messages of a user in a row) is found by trying, and done in another way that is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .dialects import Dialect, dialect_of
from .tokens import Tokens

_OPEN, _CLOSE = "\ue0f1", "\ue0f2"
"""Characters of private use: no template knows them, and none trims them."""
_DATE = "1 January 2026"
"""What templates that tell the date are given: the workspace has a date of its own."""


class TemplateError(ValueError):
    """A chat template that cannot be used, in a sentence."""


class Turn(NamedTuple):
    """A message as a template takes it. `ids` are the policy's own, for an answer of it."""

    role: str
    text: str = ""
    ids: tuple[int, ...] | None = None


class Template:
    """The chat template of a tokenizer. Raises TemplateError if there is none, or it cannot be used."""

    def __init__(self, tokens: Tokens) -> None:
        if not tokens.tokenizer.chat_template:
            raise TemplateError("the tokenizer has no chat template, so nobody knows how this model reads a chat")
        self._tokens = tokens
        source = str(tokens.tokenizer.chat_template)
        self.dialect: Dialect = dialect_of(source)
        self.literals = lru_cache(1024)(self._literals)
        self.system = self._can("system", "user")
        self.tools = "tool" in source and self._can("user", "assistant", "tool")
        self.alternates = not self._can("user", "user")
        closing = self._after_answer(("user",))[0]
        ends = [i for i in closing[:1] if i in tokens.special]
        eos = tokens.tokenizer.eos_token_id
        if not ends and eos is None:
            raise TemplateError("no token ends a turn in this chat template, so a policy could never stop")
        self.end: int = ends[0] if ends else eos
        """What the policy writes to end its turn."""
        self.ends = frozenset([self.end, *([eos] if eos is not None else [])])

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
        return self._filled(plain, self.literals(tuple(turn.role for turn in plain), True))

    def following(self, turns: Sequence[Turn], ended: bool) -> list[int]:
        """Ids of what is new since an answer of the policy, from the end of that answer on.

        `ended`: the policy has written the end of its turn itself.
        """
        plain = self._plain(turns, first=False)
        first, *rest = self._after_answer(tuple(turn.role for turn in plain))
        return self._filled(plain, (first[1:] if ended and first[:1] == (self.end,) else first, *rest))

    def _after_answer(self, roles: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        return self.literals(roles, False)

    def _filled(self, turns: Sequence[Turn], literals: Sequence[tuple[int, ...]]) -> list[int]:
        ids = list(literals[0])
        for turn, literal in zip(turns, literals[1:], strict=True):
            if turn.ids is None:
                ids += self._tokens.untrusted(turn.text)
                ids += literal
            else:
                ids += turn.ids
                ids += literal[1:] if turn.ids[-1:] == literal[:1] == (self.end,) else literal
        return ids

    def _plain(self, turns: Sequence[Turn], first: bool) -> list[Turn]:
        """The turns with only such roles, in such an order, as the template can take."""
        plain: list[Turn] = []
        for turn in turns:
            if turn.role == "tool" and not self.tools:
                turn = Turn("user", f"[result] {turn.text}")
            elif turn.role == "system" and not self.system:
                turn = Turn("user", turn.text)
            joins = self.alternates or (first and not self.system and len(plain) == 1)
            if joins and plain and plain[-1].role == turn.role == "user":
                plain[-1] = Turn("user", f"{plain[-1].text}\n\n{turn.text}")
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

    def _literals(self, roles: tuple[str, ...], first: bool) -> tuple[tuple[int, ...], ...]:
        """The ids around the contents of these roles: one more than there are roles."""
        before = () if first else ("user", "assistant")
        texts = self._render((*before, *roles))[len(before) :]
        return tuple(tuple(self._tokens.trusted(text)) for text in texts)

    def _render(self, roles: Sequence[str]) -> list[str]:
        marks = [f"{_OPEN}{number}{_CLOSE}" for number in range(len(roles))]
        chat = [_message(role, mark) for role, mark in zip(roles, marks, strict=True)]
        text = self._applied(chat, prompt=True)
        if roles[-1:] != ("assistant",) and text == self._applied(chat, prompt=False):
            # A template that does not say how an answer begins says it where there is one.
            extra = f"{_OPEN}{len(roles)}{_CLOSE}"
            text = self._applied([*chat, _message("assistant", extra)], prompt=False).partition(extra)[0]
        texts: list[str] = []
        for mark in marks:
            if text.count(mark) != 1:
                raise TemplateError(f"the chat template does not give the message of the {roles[len(texts)]} once")
            before, _, text = text.partition(mark)
            if _OPEN in before:
                raise TemplateError("the chat template changes the order of messages")
            texts.append(before)
        return [*texts, text]

    def _applied(self, chat: list[dict[str, Any]], prompt: bool) -> str:
        try:
            return str(
                self._tokens.tokenizer.apply_chat_template(
                    chat, tokenize=False, add_generation_prompt=prompt, date_string=_DATE
                )
            )
        except Exception as error:  # whatever a stranger's template raises
            raise TemplateError(f"the chat template cannot be rendered: {error}") from error


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content, **({"name": "result"} if role == "tool" else {})}
