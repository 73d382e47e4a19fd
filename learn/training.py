"""One optimiser step, over as many micro-batches and processes as it takes, and everything that a resume needs.

Knows torch, accelerate and batches. Does not know where samples come from, or what their loss means: that is a function
it is given. A step is all or nothing: a loss or a gradient that is not finite is found before any weight has changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from .batches import Batch, Scored, Scorer, collate
from .losses import Loss, Measures, summary
from .samples import Sample
from .sharding import sharded, take_moments, whole_moments, whole_weights, widen
from .together import CannotGoOn, everybodys, processes
from .valuing import value_head

Objective: TypeAlias = Callable[[Batch, Scored], Loss]
"""From a batch, and what the model says of it, to a loss that is divided by the denominator of the whole step."""


class NothingToLearn(ValueError):
    """Settings with which no weight of a model is learnt, in a sentence."""


class NotFinite(CannotGoOn):
    """A loss or gradient that is NaN or infinite. The weights are those of the step before."""


class OptimiserSettings(msgspec.Struct, frozen=True, kw_only=True):
    """AdamW (Loshchilov & Hutter 2019) with a linear warm-up, then constant or down to 0 in a line."""

    lr: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    warmup: int = 10
    """Steps in which the learning rate rises."""
    steps: int = 100
    """Steps of the whole training."""
    decay: bool = True
    """The learning rate falls to 0 at the last step."""
    clip: float = 1.0
    """The largest norm of a gradient; of a value head's, by itself."""
    value_lr: float = 1e-3
    """Of a value head, where there is one."""
    only: str = ""
    """A regular expression: weights whose names it is not found in stay as they are."""

    @property
    def valued(self) -> bool:
        """Whether there is a value head."""
        return False

    def rate(self, step: int) -> float:
        """The learning rate of a step, from 0 on."""
        rising = min(1.0, (step + 1) / max(1, self.warmup))
        falling = max(0.0, (self.steps - step) / max(1, self.steps - self.warmup)) if self.decay else 1.0
        return self.lr * min(rising, falling)


def _trained(model: Any, only: str) -> list[nn.Parameter]:
    """The weights that are learnt. Raises NothingToLearn."""
    for name, weight in model.named_parameters():
        weight.requires_grad_(weight.requires_grad and re.search(only, name) is not None)
    found = [weight for weight in model.parameters() if weight.requires_grad]
    if not found:
        names = ", ".join(name for name, _ in model.named_parameters())
        raise NothingToLearn(f"no weight of the model has `{only}` in its name; there are {names}")
    return found


