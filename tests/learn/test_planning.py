"""What a training takes is told before it starts, and what is too much is refused with the number."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import Qwen3Config, Qwen3ForCausalLM

from coworkenv.learn.models import shape_of
from coworkenv.learn.planning import (
    GIB,
    Memory,
    Shape,
    Tokens,
    TooMuch,
    available,
    check_hours,
    check_memory,
    generating,
    gib,
    learning,
    measured,
    spoken,
    together,
)
from tests.learn import tiny

torch.set_num_threads(1)

SMOLLM2 = Shape(134_515_008, 30, 576, 1536, 9, 3, 64, 49152)


def saved_for_backward(model: Any, rows: int, length: int) -> int:
    """Bytes that autograd keeps of the layers, weights not counted."""
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, tuple[int, torch.Tensor]] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes(), tensor
        return tensor

    model.train()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        ids = torch.zeros(rows, length, dtype=torch.long)
        out = model.model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
        size = sum(size for place, (size, _) in kept.items() if place not in weights)
    del out
    return size


def qwen() -> Any:
    changes = {"num_hidden_layers": 3, "head_dim": 16, "attn_implementation": "eager"}
    plain = tiny.config(**changes).to_dict()
    return Qwen3ForCausalLM(Qwen3Config(**{name: plain[name] for name in plain if name not in ("model_type", "dtype")}))


@pytest.mark.parametrize(
    ("model", "rows", "length"),
    [
        (lambda: tiny.llama(hidden_size=64, intermediate_size=192, num_hidden_layers=3), 2, 64),
        (lambda: tiny.llama(hidden_size=64, intermediate_size=128), 1, 256),
        (lambda: tiny.llama(hidden_size=128, intermediate_size=512, num_hidden_layers=4), 4, 32),
        (qwen, 2, 64),
    ],
)
def test_the_estimate_of_activations_holds_what_autograd_keeps(model: Any, rows: int, length: int) -> None:
    made = model()
    kept = saved_for_backward(made, rows, length)
    memory = learning(shape_of(made), rows * length, length)
    estimate = memory.activations * 1.15
    assert kept <= estimate <= 2.5 * kept


def test_the_estimate_of_what_lasts_is_what_adamw_keeps() -> None:
    model = tiny.llama(tie_word_embeddings=False)
    optimiser = torch.optim.AdamW(model.parameters())
    model(input_ids=torch.zeros(1, 4, dtype=torch.long)).logits.sum().backward()
    optimiser.step()
    tensors = [*model.parameters(), *(weight.grad for weight in model.parameters())]
    tensors += [moment for state in optimiser.state.values() for moment in (state["exp_avg"], state["exp_avg_sq"])]
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors if tensor is not None)
    assert learning(shape_of(model), 4, 4).lasting == size


def test_the_estimate_of_a_cache_is_twice_what_keys_and_values_take() -> None:
    model = tiny.llama()
    with torch.no_grad():
        cache = model(input_ids=torch.zeros(3, 20, dtype=torch.long), use_cache=True).past_key_values
    size = sum(2 * layer.keys.numel() * layer.keys.element_size() for layer in cache.layers)
    assert generating(shape_of(model), 3, 20).cache == 2 * size


def test_a_model_of_135_million_parameters_needs_what_was_seen() -> None:
    """4.1 GiB were seen for two sequences of 512 tokens, attention fused."""
    assert 3.8 * GIB < learning(SMOLLM2, 1024, 512, flash=True).total < 6.5 * GIB


@given(st.integers(64, 65536), st.integers(64, 4096), st.integers(0, 64 * GIB))
def test_what_is_refused_says_both_numbers_and_its_advice_is_right(tokens: int, length: int, free: int) -> None:
    def needs(batch: int) -> Memory:
        return together(learning(SMOLLM2, batch, length), generating(SMOLLM2, 16, length))

    try:
        assert check_memory(needs, tokens, free).total <= free
    except TooMuch as error:
        says = str(error)
        assert f"needs {gib(needs(tokens).total)}, and {gib(free)} are free" in says
        if found := re.search(r"--batch-tokens (\d+) it would fit", says):
            assert needs(int(found[1])).total <= free < needs(2 * int(found[1])).total
        elif "alone are" in says:
            assert needs(1).lasting * 1.15 + 1 > free
        else:
            assert needs(64).total > free


def test_a_sequence_that_is_longer_than_a_batch_is_a_batch_of_its_own() -> None:
    assert learning(SMOLLM2, 64, 2048) == learning(SMOLLM2, 2048, 2048)


# --- what is free ------------------------------------------------------------------------------------------


def machine(root: Path, free: int, **files: str) -> Path:
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text(f"MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable: {free // 1024} kB\n")
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_free_is_what_the_machine_has_available(tmp_path: Path) -> None:
    assert available(machine(tmp_path, 5 * GIB)) == 5 * GIB


def test_a_control_group_may_leave_less(tmp_path: Path) -> None:
    files = {
        "memory_dot_max": str(4 * GIB),
        "memory_dot_current": str(3 * GIB),
        "memory_dot_stat": f"anon 5\ninactive_file {GIB}\n",
    }
    assert available(machine(tmp_path, 9 * GIB, **files)) == 2 * GIB


def test_a_control_group_of_version_1_may_leave_less(tmp_path: Path) -> None:
    files = {
        "memory__memory_dot_limit_in_bytes": str(4 * GIB),
        "memory__memory_dot_usage_in_bytes": str(3 * GIB),
        "memory__memory_dot_stat": "total_inactive_file 0\n",
    }
    assert available(machine(tmp_path, 9 * GIB, **files)) == GIB


def test_a_control_group_without_a_limit_has_none(tmp_path: Path) -> None:
    files = {"memory_dot_max": "max\n", "memory_dot_current": "1", "memory_dot_stat": ""}
    assert available(machine(tmp_path, GIB, **files)) == GIB


def test_something_is_free_here() -> None:
    assert available() > 0


# --- hours -------------------------------------------------------------------------------------------------


def test_hours_are_tokens_over_tokens_a_second() -> None:
    assert Tokens(3600, 7200, 0).hours(Tokens(1, 2, 0)) == 2.0


def test_a_rate_is_measured_without_the_first_time() -> None:
    times = iter([0.0, 0.1, 0.6, 1.1, 9.9])
    calls = iter([1000, 10, 20, 30])
    assert measured(lambda: next(calls), 1.0, lambda: next(times)) == pytest.approx(30 / 1.1)


def test_more_hours_than_there_are_is_refused_with_both() -> None:
    check_hours(3.0, None)
    check_hours(3.0, 3.0)
    with pytest.raises(TooMuch, match=r"about 12\.4 h, and --hours says 8"):
        check_hours(12.4, 8)


@pytest.mark.parametrize(("hours", "text"), [(0.005, "18 s"), (0.5, "30 min"), (12.44, "12.4 h")])
def test_a_duration_is_said_as_people_say_it(hours: float, text: str) -> None:
    assert spoken(hours) == text
