"""One step: all or nothing, of as many processes as there are, and with a state that a resume finds again."""

from __future__ import annotations

import math
import os
import socket
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coworkenv.learn.batches import Batch, Scored
from coworkenv.learn.losses import Loss, ppo_clip, value_loss
from coworkenv.learn.models import weights_digest
from coworkenv.learn.samples import Sample, Span, microbatches, split, trained
from coworkenv.learn.together import leave, processes
from coworkenv.learn.training import NotFinite, NothingToLearn, OptimiserSettings, Trainer
from tests.learn.tiny import llama

UPDATE = [
    Sample(
        ids=tuple((7 * number + place) % 250 for place in range(length)),
        spans=(
            Span(
                start=1, stop=length // 2, advantage=0.3 * number - 1, returns=0.5, logprobs=(-5.0,) * (length // 2 - 1)
            ),
            Span(start=length // 2 + 1, stop=length, advantage=1.0, logprobs=(-5.5,) * (length - length // 2 - 1)),
        ),
        sequence=number,
        length=length - 2.0,
    )
    for number, length in enumerate((5, 31, 8, 60, 4, 17, 23))
]
"""Unequal lengths, more than one micro-batch."""


class Valued(OptimiserSettings, frozen=True, kw_only=True):
    value: bool = True

    @property
    def valued(self) -> bool:
        return self.value


def objective(whole: float, batch: Batch, scored: Scored) -> Loss:
    loss = ppo_clip(batch.tokens(scored), whole)
    if scored.values is None:
        return loss
    value = value_loss(scored.values, batch.returns, torch.ones_like(batch.returns), 2 * len(UPDATE))
    return Loss(loss.value + value, loss.measures)


OBJECTIVE = partial(objective, trained(UPDATE))


def poisoned() -> list[Sample]:
    """The same, with an advantage in trajectory 3 that is no number."""
    first, *rest = UPDATE[3].spans
    spans = (msgspec.structs.replace(first, advantage=math.nan), *rest)
    return [*UPDATE[:3], msgspec.structs.replace(UPDATE[3], spans=spans), *UPDATE[4:]]


def watched(trainer: Trainer, kept: dict[str, Any]) -> Trainer:
    """Have the gradients kept that the optimiser is about to use."""

    def look(*_: object) -> None:
        weights = [weight for group in trainer.optimiser.param_groups for weight in group["params"]]
        kept["gradient"] = torch.cat([weight.grad.flatten() for weight in weights])

    trainer.optimiser.optimizer.register_step_pre_hook(look)
    return trainer


def learnt(seed: int, share: int = 0, of: int = 1) -> dict[str, Any]:
    """A step of so many processes, then one that is poisoned in one of them, then another."""
    kept: dict[str, Any] = {}
    trainer = watched(Trainer(llama(seed), Valued(clip=1e9, lr=1e-3, warmup=0), processes()), kept)
    kept["figures"] = trainer.step(split(UPDATE, of, 48)[share], OBJECTIVE)
    kept["weights"] = torch.cat([weight.detach().flatten() for weight in trainer.model.parameters()])
    before = weights_digest(trainer.model)
    try:
        trainer.step(split(poisoned(), of, 48)[share], OBJECTIVE)
    except NotFinite as error:
        kept["says"] = str(error)
    kept["kept"] = weights_digest(trainer.model) == before
    kept["again"] = trainer.step(split(UPDATE, of, 48)[share], OBJECTIVE)
    kept["random"] = len(trainer.state()["random"])
    return kept


def in_process(rank: int, port: int, folder: str) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true"}
    torch.set_num_threads(1)
    torch.save(learnt(0, rank, 2), Path(folder, f"{rank}.pt"))
    leave()


def test_two_processes_make_the_step_of_one(tmp_path: Path) -> None:
    """Through accelerate, a value head included: gradients, weights, figures; and what stops one stops both."""
    assert any(part == () for share in split(UPDATE, 2, 48) for part in share)
    assert all(len(share) > 1 for share in split(UPDATE, 2, 48))
    torch.set_num_threads(1)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    context = get_context("spawn")
    started = [context.Process(target=in_process, args=(rank, port, str(tmp_path))) for rank in range(2)]
    for process in started:
        process.start()
    one = learnt(0)
    for process in started:
        process.join(120)
        assert process.exitcode == 0
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        for name in ("gradient", "weights"):
            assert (found[name] - one[name]).norm() <= 1e-6 * one[name].norm()
        for name in ("figures", "again"):
            assert found[name] == pytest.approx(one[name], rel=1e-4, abs=1e-6)
        assert found["kept"]
        assert "the loss of step 2 is nan, in a micro-batch of the trajectories 3" in found["says"]
        assert found["random"] == 2


def test_what_is_not_finite_is_told_with_its_place_and_changes_nothing() -> None:
    found, clean = learnt(0), Trainer(llama(0), Valued(clip=1e9, lr=1e-3, warmup=0))
    assert (
        "the loss of step 2 is nan, in a micro-batch of the trajectories 3; the weights are still those"
        in found["says"]
    )
    assert found["kept"]
    clean.step(microbatches(UPDATE, 48), OBJECTIVE)
    assert found["again"] == clean.step(microbatches(UPDATE, 48), OBJECTIVE)


def test_a_weight_that_is_no_number_stops_the_step() -> None:
    model = llama()
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[3, 4] = math.inf
    trainer = Trainer(model, OptimiserSettings())
    with pytest.raises(NotFinite, match="step 1"):
        trainer.step(microbatches(UPDATE, 48), OBJECTIVE)
    assert trainer.steps == 0


@pytest.mark.parametrize("value", [False, True], ids=["without values", "with values"])
def test_a_trainer_that_is_loaded_goes_on_in_the_same_bits(value: bool, tmp_path: Path) -> None:
    trainer = Trainer(llama(), Valued(value=value, warmup=2))
    trainer.step(microbatches(UPDATE, 48), OBJECTIVE)
    torch.save(trainer.state(), tmp_path / "trainer.pt")
    weights = {name: weight.clone() for name, weight in trainer.model.state_dict().items()}
    wanted = [trainer.step(microbatches(UPDATE, 48), OBJECTIVE) for _ in range(2)]
    drawn = torch.rand(3)

    model = llama(seed=5)
    model.load_state_dict(weights)
    other = Trainer(model, Valued(value=value, warmup=2))
    other.load(tmp_path / "trainer.pt")
    assert [other.step(microbatches(UPDATE, 48), OBJECTIVE) for _ in range(2)] == wanted
    assert torch.equal(torch.rand(3), drawn)
    assert weights_digest(other.model) == weights_digest(trainer.model)


@pytest.mark.parametrize("value", [False, True], ids=["without values", "with values"])
def test_only_the_weights_that_are_named_are_learnt(value: bool, tmp_path: Path) -> None:
    only = r"^model\.norm\.|input_layernorm"
    trainer = Trainer(llama(), Valued(value=value, warmup=0, only=only))
    before = {name: weight.clone() for name, weight in trainer.model.state_dict().items()}
    trainer.step(microbatches(UPDATE, 48), OBJECTIVE)
    moved = [name for name, weight in trainer.model.state_dict().items() if not torch.equal(weight, before[name])]
    assert moved == [
        "model.layers.0.input_layernorm.weight",
        "model.layers.1.input_layernorm.weight",
        "model.norm.weight",
    ]
    torch.save(trainer.state(), tmp_path / "trainer.pt")
    model = llama(seed=5)
    model.load_state_dict(trainer.model.state_dict())
    other = Trainer(model, Valued(value=value, warmup=0, only=only))
    other.load(tmp_path / "trainer.pt")
    assert other.step(microbatches(UPDATE, 48), OBJECTIVE) == trainer.step(microbatches(UPDATE, 48), OBJECTIVE)
    assert weights_digest(other.model) == weights_digest(trainer.model)


def test_a_training_of_no_weight_is_refused() -> None:
    with pytest.raises(NothingToLearn, match=r"no weight of the model has `lora`.*model\.embed_tokens"):
        Trainer(llama(), OptimiserSettings(only="lora"))


def test_a_value_head_learns_what_is_to_come_and_moves_no_other_weight() -> None:
    def values(batch: Batch, scored: Scored) -> Loss:
        assert scored.values is not None
        loss = value_loss(scored.values, batch.returns, torch.ones_like(batch.returns), 2 * len(UPDATE))
        return Loss(loss, ppo_clip(batch.tokens(scored), 1.0).measures)

    trainer = Trainer(llama(), Valued(value_lr=0.02))
    before = weights_digest(trainer.model)
    losses = [trainer.step(microbatches(UPDATE, 48), values)["loss"] for _ in range(60)]
    assert losses[0] == pytest.approx(0.5**2 / 2 / 2)
    assert losses[-1] < 0.2 * losses[0]
    assert weights_digest(trainer.model) == before


@given(st.integers(0, 30), st.integers(1, 60), st.booleans())
@settings(max_examples=50)
def test_the_learning_rate_rises_in_a_line_and_falls_in_a_line(warmup: int, steps: int, decay: bool) -> None:
    given = OptimiserSettings(lr=2.0, warmup=warmup, steps=steps, decay=decay)
    rates = [given.rate(step) for step in range(steps)]
    assert all(0 <= rate <= 2 for rate in rates)
    top = rates.index(max(rates))
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    if warmup < steps:
        assert max(rates) == 2
        assert decay or rates[-1] == 2
