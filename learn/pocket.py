"""`pocket`: a model of one or two million parameters, made from nothing, that a laptop trains in minutes.

Knows how its tokenizer and its weights are made, and how it is warmed up. Does not know demonstrations beyond their
text. It is there for tests and for the quick demonstration: everything that is true of a large model's training is true
of its, except that it is over soon. It claims no skill beyond the environments that it was trained on.

Before it sees a demonstration, it is warmed up on synthetic copying: random tokens, repeated. A model from nothing has
no way to copy a name from its prompt, and without that nothing else is learnt. What it can do afterwards is where any
claim of improvement starts from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END, PAD = "<|end|>", "<|pad|>"
SPECIAL = ("<|system|>", "<|user|>", "<|tool|>", "<|assistant|>", "<|call|>", END, PAD)
LENGTH = 4096
_WORDS = r"[0-9]|\n| ?[A-Za-z]+| ?[^\sA-Za-z0-9]+|\s"
"""A digit, a line's end, a word, or other characters: no token is longer than one of these."""
_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def tokenizer(texts: Iterable[str], vocabulary: int = 1024) -> Any:
    """A byte-level BPE of these texts (Sennrich et al. 2016), with single digits and a chat template."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END, pad_token=PAD)
    fast.chat_template = _TEMPLATE
    # `<|call|>` is there to make <|call|> known as the way in which this model calls tools.
    fast.add_special_tokens({"additional_special_tokens": list(SPECIAL[:5])})
    return fast
