"""Values: what a policy may still expect to earn, as a linear head on its last layer tells before each decision.

Knows the head, and how it is asked about trajectories. Does not know how values become advantages (`credit.gae`). The
head sees states without their gradient: what it learns changes no weight of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from .batches import Scored
from .decisions import Trajectory
from .samples import Sample, microbatches, samples


class ValueHead(nn.Module):
    """One number for each state: (D, H) to (D,). It begins with 0 for all, and draws no random number."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, states: Tensor) -> Tensor:
        return states.float() @ self.weight + self.bias


def value_head(model: Any) -> ValueHead:
    """A head for a causal model of `transformers`."""
    return ValueHead(int(model.config.get_text_config().hidden_size))


def values_of(
    trajectories: Sequence[Trajectory], score: Callable[[Sequence[Sample]], Scored], tokens: int
) -> list[list[float]]:
    """The value before each decision. `score` scores a micro-batch, of which each has up to `tokens` padded tokens."""
    given = [part for number, each in enumerate(trajectories) for part in samples(each, sequence=number)]
    told: dict[int, list[float]] = {}
    for batch in microbatches(given, tokens):
        values = iter(cast(Tensor, score(batch).values).tolist())
        for sample in batch:
            told[id(sample)] = [next(values) for _ in sample.spans]
    found: list[list[float]] = [[] for _ in trajectories]
    for sample in given:  # Segments in their order, so decisions are in theirs.
        found[sample.sequence] += told[id(sample)]
    return found
