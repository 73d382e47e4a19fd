"""`pocket`: a model of about a million parameters, made from nothing, that a laptop trains in minutes.

Knows how its weights are made, and how they are warmed up and kept. Does not know demonstrations. It is there for tests
and for the quick demonstration: all that is true of a large model's training is true of its, except that it is over
soon. It claims no skill beyond the environments that it was trained on.

It is a `LlamaForCausalLM` with random weights, which begin in two ways like those of models that have learnt to copy.
Such models copy by two layers working together (Olsson et al. 2022, "In-context learning and induction heads"): heads
that look at the tokens before, and others that look for what followed the same tokens earlier. The first depend on
position alone, and rotary embeddings give a model without biases hardly a way to learn that. So the attention has
biases, and heads of the first layer begin by looking one, two and three tokens back: of a number like 8082, one digit
does not tell which comes next. And every head begins by writing what it reads, a little (Trockman & Kolter 2023,
"Mimetic initialization of self-attention layers"). All the rest is learnt in the warm-up, whatever the seed, in a
minute in place of many (see `copying`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from .copying import Exercise, long_exercise, short_exercise
from .lexing import LENGTH
from .models import save, weights_digest

SHARPNESS = 6.0
"""By how much a head scores the token that it looks at above its neighbours, in nats."""
WRITTEN = 0.3
"""Scale of the random projection through which a head writes what it reads; 1 would leave its length as it is."""
_THETA = 10000.0
_COPIED = 0.9
"""When so many of the tokens of short blocks are copied, longer texts follow."""


class Size(NamedTuple):
    """How large a model is."""

    layers: int = 3
    width: int = 160
    heads: int = 5
    inner: int = 432


SIZES = {"pocket": Size(), "tiny": Size(layers=2, width=64, heads=2, inner=128)}
"""`tiny` is for tests that want it made at once."""


def pocket_config(vocabulary: int, size: Size = SIZES["pocket"]) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        max_position_embeddings=LENGTH,
        rope_parameters={"rope_type": "default", "rope_theta": _THETA},
        tie_word_embeddings=True,
        attention_bias=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )


def build(seed: int, tokenizer: Any, size: Size = SIZES["pocket"]) -> LlamaForCausalLM:
    """A model for a tokenizer (`lexing.train_tokenizer`). The same seed gives the same weights."""
    config = pocket_config(len(tokenizer), size)
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        # Tied to the head: rows of about unit length let it say with certainty which token it means.
        model.model.embed_tokens.weight.normal_(0.0, size.width**-0.5, generator=generator)
        for layer in model.model.layers:
            write_what_is_read(layer.self_attn, generator)
        for head, distance in enumerate(looked_back(size)):
            look_back(model.model.layers[0].self_attn, head, distance, size.width // size.heads, generator)
    return model


def looked_back(size: Size) -> tuple[int, ...]:
    """How many tokens heads of the first layer look back, one after the other: half of them, where there are few at the
    token before alone."""
    return (1, 2, 3) if size.heads > 4 else (1,) * (size.heads // 2)


def look_back(attention: nn.Module, head: int, distance: int, width: int, generator: torch.Generator) -> None:
    """Have a head of so many dimensions look at the token so far before, whatever is written there.

    Rotary embeddings (Su et al. 2021) turn the query at position m by R(m) and the key at n by R(n), so biases q and k
    alone give the score q'R(n - m)k. With k = R(d)q it is the largest, |q|², at m - n = d. Slow rotations tell
    neighbours apart hardly at all, so q lies in the faster half of them, its direction there drawn at random.
    """
    half, fast = width // 2, max(1, width // 4)
    angles = _THETA ** (-torch.arange(half, dtype=torch.float32) * 2 / width)
    gap = float((1 - angles[:fast].cos()).sum()) / width**0.5  # of the scores of neighbours, for a q of ones
    turned = 2 * torch.pi * torch.rand(half, generator=generator)
    length = torch.where(torch.arange(half) < fast, (SHARPNESS / gap) ** 0.5, 0.0)
    first, second = length * turned.cos(), length * turned.sin()
    cos, sin = (distance * angles).cos(), (distance * angles).sin()
    key = (first * cos - second * sin, second * cos + first * sin)
    place = slice(head * width, (head + 1) * width)
    for projection, bias in ((attention.q_proj, (first, second)), (attention.k_proj, key)):
        assert isinstance(projection, nn.Linear)
        projection.bias[place] = torch.cat(bias)


def write_what_is_read(attention: nn.Module, generator: torch.Generator) -> None:
    """Add a random W to the values' projection and its transpose to the output's: W'W is about a multiple of 1."""
    values, output = attention.v_proj, attention.o_proj
    assert isinstance(values, nn.Linear)
    assert isinstance(output, nn.Linear)
    random = torch.randn(values.weight.shape, generator=generator) * WRITTEN / values.in_features**0.5
    values.weight += random
    output.weight += random.T


class Warmup(NamedTuple):
    """What came of a warm-up."""

    steps: int
    seed: int
    accuracy: float
    """Of tokens that could be copied, those that the model found; over the last tenth of the steps."""
    tokens: int
    """Tokens read."""


def warmup(
    model: LlamaForCausalLM,
    tokenizer: Any,
    steps: int = 400,
    seed: int = 0,
    *,
    rate: float = 2e-3,
    told: Callable[[int, float], None] = lambda step, accuracy: None,
) -> Warmup:
    """Train on synthetic copying, for so many steps. What follows depends on `steps` and `seed` alone, never on time.

    Longer texts follow once short blocks are copied, or half of the steps are over. AdamW with a rate that rises for 20
    steps, and falls in a line over the last third. `told` hears of each step.
    """
    generator = torch.Generator().manual_seed(seed)
    ids = (1 + max(tokenizer.all_special_ids), len(tokenizer))
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    model.train()
    found: list[float] = []
    read = first = 0
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min((step + 1) / 20, 1.0, 0.05 + 3 * (steps - step) / steps)
        if not first and (_mean(found[-10:]) > _COPIED or step >= steps // 2):
            first = step
        done = (step - first) / (steps - first)
        given = long_exercise(done, *ids, generator) if first else short_exercise(*ids, generator)
        loss, accuracy = _copied(model, given)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        read += given.ids.numel()
        found.append(accuracy)
        told(step + 1, accuracy)
    return Warmup(steps, seed, _mean(found[-max(1, steps // 10) :]), read)


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _copied(model: LlamaForCausalLM, given: Exercise) -> tuple[Tensor, float]:
    """Cross-entropy of the tokens that can be copied, and how many of them come first."""
    states = model.model(input_ids=given.ids).last_hidden_state
    predicting = given.copied[:, 1:]
    logits = model.lm_head(states[:, :-1][predicting])
    wanted = given.ids[:, 1:][predicting]
    right = (logits.detach().argmax(-1) == wanted).float().mean()
    return nn.functional.cross_entropy(logits, wanted), float(right)


def keep(model: LlamaForCausalLM, tokenizer: Any, folder: Path, built: int, warmed: Warmup) -> None:
    """Write a warmed-up model to a folder that `models.load` reads, with what is to be told of it.

    `built` is the seed of `build`. Raises folders.NotWritten.
    """
    about = {
        "kind": "pocket",
        "seed": built,
        "warmup": {
            "what": "synthetic copying: random tokens repeated, and looked up in records, of many kinds and of few",
            "steps": warmed.steps,
            "seed": warmed.seed,
            "tokens": warmed.tokens,
            "accuracy": round(warmed.accuracy, 4),
        },
        "digest": weights_digest(model),
    }
    save(model, tokenizer, folder, about)
