"""How long a training takes, measured on a little of its own work before anything starts.

Knows models, samples and policies. Does not know sizes of memory (`planning`), or commands. Nothing that is measured
changes a weight or leaves a trace: episodes are played into a log that is thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, NamedTuple

import msgspec
import torch

from ..engine import wall
from ..engine.cli.interrupts import run_until_interrupted
from ..events.memory import MemoryLog
from .batches import CHUNK, collate, forward_logprobs
from .collecting import Policy
from .experience import Earning, Lived, read_experience
from .models import shape_of
from .planning import Memory, Tokens, generating, learning, measured, spoken, together
from .playing import Draft
from .samples import Sample, microbatches, samples
from .sharding import again


class Played(NamedTuple):
    """A few episodes that were played to see how long it takes."""

    lived: list[Lived]
    episodes: int
    tokens: int
    """That the policy wrote."""
    seconds: float

    @property
    def each(self) -> float:
        """Tokens of an episode."""
        return self.tokens / max(1, self.episodes)

    @property
    def speed(self) -> float:
        """Tokens a second, reading included."""
        return max(self.tokens, 1) / self.seconds


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a training takes, of memory and of time."""

    memory: Memory
    tokens: Tokens
    speed: Tokens

    @property
    def hours(self) -> float:
        return self.tokens.hours(self.speed)

    def rows(self) -> list[tuple[str, str]]:
        """What a person is told, line by line."""
        names = (("tokens to write", "written"), ("tokens to learn", "learnt"))
        counted = [
            (title, f"{getattr(self.tokens, name):,.0f}, {getattr(self.speed, name):,.0f} a second")
            for title, name in names
            if getattr(self.tokens, name)
        ]
        return [*counted, ("time", spoken(self.hours))]


def needs(model: Any, batch_tokens: int, length: int, *, rows: int, written: float = 1.0, reference: bool) -> Memory:
    """Memory of a training that plays `rows` episodes at once, if any; of `batch_tokens`, so many are learnt."""
    shape = shape_of(model)
    tokens = max(batch_tokens, length)
    share = min(written, CHUNK / (tokens * shape.vocabulary))  # The head is computed in pieces.
    flash = model.config._attn_implementation != "eager"
    learn = learning(shape, batch_tokens, length, written=share, flash=flash, again=again(), reference=reference)
    return together(learn, generating(shape, rows, length))


def learning_speed(model: Any, given: Sequence[Sample], batch_tokens: int, seconds: float = 1.0) -> float:
    """Tokens a second, forward and backward."""
    batches = cycle(microbatches(given, batch_tokens))
    device = next(model.parameters()).device

    def work() -> int:
        batch = next(batches)
        torch.autograd.backward(forward_logprobs(model, collate(batch).to(device)).logprobs.sum())
        return sum(len(sample.ids) for sample in batch)

    try:
        return measured(work, seconds)
    finally:
        model.zero_grad(set_to_none=True)


def played(policy: Policy, drafts: Sequence[Draft]) -> Played:
    """Play a few episodes. Raises Interrupted."""

    async def playing() -> Played:
        log = MemoryLog()
        async with log.writing():
            start = wall.monotonic()
            results = await policy.play(drafts, log)
            seconds = wall.monotonic() - start
            ended = [result.id for result in results if result.id and result.status == "ended"]
            lived = read_experience(log, ended, policy.rendering, {}, Earning())
        tokens = sum(each.rollout.trajectory.tokens for each in lived)
        return Played(lived, len(drafts), tokens, seconds)

    return run_until_interrupted(playing)


def samples_of(found: Played) -> list[Sample]:
    """What would be learnt from these episodes."""
    return [
        part for number, each in enumerate(found.lived) for part in samples(each.rollout.trajectory, sequence=number)
    ]
