"""A tokenizer, and the one rule here: text that somebody else wrote never becomes a special token.

Knows tokenizers of Hugging Face's `tokenizers`. Does not know chats. What a template writes is trusted; records,
people's messages, tool results and the policy's own words read again are not: a record that holds `<|im_end|>` is read
as the ten characters that it is. Two tokenizers are made of the one that is given: the whole one, and one that has
never heard of a special or added token. Texts are put together from pieces, and a piece never begins a text of its
own, so the space that some tokenizers set before every text is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from tokenizers import Tokenizer

_LEADS = ("\n", "|", "a")
"""Texts to set before a piece, of which there is one at least that no tokenizer joins to what follows."""
_KEPT = 2048
"""So many texts of others are remembered with their ids: many episodes have the same instructions and results."""


class TokenizerError(ValueError):
    """A tokenizer that cannot be used, in a sentence."""


class Piece(NamedTuple):
    """Some text of a prompt, and whether its special tokens are meant."""

    text: str
    trusted: bool = False


class Tokens:
    """Text to ids and back. `tokenizer` is a `PreTrainedTokenizerBase` of transformers.

    Raises TokenizerError for one that is not of the `tokenizers` library.
    """

    def __init__(self, tokenizer: Any) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise TokenizerError(
                f"a {type(tokenizer).__name__} cannot be told which special tokens are meant; "
                "convert it to a tokenizer.json and load that"
            )
        self.tokenizer = tokenizer
        # A batch that was cut or padded leaves its settings behind in the tokenizer; here nothing is cut or padded.
        state = {**json.loads(backend.to_str()), "truncation": None, "padding": None}
        self._whole: Tokenizer = Tokenizer.from_str(json.dumps(state))
        self._plain: Tokenizer = Tokenizer.from_str(json.dumps({**state, "added_tokens": [], "post_processor": None}))
        self.special = _special(tokenizer)
        """Ids that no text of others may become."""
        self._leads = [(lead, _ids(self._plain, lead), _ids(self._whole, lead)) for lead in self._needed_leads()]
        self._untrusted = lru_cache(_KEPT)(self._encode_untrusted)
        self.digest = _digest(self._whole, tokenizer)
        """SHA-256 of vocabulary, merges, special tokens and chat template, hexadecimal."""

    def trusted(self, text: str, first: bool = False) -> list[int]:
        """Ids of text of ours or of a template: special tokens are meant. `first`: a prompt begins with it."""
        if not text or first:
            return _ids(self._whole, text)
        return self._following(self._whole, text, [(lead, ids) for lead, _, ids in self._leads])

    def untrusted(self, text: str) -> list[int]:
        """Ids of somebody else's text: no special id is among them."""
        return list(self._untrusted(text))

    def of(self, pieces: Sequence[Piece]) -> list[int]:
        return [i for text, trusted in pieces for i in (self.trusted(text) if trusted else self._untrusted(text))]

    def text(self, ids: Sequence[int]) -> str:
        """What ids say, special tokens included, nothing tidied. An id that is no token says nothing."""
        return self._whole.decode(list(ids), skip_special_tokens=False)

    def _needed_leads(self) -> Sequence[str]:
        """None, for a tokenizer that treats the beginning of a text like any other place."""
        for lead in _LEADS:
            before, both = _ids(self._plain, lead), _ids(self._plain, f"{lead}x")
            if both[: len(before)] == before:
                return () if both[len(before) :] == _ids(self._plain, "x") else _LEADS
        return ()

    def _following(self, tokenizer: Tokenizer, text: str, leads: Sequence[tuple[str, list[int]]]) -> list[int]:
        """Ids of text that stands behind other text."""
        for lead, before in leads:
            both = _ids(tokenizer, lead + text)
            if both[: len(before)] == before:
                return both[len(before) :]
        return _ids(tokenizer, text)

    def _encode_untrusted(self, text: str) -> tuple[int, ...]:
        leads = [(lead, ids) for lead, ids, _ in self._leads]
        ids = self._following(self._plain, text, leads) if text else []
        if not self.special.isdisjoint(ids):
            # Its vocabulary has a special token among the words, and text came upon it. No single character does,
            # but in a tokenizer that gives up on it: then there is nothing that could be said instead.
            alone = (self._following(self._plain, character, leads) for character in text)
            ids = [i for each in alone for i in each if i not in self.special]
        return tuple(ids)


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def _special(tokenizer: Any) -> frozenset[int]:
    """Ids with a purpose. That of an unknown character has none, unless it is the same that ends or pads a text."""
    tokens = {name: token for name, token in tokenizer.special_tokens_map.items() if name != "unk_token"}
    named = [each for token in tokens.values() for each in (token if isinstance(token, list | tuple) else [token])]
    purposes = frozenset(tokenizer.convert_tokens_to_ids([str(each) for each in named]))
    return purposes | (frozenset(tokenizer.added_tokens_decoder) - {tokenizer.unk_token_id})


def _digest(whole: Tokenizer, tokenizer: Any) -> str:
    purposes = sorted((name, str(token)) for name, token in tokenizer.special_tokens_map.items())
    return sha256(f"{whole.to_str()}\n{purposes}\n{tokenizer.chat_template or ''}".encode()).hexdigest()
