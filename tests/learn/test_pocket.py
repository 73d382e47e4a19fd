"""`pocket`: made from a seed, warmed up by steps, and able to copy what it has never seen."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from coworkenv.learn.copying import blocks
from coworkenv.learn.lexing import train_tokenizer
from coworkenv.learn.models import load, weights_digest
from coworkenv.learn.pocket import SIZES, Size, build, keep, looked_back, pocket_config, warmup

TINY = SIZES["tiny"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return train_tokenizer(["nothing to be learnt from"], 270)


def test_the_same_seed_gives_the_same_weights_and_leaves_torch_alone(tokenizer: Any) -> None:
    state = torch.get_rng_state()
    assert weights_digest(build(1, tokenizer)) == weights_digest(build(1, tokenizer))
    assert weights_digest(build(1, tokenizer)) != weights_digest(build(2, tokenizer))
    assert torch.equal(torch.get_rng_state(), state)


def test_it_has_one_to_three_million_parameters() -> None:
    model = LlamaForCausalLM(pocket_config(1024))
    assert 1e6 < sum(weight.numel() for weight in model.parameters()) < 3e6


@pytest.mark.parametrize("size", [SIZES["pocket"], TINY, Size(2, 64, 4, 96)])
def test_half_of_the_first_heads_begin_by_looking_at_the_tokens_before(tokenizer: Any, size: Size) -> None:
    model = build(0, tokenizer, size).eval()
    model.set_attn_implementation("eager")
    ids = torch.randint(7, 260, (2, 100), generator=torch.Generator().manual_seed(0))
    weights = model(ids, output_attentions=True).attentions[0]  # (rows, heads, queries, keys)
    before = [weights.diagonal(-distance, 2, 3).mean((0, 2)) for distance in (1, 2, 3)]
    looking = {(int(head), distance) for distance, seen in enumerate(before, 1) for head in (seen > 0.9).nonzero()}
    assert looking == set(enumerate(looked_back(size)))


def test_a_warm_up_follows_from_steps_and_seed_bit_for_bit(tokenizer: Any) -> None:
    def warmed(seed: int) -> str:
        model = build(0, tokenizer, TINY)
        warmup(model, tokenizer, 12, seed)
        return weights_digest(model)

    assert warmed(3) == warmed(3) != warmed(4)


def test_it_learns_to_copy_what_it_never_saw(tokenizer: Any) -> None:
    model = build(0, tokenizer, TINY)
    told: list[int] = []
    warmed = warmup(model, tokenizer, 200, rate=4e-3, told=lambda step, _: told.append(step))
    assert told == list(range(1, 201))
    fresh = blocks(64, 48, 7, len(tokenizer), torch.Generator().manual_seed(99))
    with torch.no_grad():
        said = model.eval()(fresh.ids).logits[:, :-1].argmax(-1)
    right = said[fresh.copied[:, 1:]] == fresh.ids[:, 1:][fresh.copied[:, 1:]]
    assert float(right.float().mean()) > 0.5
    assert warmed.accuracy > 0.4


def test_what_is_kept_is_what_is_loaded(tokenizer: Any, tmp_path: Path) -> None:
    model = build(5, tokenizer, TINY)
    warmed = warmup(model, tokenizer, 2, 6)
    keep(model, tokenizer, tmp_path / "pocket", 5, warmed)
    loaded = load(tmp_path / "pocket")
    assert loaded.digest == loaded.about["digest"] == weights_digest(model)
    assert (loaded.about["seed"], loaded.about["warmup"]["steps"], loaded.about["warmup"]["seed"]) == (5, 2, 6)
    assert loaded.rendering.dialect.name == "plain"
    other = AutoModelForCausalLM.from_pretrained(tmp_path / "pocket")
    ids = torch.arange(20).reshape(1, 20)
    assert torch.equal(other.eval()(ids).logits, model.eval()(ids).logits)
