"""The tokenizer of `pocket`: a byte-level BPE of demonstrations, small enough that a small model can learn it.

Knows text and the `tokenizers` library. Does not know torch.

A name must be the same ids wherever it stands, or a model that copies would have to learn each name twice: as
` Larkspur` in what people write, and as `Larkspur` behind the quote of a record. So a space is a token of its own, as
is each digit, and no token is longer than a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from ..agents.counting import as_json
from .lessons import Lesson
from .signatures import signatures

END, PAD = "<|end|>", "<|pad|>"
SPECIAL = ("<|system|>", "<|user|>", "<|tool|>", "<|assistant|>", "<|call|>", END, PAD)
LENGTH = 4096
"""Tokens that prompt and answer may have together."""
_PARTS = r"[0-9]|[ ]|\n|[A-Za-z]+|[^\sA-Za-z0-9]+|\s"
"""A digit, a space, a line's end, a word, or a run of other characters: no token is longer than one of these."""
_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train_tokenizer(texts: Iterable[str], vocabulary: int = 1024) -> Any:
    """A byte-level BPE (Sennrich et al. 2016) of at most so many tokens, with a chat template.

    The same texts in the same order give the same tokenizer, a `PreTrainedTokenizerFast`. `vocabulary` counts the 256
    bytes and the special tokens, too.
    """
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PARTS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=PAD, model_max_length=LENGTH, clean_up_tokenization_spaces=False
    )
    # `<|call|>` is among them, so it is seen that this model calls tools in the plain dialect.
    fast.add_special_tokens({"additional_special_tokens": list(SPECIAL[:5])})
    fast.chat_template = _TEMPLATE
    return fast


def lesson_texts(lessons: Sequence[Lesson]) -> list[str]:
    """All that is read and written in demonstrations, as a tokenizer will meet it."""
    texts: list[str] = []
    for lesson in lessons:
        texts.append(signatures(lesson.tools))
        for message in lesson.messages:
            texts.append(str(message.get("content") or ""))
            for call in message.get("tool_calls") or ():
                arguments = call["function"]["arguments"]
                written = arguments if isinstance(arguments, str) else as_json(arguments)
                texts.append(f"{call['function']['name']} {written}")
    return texts
