"""A step of the trainer beside the plainest loop in torch that learns the same tokens.

Both take the same weights and sequences of equal length, in turn (`timing`); what counts is the median of the rounds'
ratios. The plain loop has nothing that is not needed to learn: no spans, no entropy, no figures.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import msgspec
import torch
from torch.nn.functional import cross_entropy as plain_cross_entropy

from coworkenv.learn.batches import Batch, Scored
from coworkenv.learn.losses import Loss, cross_entropy
from coworkenv.learn.samples import Sample, Span, microbatches, trained
from coworkenv.learn.training import OptimiserSettings, Trainer

from .rollouts import VOCABULARY, policy
from .timing import in_turn, one_thread


class Lesson(msgspec.Struct, frozen=True):
    """What is learnt in a step: so many sequences, in micro-batches."""

    sequences: int = 32
    length: int = 512
    batch: int = 8
    """Sequences of a micro-batch."""
    rounds: int = 5

    @property
    def tokens(self) -> int:
        return self.sequences * self.length


SHORT = Lesson(sequences=4, length=24, batch=2, rounds=1)


class Training(msgspec.Struct, frozen=True):
    """Tokens a second of the processor; medians of the rounds."""

    trainer: float
    plain: float
    to_plain: float
    """Trainer ÷ plain."""


def training(lesson: Lesson) -> Training:
    """Measure both, in turn, once each being warm."""
    with one_thread():
        ids = torch.randint(VOCABULARY, (lesson.sequences, lesson.length))
        ways = [_trainer(ids, lesson), _plain(ids, lesson)]
        for way in ways:
            way()
        rounds = in_turn(ways, lesson.tokens, lesson.rounds)
    trainer, plain = map(median, zip(*rounds, strict=True))
    return Training(trainer, plain, median(row[0] / row[1] for row in rounds))


def _trainer(ids: torch.Tensor, lesson: Lesson) -> Callable[[], None]:
    trainer = Trainer(policy(), OptimiserSettings())
    given = [
        Sample(ids=tuple(row), spans=(Span(start=1, stop=lesson.length),), sequence=number, length=lesson.length - 1)
        for number, row in enumerate(ids.tolist())
    ]
    whole = trained(given)

    def objective(batch: Batch, scored: Scored) -> Loss:
        return cross_entropy(batch.tokens(scored), whole)

    return lambda: trainer.step(microbatches(given, lesson.batch * lesson.length), objective) and None


def _plain(ids: torch.Tensor, lesson: Lesson) -> Callable[[], None]:
    model = policy()
    model.config._attn_implementation = "sdpa"
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    parts = ids.split(lesson.batch)

    def step() -> None:
        for part in parts:
            logits = model(input_ids=part, use_cache=False).logits[:, :-1]
            loss = plain_cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten()) / len(parts)
            torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step
