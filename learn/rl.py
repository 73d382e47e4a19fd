"""Reinforcement learning from the policy's own rollouts.

Knows the way from an update's number to new weights: which twin sets are played, what the rollouts earned, whose
decisions that was due to, and what the loss makes of it. Each of these is a function of a module of its own, chosen by
name. Does not know files or checkpoints (`runs`), or how tokens are drawn.

What an update does is a function of the weights, the settings and its number: one that was broken off is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from ..engine.draw import Drawer
from ..events.log import Log
from ..worlds.world import World
from .batches import Batch, Scored
from .collecting import Branch, Policy
from .credit import CREDITS, Credit, Rollout, from_forks
from .experience import Earning, Lived, figures, read_experience
from .losses import Loss, grpo, kl_penalty, ppo_clip, reinforce
from .models import weights_digest
from .playing import Draft, Told
from .processing import PROCESSES, Process, clipped, flat
from .reference import with_reference
from .samples import Sample, microbatches, samples, sequences, trained
from .sft import chosen
from .splits import Split, base_of
from .training import OptimiserSettings, Trainer

SEEDS = 1 << 31
"""An update's episodes have seeds of their own, so no two are the same episode."""


class BadSettings(ValueError):
    """Settings with which nothing could be learnt, in a sentence."""


class RlSettings(OptimiserSettings, frozen=True, kw_only=True):
    """How a policy learns from its own rollouts."""

    lr: float = 1e-5
    warmup: int = 0
    decay: bool = False
    steps: int = 20
    """Updates."""
    sets: int = 8
    """Twin sets of an update; of each, every twin is played."""
    rollouts: int = 4
    """Of each twin."""
    epochs: int = 1
    """How often the rollouts of an update are learnt."""
    temperature: Decimal = Decimal(1)
    max_tokens: int = 256
    earning: Earning = Earning()
    processing: str = "batch-scaled"
    limit: float = 5.0
    """Processed scores and advantages are held within this."""
    credit: str = "uniform"
    forks: int = 4
    """Continuations of each decision, for `credit: forks`."""
    loss: Literal["ppo", "grpo", "reinforce"] = "ppo"
    low: float = 0.2
    high: float = 0.2
    beta: float = 0.0
    """Weight of the KL divergence to the policy at the start."""
    truncated: Literal["keep", "mask"] = "keep"
    batch_tokens: int = 8192
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise BadSettings(
                "a policy that always takes the likeliest token tries nothing; sample above temperature 0"
            )
        if self.rollouts < 2:
            raise BadSettings("at least two rollouts of each twin are needed: each is compared with the others")
        if self.processing not in PROCESSES:
            raise BadSettings(f"there is no processing {self.processing!r}; there are {', '.join(PROCESSES)}")
        if self.credit not in (*CREDITS, "forks"):
            raise BadSettings(f"there is no credit {self.credit!r}; there are {', '.join((*CREDITS, 'forks'))}")


class Experience(NamedTuple):
    """What an update has to learn from, and what is told of it."""

    lived: list[Lived]
    credit: Credit
    told: dict[str, float]


