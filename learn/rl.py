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
import torch

from ..engine.draw import Drawer
from ..engine.rollouts import Result
from ..events.log import Log
from ..worlds.world import World
from .batches import Batch, Scored
from .collecting import Policy
from .credit import CREDITS, Credit, by_values
from .experience import Earning, Lived, figures, read_experience
from .forking import SEEDS, Written, continued, forked, written
from .losses import Loss, grpo, kl_penalty, ppo_clip, reinforce, value_loss
from .models import weights_digest
from .playing import Draft, Told
from .policy import BatchFailed
from .processing import PROCESSES, Process, clipped, flat
from .reference import with_reference
from .samples import Sample, samples, sequences, split, trained
from .scores import spoilt
from .sft import chosen
from .splits import Split, base_of
from .together import CannotGoOn, everybodys
from .training import OptimiserSettings, Trainer
from .valuing import values_of

WAYS = (*CREDITS, "forks", "gae")
"""To assign credit: those that need rollouts alone, those that play more, and those that learn values beside."""


class BadSettings(ValueError):
    """Settings with which nothing could be learnt, in a sentence."""


class PolicyFailed(CannotGoOn):
    """No rollout came to its end, so there is nothing to learn from: the policy, or all it was given, is broken."""


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
    lam: float = 0.95
    """How far rewards reach back, for `credit: gae`."""
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
        if self.credit not in WAYS:
            raise BadSettings(f"there is no credit {self.credit!r}; there are {', '.join(WAYS)}")

    @property
    def valued(self) -> bool:
        return self.credit == "gae"

    def episodes(self, worlds: int, bases: int) -> float:
        """Of an update, on average, from a set of so many environments that are twins of so many bases."""
        return min(self.sets, bases) * self.rollouts * worlds / bases

    def continued(self, decisions: float) -> float:
        """What forks cost, as a multiple of their rollouts: half of so many decisions is left on average."""
        return self.forks * max(0.0, decisions - 1) / 2 if self.credit == "forks" else 0.0


class Experience(NamedTuple):
    """What one process has lived through in an update."""

    lived: list[Lived]
    advantages: list[tuple[float, ...]] | None
    """Of forks: known already."""
    failed: int
    """Episodes and continuations that did not end, or that somebody else has spoilt; their twin sets are left out."""
    reason: str
    """Why the first of them did not."""
    written: Written


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
        """This process's episodes of an update: so many twin sets, every twin as often.

        The episodes of all processes together, and their seeds, do not depend on how many there are.
        """
        names = list(self._sets)
        wanted = chosen(len(names), min(self.settings.sets, len(names)), update, self.settings.seed)
        first = Drawer([self.settings.seed], update, "episodes").below(SEEDS)
        accelerator = self.trainer.accelerator
        everything = [
            (turn, world, trial)
            for turn, place in enumerate(wanted)
            for world in self._sets[names[place]]
            for trial in range(self.settings.rollouts)
        ]
        return [
            Draft(world, first + number, trial)
            for number, (turn, world, trial) in enumerate(everything)
            if turn % accelerator.num_processes == accelerator.process_index
        ]

    async def live(self, update: int, log: Log, finished: Told = lambda _: None) -> Experience:
        """Play the rollouts of an update into a log that is being written to. Raises PolicyFailed, BadSettings.

        A twin set of which an episode failed is left out whole: its twins would be unequal.
        """
        results = await self.policy.play(self.drafts(update), log, finished)
        failed = _failed(results, log)
        whole = [result.id for result in results if result.id and base_of(result.environment) not in failed]
        lived = read_experience(log, whole, self.policy.rendering, self._about, self.settings.earning)
        if len(lived) < len(whole):  # the policy was never asked in one of them: an environment that ends at once
            found = {each.score.episode for each in lived}
            empty = {base_of(result.environment) for result in results if result.id in set(whole) - found}
            lived = [each for each in lived if each.score.environment not in empty]
        check_sampled(lived)
        advantages = None
        if self.settings.credit == "forks":
            seed = Drawer([self.settings.seed], update, "forks").below(SEEDS)
            more = await continued(self.policy, [each.rollout for each in lived], self.settings.forks, seed, log)
            lost = _failed([result for found in more for result in found], log)
            kept = [place for place, each in enumerate(lived) if each.score.environment not in lost]
            lived, more = [lived[place] for place in kept], [more[place] for place in kept]
            failed.update(lost)
            advantages = forked(lived, more, self.settings.forks)
        reasons = [reason for found in failed.values() for reason in found]
        return Experience(lived, advantages, len(reasons), reasons[0] if reasons else "", written(log))

    def learn(self, experience: Experience) -> dict[str, Any]:
        """Make the weights better by what all processes have lived through; gives what is told of the update.

        Raises PolicyFailed, NotFinite.
        """
        parts = everybodys(self.trainer.accelerator, [self._judged(experience)])
        lived = [each for part, _ in parts for each in part.lived]
        failed = sum(part.failed for part, _ in parts)
        if failed and not lived:
            reason = next(part.reason for part, _ in parts if part.reason)
            raise PolicyFailed(f"none of the episodes of this update came to its end; {failed} failed, first: {reason}")
        values = [row for _, rows in parts for row in rows]
        credit = self._credit(lived, [part for part, _ in parts], values)
        told = {
            "episodes": [each.score.episode for each in lived],
            "failed": failed,
            "flat": _flat(lived),
            **figures(lived),
            "fallbacks": credit.fallbacks,
            **self._learn(lived, credit, values),
            "sampled": sum(sum(part.written) for part, _ in parts),
            "forked": sum(part.written.forks for part, _ in parts),
        }
        self.policy.server.forget()
        self.policy.options = msgspec.structs.replace(self.policy.options, weights=weights_digest(self.trainer.model))
        return told

    def _judged(self, experience: Experience) -> tuple[Experience, list[list[float]]]:
        """The values before each decision, where there is a head that tells."""
        if not self.settings.valued:
            return experience, []
        trajectories = [each.rollout.trajectory for each in experience.lived]
        return experience, values_of(trajectories, self.trainer.score, self.settings.batch_tokens)

    def _credit(self, lived: Sequence[Lived], parts: Sequence[Experience], values: Sequence[Sequence[float]]) -> Credit:
        settings, rollouts = self.settings, [each.rollout for each in lived]
        if not rollouts:
            return Credit(advantages=())
        if settings.credit == "forks":
            return Credit(advantages=tuple(row for part in parts for row in part.advantages or ()))
        if settings.credit == "gae":
            return by_values(rollouts, values, settings.lam)
        return CREDITS[settings.credit](rollouts, partial(_limited, self._process, settings.limit))

    def _learn(self, lived: Sequence[Lived], credit: Credit, values: Sequence[Sequence[float]]) -> dict[str, float]:
        settings, trainer = self.settings, self.trainer
        given: list[Sample] = []
        for number, (each, advantages) in enumerate(zip(lived, credit.advantages, strict=True)):
            returns = [a + v for a, v in zip(advantages, values[number], strict=True)] if values else None
            given += samples(
                each.rollout.trajectory, advantages, returns=returns, truncated=settings.truncated, sequence=number
            )
        tokens, episodes = trained(given), sequences(given)
        if not tokens:
            return {}
        accelerator = trainer.accelerator
        batches: Sequence[Sequence[Sample]]
        batches = split(given, accelerator.num_processes, settings.batch_tokens)[accelerator.process_index]
        temperature = float(settings.temperature)
        if self._reference is not None and settings.beta:
            batches = [with_reference(each, self._reference, settings.batch_tokens, temperature) for each in batches]
        decisions = sum(len(each.rollout.rewards) for each in lived)
        objective = partial(_objective, settings, tokens, episodes, decisions)
        first, *_ = [trainer.step(batches, objective, temperature) for _ in range(settings.epochs)]
        return first


