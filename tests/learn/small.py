"""A policy that knows nothing, small enough to be played in a test."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from coworkenv.learn.models import save
from tests.learn.test_grammar import rendering


def model(folder: Path, length: int) -> Path:
    """A model with random weights that reads so many tokens, saved in a folder."""
    tokenizer = rendering("plain").tokens.tokenizer
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=length,
    )
    save(LlamaForCausalLM(config), tokenizer, folder)
    return folder