class Learner:
    """A policy, the sets it learns from, and how."""

    def __init__(
        self, trainer: Trainer, policy: Policy, split: Split, settings: RlSettings, reference: Any | None = None
    ) -> None:
        """`reference` is a frozen copy of the model at the start; it is needed where `beta` is above 0."""
        if settings.beta and reference is None:
            raise BadSettings("a policy can only be held near a reference that is there")
        if not policy.options.sampler.recomputable:
            raise BadSettings(
                "top_k and top_p leave tokens out whose probability nobody can compute again; do not set them"
            )
        self.trainer = trainer
        self.policy = policy
        self.settings = settings
        self._reference = reference
        self._about = split.about
        self._sets: dict[str, list[World]] = {}
        for world in split.worlds:
            self._sets.setdefault(base_of(world.id), []).append(world)
        self._process: Process = PROCESSES[settings.processing]

    def drafts(self, update: int) -> list[Draft]:
        """This process's episodes of an update: so many twin sets, every twin as often."""
        names = list(self._sets)
        wanted = chosen(len(names), min(self.settings.sets, len(names)), update, self.settings.seed)
        first = Drawer([self.settings.seed], update, "episodes").below(SEEDS)
        accelerator = self.trainer.accelerator
        mine = wanted[accelerator.process_index :: accelerator.num_processes]
        first += accelerator.process_index << 32
        worlds = [world for place in mine for world in self._sets[names[place]]]
        pairs = [(world, trial) for world in worlds for trial in range(self.settings.rollouts)]
        return [Draft(world, first + number, trial) for number, (world, trial) in enumerate(pairs)]

    async def live(self, number: int, log: Log, finished: Told = lambda _: None) -> Experience:
        """Play the rollouts of an update into a log that is being written to, and judge their decisions."""
        lived, failed = await self._play(number, log, finished)
        credit = await self._credit(lived, log)
        told = {"failed": failed, "flat": self._flat(lived), **figures(lived), "fallbacks": credit.fallbacks}
        return Experience(lived, credit, told)

    async def _play(self, number: int, log: Log, finished: Told) -> tuple[list[Lived], int]:
        """The rollouts of an update. A twin set of which one failed is left out whole: its twins would be unequal."""
        drafts = self.drafts(number)
        results = await self.policy.play(drafts, log, finished)
        broken = {base_of(result.environment) for result in results if result.status != "ended"}
        whole = [result.id for result in results if base_of(result.environment) not in broken and result.id]
        lived = read_experience(log, whole, self.policy.rendering, self._about, self.settings.earning)
        if len(lived) < len(whole):  # the policy was never asked in one of them: an environment that ends at once
            found = {each.score.episode for each in lived}
            empty = {base_of(result.environment) for result in results if result.id in set(whole) - found}
            lived = [each for each in lived if each.score.environment not in empty]
        return lived, sum(result.status != "ended" for result in results)

    @staticmethod
    def _flat(lived: Sequence[Lived]) -> float:
        """The share of twin sets in which nothing made a difference."""
        outcomes = [each.rollout.outcome() for each in lived]
        return flat(outcomes) / max(1, len({outcome.environment for outcome in outcomes}))

    async def _credit(self, lived: Sequence[Lived], log: Log) -> Credit:
        rollouts = [each.rollout for each in lived]
        limited = partial(_limited, self._process, self.settings.limit)
        if not rollouts:
            return Credit(advantages=())
        if self.settings.credit != "forks":
            return CREDITS[self.settings.credit](rollouts, limited)
        return await self._forked(rollouts, log)

    async def _forked(self, rollouts: Sequence[Rollout], log: Log) -> Credit:
        """Monte-Carlo credit: what the policy comes to from behind each decision, with the world's noise as it was.

        Before the first decision, the other rollouts of the twin are such continuations.
        """
        draw = Drawer([self.settings.seed], self.trainer.steps, "forks")
        branches = [
            Branch(rollout.trajectory.episode, decision.seq, draw.below(SEEDS))
            for rollout in rollouts
            for decision in rollout.trajectory.decisions[:-1]
            for _ in range(self.settings.forks)
        ]
        scores = iter(
            [float(result.grade.score) if result.grade else 0.0 for result in await self.policy.fork(branches, log)]
        )
        twins: dict[tuple[str, str], list[float]] = {}
        for rollout in rollouts:
            twins.setdefault((rollout.trajectory.environment, rollout.trajectory.twin), []).append(rollout.score)
        advantages = []
        for rollout in rollouts:
            others = list(twins[rollout.trajectory.environment, rollout.trajectory.twin])
            others.remove(rollout.score)
            inner = [[next(scores) for _ in range(self.settings.forks)] for _ in rollout.trajectory.decisions[:-1]]
            advantages.append(from_forks([others, *inner, [rollout.score]]))
        return Credit(advantages=tuple(advantages))

    def learn(self, experience: Experience) -> dict[str, float]:
        """Make the weights better by it; gives what is told of the update. Raises NotFinite."""
        told = {**experience.told, **self._learn(experience.lived, experience.credit)}
        self.policy.server.forget()
        self.policy.options = msgspec.structs.replace(self.policy.options, weights=weights_digest(self.trainer.model))
        return told

    def _learn(self, lived: Sequence[Lived], credit: Credit) -> dict[str, float]:
        settings, trainer = self.settings, self.trainer
        given: list[Sample] = []
        for number, (each, advantages) in enumerate(zip(lived, credit.advantages, strict=True)):
            given += samples(each.rollout.trajectory, advantages, truncated=settings.truncated, sequence=number)
        temperature = float(settings.temperature)
        if self._reference is not None and settings.beta:
            given = with_reference(given, self._reference, settings.batch_tokens, temperature)
        tokens, episodes = trainer.total(trained(given)), trainer.total(sequences(given))
        if not tokens:
            return {"sampled": 0.0}
        batches: list[Sequence[Sample]] = list(microbatches(given, settings.batch_tokens))
        batches += [()] * (trainer.largest(len(batches)) - len(batches))
        objective = partial(_objective, settings, tokens, episodes)
        told: dict[str, float] = {}
        for _ in range(settings.epochs):
            found = trainer.step(batches, objective, temperature)
            told = told or found
        return {**told, "sampled": trainer.total(float(sum(each.rollout.trajectory.tokens for each in lived)))}


def _limited(process: Process, limit: float, outcomes: Any) -> list[float]:
    return clipped(process(outcomes), limit)


def _objective(settings: RlSettings, tokens: float, episodes: float, batch: Batch, scored: Scored) -> Loss:
    given = batch.tokens(scored)
    if settings.loss == "grpo":
        loss = grpo(given, episodes, low=settings.low, high=settings.high, length_normalised=True)
    elif settings.loss == "ppo":
        loss = ppo_clip(given, tokens, low=settings.low, high=settings.high)
    else:
        loss = reinforce(given, tokens)
    if not settings.beta or given.reference is None:
        return loss
    return Loss(loss.value + settings.beta * kl_penalty(given, tokens), loss.measures)