def _failed(results: Sequence[Result], log: Log) -> dict[str, list[str]]:
    """By twin set, why its episodes are of no use. Raises PolicyFailed where that was the policy's fault."""
    failed: dict[str, list[str]] = {}
    for result in results:
        if result.status != "ended":
            reason: str | None = result.reason
        elif result.reason == "failed" and result.id is not None:
            reason = spoilt(log, result.id)
        else:
            continue
        if reason is not None:
            if reason.startswith(BatchFailed.__name__):
                raise PolicyFailed(f"the policy failed in {result.environment}: {reason}")
            failed.setdefault(base_of(result.environment), []).append(f"{result.environment}: {reason}")
    return failed


def check_sampled(lived: Sequence[Lived]) -> None:
    """Raises BadSettings for what a policy's ratio cannot be computed of."""
    for each in lived:
        for decision in each.rollout.trajectory.decisions:
            if decision.logprobs is None or decision.sampler is None or not decision.sampler.recomputable:
                raise BadSettings(
                    f"the decision at event {decision.seq} of {each.score.environment} has no log-probabilities, or "
                    "they are not those of its model alone: only a policy's own rollouts, sampled above temperature 0 "
                    "without top_k and top_p, can be learnt from here; `learn offline` learns from others"
                )


def _flat(lived: Sequence[Lived]) -> float:
    """The share of twin sets in which nothing made a difference."""
    outcomes = [each.rollout.outcome() for each in lived]
    return flat(outcomes) / max(1, len({outcome.environment for outcome in outcomes}))


def _limited(process: Process, limit: float, outcomes: Any) -> list[float]:
    return clipped(process(outcomes), limit)


def _objective(
    settings: RlSettings, tokens: float, episodes: float, decisions: int, batch: Batch, scored: Scored
) -> Loss:
    given = batch.tokens(scored)
    if settings.loss == "grpo":
        loss = grpo(given, episodes, low=settings.low, high=settings.high, length_normalised=True)
    elif settings.loss == "ppo":
        loss = ppo_clip(given, tokens, low=settings.low, high=settings.high)
    else:
        loss = reinforce(given, tokens)
    value = loss.value
    if settings.beta and given.reference is not None:
        value = value + settings.beta * kl_penalty(given, tokens)
    if scored.values is not None:
        value = value + value_loss(scored.values, batch.returns, torch.ones_like(batch.returns), decisions)
    return Loss(value, loss.measures)
