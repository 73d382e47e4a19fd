"""Supervised fine-tuning: what demonstrations decided, decision by decision, under the prompts that they saw.

Knows trajectories and the order in which they are learnt. Does not know files, folders or checkpoints.
What a step learns follows from the seed and its number, so a training that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..engine.draw import Drawer
from .batches import Batch, Scored
from .decisions import Trajectory
from .lessons import Lesson, lesson_trajectory
from .losses import Loss, cross_entropy
from .rendering import Rendering
from .samples import Sample, samples, split, trained
from .training import OptimiserSettings, Trainer


class SftSettings(OptimiserSettings, frozen=True, kw_only=True):
    """How demonstrations are learnt."""

    lr: float = 1e-4
    batch: int = 16
    """Demonstrations of one step."""
    batch_tokens: int = 8192
    """Padded tokens that are in memory at once."""
    length: int = 4096
    """Demonstrations with more tokens are left out, and counted."""
    seed: int = 0


class Course(msgspec.Struct, frozen=True):
    """Demonstrations as samples."""

    lessons: tuple[tuple[Sample, ...], ...]
    left_out: int
    """Demonstrations that were too long."""
    tokens: int
    """Tokens to learn, all together."""
    read: int
    """Tokens to read, all together."""


def course(lessons: Sequence[Lesson], rendering: Rendering, length: int) -> Course:
    """Tokenise demonstrations, once. What a lesson shows and does not teach has the weight 0."""
    kept: list[tuple[Sample, ...]] = []
    for number, lesson in enumerate(lessons):
        trajectory = lesson_trajectory(lesson, rendering)
        if max(map(len, trajectory.segments)) <= length:
            kept.append(samples(trajectory, weights=_weights(lesson, trajectory), sequence=number))
    parts = [sample for lesson in kept for sample in lesson]
    return Course(tuple(kept), len(lessons) - len(kept), int(trained(parts)), sum(len(sample.ids) for sample in parts))


def _weights(lesson: Lesson, trajectory: Trajectory) -> list[float]:
    return [float(number not in lesson.unlearnt) for number in range(len(trajectory.decisions))]


def chosen(count: int, batch: int, step: int, seed: int) -> list[int]:
    """Which lessons a step has: all are learnt once before one is learnt again, each time in another order."""
    places: list[int] = []
    for place in range(step * batch, (step + 1) * batch):
        epoch, within = divmod(place, count)
        places.append(_order(count, epoch, seed)[within])
    return places


def _order(count: int, epoch: int, seed: int) -> list[int]:
    """Fisher and Yates's shuffle, drawn from (seed, epoch) alone."""
    key = (count, epoch, seed)
    if key not in _orders:
        _orders.clear()
        draw = Drawer([seed], epoch, "order of lessons")
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = draw.below(last + 1)
            order[last], order[other] = order[other], order[last]
        _orders[key] = order
    return _orders[key]


_orders: dict[tuple[int, int, int], list[int]] = {}
"""The last order: a step seldom has lessons of two epochs."""


def make(trainer: Trainer, given: Course, settings: SftSettings, step: int) -> dict[str, float]:
    """Make a step, and give its figures. Raises NotFinite."""
    accelerator = trainer.accelerator
    wanted = chosen(len(given.lessons), settings.batch, step, settings.seed)
    parts = [sample for place in wanted for sample in given.lessons[place]]
    shares = split(parts, accelerator.num_processes, settings.batch_tokens)
    whole = trained(parts)

    def objective(batch: Batch, scored: Scored) -> Loss:
        return cross_entropy(batch.tokens(scored), whole)

    figures = trainer.step(shares[accelerator.process_index], objective)
    return {"read": float(sum(len(sample.ids) for sample in parts)), **figures}