class Trainer:
    """A model that learns. Dropout is off: the policy that is trained is the one that was asked."""

    def __init__(self, model: Any, settings: OptimiserSettings, accelerator: Accelerator | None = None) -> None:
        """Raises NothingToLearn. Weights that are not to be learnt no longer require gradients."""
        self.accelerator = accelerator or processes()
        self.settings = settings
        self.steps = 0
        """How many have been made."""
        scorer = Scorer(model, value_head(model) if settings.valued else None).eval()
        trained = _trained(model, settings.only)
        groups = [
            {"params": [each for each in trained if each.ndim > 1], "weight_decay": settings.weight_decay},
            {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
        ]
        if scorer.head is not None:
            groups.append({"params": list(scorer.head.parameters()), "weight_decay": 0.0})
        optimiser = torch.optim.AdamW(groups, lr=settings.lr, betas=settings.betas)
        widen(self.accelerator)
        self.scorer, self.optimiser = self.accelerator.prepare(scorer, optimiser)

    @property
    def _own(self) -> Scorer:
        """This process's scorer: what it computes by itself, others need not compute with it."""
        found: Scorer = self.accelerator.unwrap_model(self.scorer)
        return found

    @property
    def model(self) -> Any:
        """The model as `transformers` knows it."""
        return self._own.model

    def step(
        self, batches: Sequence[Sequence[Sample]], objective: Objective, temperature: float = 1.0
    ) -> dict[str, float]:
        """Learn from micro-batches of samples, of which every process has as many, and give `losses.summary`, the loss,
        the gradient's norm and the learning rate.

        Raises NotFinite, in all processes, with all weights as they were.
        """
        parts: list[Measures] = []
        losses: list[float] = []
        for number, batch in enumerate(batches):
            synchronised = number == len(batches) - 1
            with nullcontext() if synchronised else self.accelerator.no_sync(self.scorer):
                loss = self._backward(batch, objective, temperature)
            parts.append(loss.measures)
            losses.append(float(loss.value.detach()))
        rate = self._rated()
        size = self._clipped()
        total = self.total(sum(losses))
        if not math.isfinite(size) or not math.isfinite(total):
            self.optimiser.zero_grad()
            raise NotFinite(self._where(batches, losses, size))
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.steps += 1
        return {**summary(everybodys(self.accelerator, parts)), "loss": total, "gradient": size, "lr": rate}

    def _backward(self, batch: Sequence[Sample], objective: Objective, temperature: float) -> Loss:
        tensors = collate(batch).to(self.accelerator.device)
        loss = objective(tensors, self.scorer(tensors, temperature))
        # Processes average their gradients; the denominator is that of all of them, so their sum is wanted.
        self.accelerator.backward(loss.value * self.accelerator.num_processes)
        return loss

    def _rated(self) -> float:
        """Set the learning rates of this step."""
        rate = self.settings.rate(self.steps)
        *groups, last = self.optimiser.param_groups
        for group in groups:
            group["lr"] = rate
        last["lr"] = self.settings.value_lr if self.settings.valued else rate
        return rate

    def _clipped(self) -> float:
        """Shorten gradients that are too long; the norm of the model's before."""
        own = self._own
        norms = [
            self.accelerator.clip_grad_norm_(module.parameters(), self.settings.clip)
            for module in (own.model, own.head)
            if module is not None
        ]
        found = [0.0 if norm is None else float(norm) for norm in norms]
        return found[0] if all(map(math.isfinite, found)) else math.nan

    def _where(self, batches: Sequence[Sequence[Sample]], losses: Sequence[float], size: float) -> str:
        """What was not finite, in whichever process."""
        bad = [
            f"the loss of step {self.steps + 1} is {loss}, in a micro-batch of the trajectories "
            + ", ".join(str(number) for number in sorted({sample.sequence for sample in batch})[:8])
            for batch, loss in zip(batches, losses, strict=True)
            if not math.isfinite(loss)
        ]
        said = everybodys(self.accelerator, bad[:1]) or [f"the gradient of step {self.steps + 1} is {size}"]
        return f"{said[0]}; the weights are still those before it"

    @torch.no_grad()
    def score(self, batch: Sequence[Sample], temperature: float = 1.0) -> Scored:
        """What the model says of samples, without gradients, for this process alone."""
        scored: Scored = self._own(collate(batch).to(self.accelerator.device), temperature)
        return scored

    def total(self, number: float) -> float:
        """A number added up over all processes."""
        return sum(everybodys(self.accelerator, [number]))

    # --- resume --------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Optimiser, schedule, value head and the random state of every process; all of them must ask for it together.

        The weights of the model are kept by `models.write`.
        """
        own = self._own
        return {
            "optimiser": self._moments(),
            "steps": self.steps,
            "head": None if own.head is None else own.head.state_dict(),
            "random": everybodys(self.accelerator, [_random()]),
        }

    def _moments(self) -> dict[str, Any]:
        if sharded(self.accelerator):
            return whole_moments(self.scorer, self.optimiser)
        found: dict[str, Any] = self.optimiser.state_dict()
        return found

    def weights(self) -> dict[str, Tensor]:
        """The weights of the model by name; all processes must ask, and where they share them only the main one is
        told."""
        return whole_weights(self.accelerator, self.scorer) if sharded(self.accelerator) else self.model.state_dict()

    def load(self, path: Path) -> None:
        """Go on from a `state` in a file. Nothing but tensors and plain values is read."""
        state = torch.load(path, weights_only=True, map_location="cpu")
        if sharded(self.accelerator):
            take_moments(self.scorer, self.optimiser, state["optimiser"])
        else:
            self.optimiser.load_state_dict(state["optimiser"])
        self.steps = int(state["steps"])
        own = self._own
        if own.head is not None:
            own.head.load_state_dict(state["head"])
        random = state["random"][self.accelerator.process_index]
        torch.set_rng_state(random["cpu"])
        if torch.cuda.is_available() and random["cuda"] is not None:
            torch.cuda.set_rng_state(random["cuda"])


def _random() -> dict[str, Any]:
    return {
        "cpu": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }
