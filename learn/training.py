"""One optimiser step, over as many micro-batches and processes as it takes, and everything that a resume needs.

Knows torch, accelerate and batches. Does not know where samples come from, or what their loss means: that is a function
it is given. A step is all or nothing: a loss or a gradient that is not finite is found before any weight has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from .batches import Batch, Scored, Scorer, collate
from .losses import Loss, Measures, summary
from .samples import Sample

Objective: TypeAlias = Callable[[Batch, Scored], Loss]
"""From a batch, and what the model says of it, to a loss that is divided by the denominator of the whole step."""


class NotFinite(ArithmeticError):
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
    """The largest norm of a gradient."""

    def rate(self, step: int) -> float:
        """The learning rate of a step, from 0 on."""
        rising = min(1.0, (step + 1) / max(1, self.warmup))
        falling = max(0.0, (self.steps - step) / max(1, self.steps - self.warmup)) if self.decay else 1.0
        return self.lr * min(rising, falling)


class Trainer:
    """A model that learns."""

    def __init__(self, model: Any, settings: OptimiserSettings, accelerator: Accelerator | None = None) -> None:
        self.accelerator = accelerator or Accelerator(cpu=not torch.cuda.is_available())
        self.settings = settings
        self.steps = 0
        """How many have been made."""
        scorer = Scorer(model)
        trained = [parameter for parameter in scorer.parameters() if parameter.requires_grad]
        groups = [
            {"params": [each for each in trained if each.ndim > 1], "weight_decay": settings.weight_decay},
            {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
        ]
        optimiser = torch.optim.AdamW(groups, lr=settings.lr, betas=settings.betas)
        self.scorer, self.optimiser = self.accelerator.prepare(scorer, optimiser)

    @property
    def model(self) -> Any:
        """The model as `transformers` knows it."""
        return self.accelerator.unwrap_model(self.scorer).model

    def step(
        self, batches: Sequence[Sequence[Sample]], objective: Objective, temperature: float = 1.0
    ) -> dict[str, float]:
        """Learn from micro-batches of samples, of which every process has as many, and give `losses.summary`, the loss,
        the gradient's norm and the learning rate.

        Raises NotFinite, with all weights as they were.
        """
        self.scorer.train()
        parts: list[Measures] = []
        total = 0.0
        for number, batch in enumerate(batches):
            synchronised = number == len(batches) - 1
            with nullcontext() if synchronised else self.accelerator.no_sync(self.scorer):
                loss = self._backward(batch, objective, temperature)
            parts.append(loss.measures)
            total += float(loss.value.detach())
        rate = self.settings.rate(self.steps)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        norm = self.accelerator.clip_grad_norm_(self.scorer.parameters(), self.settings.clip)
        size = 0.0 if norm is None else float(norm)
        if not math.isfinite(size):
            self.optimiser.zero_grad()
            raise NotFinite(f"the gradient of step {self.steps + 1} is {size}; the weights are still those before it")
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.steps += 1
        return {**summary(self._everybodys(parts)), "loss": self.total(total), "gradient": size, "lr": rate}

    def _backward(self, batch: Sequence[Sample], objective: Objective, temperature: float) -> Loss:
        tensors = collate(batch).to(self.accelerator.device)
        loss = objective(tensors, self.scorer(tensors, temperature))
        if not torch.isfinite(loss.value):
            self.optimiser.zero_grad()
            sequences = ", ".join(str(sample.sequence) for sample in batch[:8])
            raise NotFinite(
                f"the loss of step {self.steps + 1} is {float(loss.value)}, in a micro-batch of the trajectories "
                f"{sequences}; the weights are still those before it"
            )
        # Processes average their gradients; the denominator is that of all of them, so their sum is wanted.
        self.accelerator.backward(loss.value * self.accelerator.num_processes)
        return loss

    def _everybodys(self, parts: Sequence[Measures]) -> Sequence[Measures]:
        if self.accelerator.num_processes == 1:
            return parts
        found: Sequence[Measures] = gather_object(list(parts))
        return found

    def score(self, batch: Sequence[Sample], temperature: float = 1.0) -> Scored:
        """Log-probabilities without gradients: of a reference, or before an update."""
        with torch.no_grad():
            scored: Scored = self.scorer(collate(batch).to(self.accelerator.device), temperature)
        return scored

    def total(self, number: float) -> float:
        """A number added up over all processes."""
        if self.accelerator.num_processes == 1:
            return number
        return float(self.accelerator.reduce(torch.tensor([number], dtype=torch.float64), "sum")[0])

    def largest(self, number: int) -> int:
        """The largest of all processes."""
        if self.accelerator.num_processes == 1:
            return number
        return int(self.accelerator.gather(torch.tensor([number])).max())

    # --- resume --------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Optimiser, schedule and random state, in a file. The weights are saved by `models.save`."""
        state = {"optimiser": self.optimiser.state_dict(), "steps": self.steps, "torch": torch.get_rng_state()}
        torch.save(state, path)

    def load(self, path: Path) -> None:
        """The inverse of `save`. Nothing but tensors and plain values is read."""
        state = torch.load(path, weights_only=True)
        self.optimiser.load_state_dict(state["optimiser"])
        self.steps = int(state["steps"])
        torch.set_rng_state(state["torch"])
