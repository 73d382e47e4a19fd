"""A tokenizer, and the one rule here: text that somebody else wrote never becomes a special token.

Knows Hugging Face tokenizers. Does not know chats. What the template writes is trusted; records, people's messages,
tool results and the policy's own words read again are not: a record that holds `<|im_end|>` is read as the ten
characters that it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """Some text of a prompt, and whether its special tokens are meant."""

    text: str
    trusted: bool = False


class Tokens:
    """Text to ids and back. `tokenizer` is a `PreTrainedTokenizerBase` of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        added = {str(token): number for number, token in tokenizer.added_tokens_decoder.items()}
        self.special = frozenset(added.values()) | frozenset(tokenizer.all_special_ids)
        """Ids that no text of others may become."""
        names = sorted((name for name in added if len(name) > 1), key=lambda name: (-len(name), name))
        self._names = re.compile("|".join(map(re.escape, names))) if names else None
        self._untrusted = lru_cache(4096)(self._encode_untrusted)

    @property
    def digest(self) -> str:
        """SHA-256 of vocabulary, merges and chat template, hexadecimal."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        vocabulary = backend.to_str() if backend is not None else repr(sorted(self.tokenizer.get_vocab().items()))
        return sha256(f"{vocabulary}\n{self.tokenizer.chat_template or ''}".encode()).hexdigest()

    def trusted(self, text: str) -> list[int]:
        """Ids of text of ours or of a template: special tokens are meant."""
        return self._encode(text)

    def untrusted(self, text: str) -> list[int]:
        """Ids of somebody else's text: no special id is among them."""
        return list(self._untrusted(text))

    def of(self, pieces: Sequence[Piece]) -> list[int]:
        return [i for text, trusted in pieces for i in (self.trusted(text) if trusted else self.untrusted(text))]

    def text(self, ids: Sequence[int]) -> str:
        """What ids say, special tokens included, nothing tidied."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]) if text else []

    def _encode_untrusted(self, text: str) -> tuple[int, ...]:
        if self._names is None:
            return tuple(self._encode(text))
        ids: list[int] = []
        begin = place = 0
        while found := self._names.search(text, place):
            # A special token is only found whole: without its first character it is text like any other.
            place = found.start() + 1
            ids += self._encode(text[begin:place])
            begin = place
        ids += self._encode(text[begin:])
        if not self.special.isdisjoint(ids):  # a tokenizer that normalises before it looks for its special tokens
            ids = [i for character in text for i in self._encode(character) if i not in self.special]
        return tuple(ids)
