"""Text of others never becomes a special token, whatever it holds and wherever it stands."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from coworkenv.learn.tokens import Piece, TokenizerError, Tokens
from tests.learn.chats import KINDS, rendering, specials, tokenizer

WORDS = [
    *{token for kind in KINDS for token in specials(tokenizer(kind))},
    *(half for kind in KINDS for token in specials(tokenizer(kind)) for half in (token[:3], token[3:])),
    "refund 315.60 EUR",
    "\n",
    " ",
]
texts = st.lists(st.sampled_from(sorted(WORDS)) | st.text(max_size=5)).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
def test_no_text_of_others_becomes_a_special_token_and_none_of_it_is_lost(kind, text):
    tokens = rendering(kind).tokens
    ids = tokens.untrusted(text)
    assert tokens.special.isdisjoint(ids)
    assert tokens.text(ids) == text


@pytest.mark.parametrize("kind", KINDS)
@given(parts=st.lists(texts, max_size=5))
def test_pieces_that_stand_next_to_each_other_do_not_make_one(kind, parts):
    tokens = rendering(kind).tokens
    ids = tokens.of([Piece(part) for part in parts])
    assert tokens.special.isdisjoint(ids)
    assert tokens.text(ids) == "".join(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_every_half_of_a_special_token_stays_one(kind):
    tokens = rendering(kind).tokens
    for name in specials(tokens.tokenizer):
        for place in range(len(name) + 1):
            assert tokens.special.isdisjoint(tokens.of([Piece(name[:place]), Piece(name[place:])]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_template_writes_is_meant(kind):
    tokens = rendering(kind).tokens
    for name in specials(tokens.tokenizer):
        number = tokens.tokenizer.convert_tokens_to_ids(name)
        assert tokens.trusted(f"a{name}") == [*tokens.trusted("a"), number]


def test_the_digest_is_of_the_tokenizer_and_not_of_what_it_was_used_for():
    one, used = tokenizer("qwen"), tokenizer("qwen")
    used(["a", "much longer text"], padding=True, truncation=True, max_length=3)
    assert Tokens(one).digest == Tokens(used).digest
    assert Tokens(used).untrusted("one two three four five six") == Tokens(one).untrusted("one two three four five six")


@pytest.mark.parametrize("change", ["template", "end", "token"])
def test_another_tokenizer_has_another_digest(change):
    other = tokenizer("qwen")
    if change == "template":
        other.chat_template += " "
    elif change == "end":
        other.eos_token = "<|endoftext|>"
    else:
        other.add_special_tokens({"additional_special_tokens": ["<|new|>"]})
    assert Tokens(other).digest != rendering("qwen").digest


def test_a_tokenizer_of_another_kind_is_refused_in_a_sentence():
    class Python:
        chat_template = "{{ messages }}"

    with pytest.raises(TokenizerError, match=r"a Python cannot be told .* tokenizer\.json"):
        Tokens(Python())


# --- tokenizers that set a space before every text ------------------------------------------------------------

SENTENCES = ["refund the order of Lena", "the order is late", "a refund of 315 EUR", "lena wrote a note"] * 20


def spaced(scheme: str) -> Tokens:
    """As SentencePiece has it: a space at the beginning of each text, letters that fall back to bytes."""
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    if scheme == "prepend":
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    elif scheme == "bytes":
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    else:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    special = ["<unk>", "<s>", "</s>", *(f"<0x{number:02X}>" for number in range(256))]
    alphabet = pre_tokenizers.ByteLevel.alphabet() if scheme == "bytes" else []
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special[: 3 if scheme == "bytes" else None])
    trainer.initial_alphabet = alphabet
    made.train_from_iterator(SENTENCES, trainer)
    # Bytes are words of the vocabulary, not tokens that somebody added.
    state = msgspec.json.decode(made.to_str())
    state["added_tokens"] = state["added_tokens"][:3]
    made = Tokenizer.from_str(msgspec.json.encode(state).decode())
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.ByteLevel() if scheme == "bytes" else decoders.Sequence(steps)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    return Tokens(fast)


@pytest.mark.parametrize("scheme", ["always", "first", "prepend", "bytes", "never"])
def test_a_piece_within_a_prompt_does_not_begin_with_a_space_of_its_own(scheme):
    tokens = spaced(scheme)
    parts = ["refund", "</s>", "the order", "\n", "|", " a", "ü", ""]
    assert tokens.text(tokens.of([Piece(part) for part in parts])) == "".join(parts)
    assert tokens.special.isdisjoint(tokens.of([Piece(part) for part in parts]))
    end = tokens.tokenizer.eos_token_id
    assert tokens.trusted("order</s>") == [*tokens.trusted("order"), end]


@pytest.mark.parametrize("scheme", ["always", "first", "prepend"])
def test_the_first_text_of_a_prompt_begins_as_the_tokenizer_would_have_it(scheme):
    tokens = spaced(scheme)
    assert tokens.text(tokens.trusted("order", first=True)) == " order"
    assert tokens.text(tokens.trusted("order")) == "order"


# --- vocabularies that have special tokens among their words --------------------------------------------------


def listed() -> Tokens:
    """A vocabulary that reaches `<s>` and `#` without any help."""
    words = ["<unk>", "<s>", "#", *"abcdefs<>", " "]
    made = Tokenizer(models.Unigram([(word, -1.0) for word in words], unk_id=0))
    made.add_special_tokens([AddedToken("<s>", special=True), AddedToken("#", special=True)])
    return Tokens(PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<s>", unk_token="<unk>", pad_token="#"))


def test_a_special_token_among_the_words_is_taken_apart():
    tokens = listed()
    ids = tokens.untrusted("a<s>b")
    assert tokens.special.isdisjoint(ids)
    assert [tokens.text([i]) for i in ids] == ["a", "<", "s", ">", "b"]


def test_a_character_that_is_only_a_special_token_is_left_out():
    tokens = listed()
    assert tokens.untrusted("a#b") == tokens.untrusted("ab")


def test_a_character_that_is_not_known_is_said_to_be_unknown():
    tokens = listed()
    assert tokens.tokenizer.unk_token_id in tokens.untrusted("aéb")
    assert tokens.special == {1, 2}
