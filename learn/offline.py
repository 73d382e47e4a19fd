"""Offline learning: from episodes that somebody played once, whoever that was.

Knows methods that need no new rollouts. Does not know files or checkpoints. Episodes of a policy have the ids and
probabilities that were sampled; those of an oracle, a trap or another's model are tokenised once, and can be learnt by
every method but the one that weighs by probabilities.

* `filtered`: cross-entropy on the best episodes of each twin, if they are better than nothing.
* `awr`: cross-entropy weighted by exp(advantage / beta) (`losses.awr`).
* `dpo`: for each twin the best against the worst, where they differ (`losses.dpo`).
* `weighted`: REINFORCE with truncated importance weights (`losses.reinforce`), within a bound of staleness.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from .batches import Batch, Scored
from .credit import CREDITS
from .experience import Earning, Lived
from .losses import Loss, Measures, awr, cross_entropy, dpo, reinforce, sequence_sums
from .processing import PROCESSES
from .reference import with_reference
from .rl import BadSettings
from .samples import Sample, samples, sequences, split, trained
from .sft import chosen
from .training import OptimiserSettings, Trainer

Method = Literal["filtered", "awr", "dpo", "weighted"]


class OfflineSettings(OptimiserSettings, frozen=True, kw_only=True):
    """How episodes that are there already are learnt."""

    method: Method = "awr"
    batch: int = 16
    """Episodes of a step; for `dpo`, pairs."""
    earning: Earning = Earning()
    processing: str = "centred"
    credit: str = "uniform"
    beta: float = 0.5
    """Of `awr`, the temperature of the advantages; of `dpo`, how near the policy is held to the reference."""
    cap: float = 2.0
    """The largest importance weight, for `weighted`."""
    batch_tokens: int = 8192
    length: int = 4096
    seed: int = 0


class Units(NamedTuple):
    """What a step takes so many of: episodes, or pairs of them."""

    units: tuple[tuple[Sample, ...], ...]
    left_out: int
    """Episodes that nothing can be learnt from by this method."""


def units(lived: Sequence[Lived], settings: OfflineSettings) -> Units:
    """Episodes as what the method learns from. Raises BadSettings where there is nothing to learn."""
    short = [each for each in lived if max(map(len, each.rollout.trajectory.segments)) <= settings.length]
    made = _METHODS[settings.method](short, settings)
    if not made:
        raise BadSettings(
            f"`{settings.method}` finds nothing to learn in {len(lived)} episodes: {_NEEDS[settings.method]}"
        )
    used = sum(len({sample.sequence for sample in unit}) for unit in made)
    return Units(tuple(made), len(lived) - used)


_NEEDS = {
    "filtered": "it needs episodes with a score above 0",
    "awr": "it needs two episodes of a twin at least",
    "dpo": "it needs two episodes of a twin with different scores",
    "weighted": "it needs two episodes of a twin that a policy of token ids sampled, with probabilities",
}


def _twins(lived: Sequence[Lived]) -> dict[tuple[str, str], list[Lived]]:
    found: dict[tuple[str, str], list[Lived]] = {}
    for each in lived:
        found.setdefault((each.rollout.trajectory.environment, each.rollout.trajectory.twin), []).append(each)
    return found


def _filtered(lived: Sequence[Lived], _: OfflineSettings) -> list[tuple[Sample, ...]]:
    best = {key: max(each.exact for each in group) for key, group in _twins(lived).items()}
    kept = [each for key, group in _twins(lived).items() for each in group if each.exact == best[key] > 0]
    return [samples(each.rollout.trajectory, sequence=number) for number, each in enumerate(kept)]


def _equal(lived: Sequence[Lived]) -> list[Lived]:
    """As many episodes of each twin of a set as the twin with the fewest has, the first of each; two at least."""
    counts: dict[str, int] = {}
    groups = _twins(lived)
    for (environment, _), group in groups.items():
        counts[environment] = min(counts.get(environment, len(group)), len(group))
    return [each for (name, _), group in groups.items() if counts[name] > 1 for each in group[: counts[name]]]


def _weighed(lived: Sequence[Lived], settings: OfflineSettings) -> list[tuple[Sample, ...]]:
    kept = _equal(lived)
    if not kept:
        return []
    credit = CREDITS[settings.credit]([each.rollout for each in kept], PROCESSES[settings.processing])
    return [
        samples(each.rollout.trajectory, advantages, sequence=number)
        for number, (each, advantages) in enumerate(zip(kept, credit.advantages, strict=True))
    ]


def _sampled(lived: Sequence[Lived], settings: OfflineSettings) -> list[tuple[Sample, ...]]:
    known = [
        each
        for each in lived
        if all(
            decision.logprobs is not None and decision.sampler is not None and decision.sampler.recomputable
            for decision in each.rollout.trajectory.decisions
        )
    ]
    return _weighed(known, settings)


def _pairs(lived: Sequence[Lived], _: OfflineSettings) -> list[tuple[Sample, ...]]:
    pairs: list[tuple[Sample, ...]] = []
    for group in _twins(lived).values():
        best, worst = max(group, key=lambda each: each.exact), min(group, key=lambda each: each.exact)
        if best.exact > worst.exact:
            number = len(pairs)
            chosen_, rejected = (
                samples(each.rollout.trajectory, sequence=2 * number + side, bundle=number)
                for side, each in enumerate((best, worst))
            )
            pairs.append((*chosen_, *rejected))
    return pairs


_METHODS = {"filtered": _filtered, "awr": _weighed, "dpo": _pairs, "weighted": _sampled}


def make(trainer: Trainer, given: Units, settings: OfflineSettings, reference: Any, step: int) -> dict[str, float]:
    """Make a step, and give its figures. `reference` is the model at the start, for `dpo`. Raises NotFinite."""
    accelerator = trainer.accelerator
    wanted = chosen(len(given.units), min(settings.batch, len(given.units)), step, settings.seed)
    parts = [sample for place in wanted for sample in given.units[place]]
    if settings.method == "dpo":
        parts = with_reference(parts, reference, settings.batch_tokens)
        whole = float(len(wanted))
    else:
        whole = trained(parts)
    shares = split(parts, accelerator.num_processes, settings.batch_tokens)
    figures = trainer.step(shares[accelerator.process_index], partial(_OBJECTIVES[settings.method], settings, whole))
    return {"episodes": float(sequences(parts)), **figures}


def _imitate(_: OfflineSettings, whole: float, batch: Batch, scored: Scored) -> Loss:
    return cross_entropy(batch.tokens(scored), whole)


def _weigh(settings: OfflineSettings, whole: float, batch: Batch, scored: Scored) -> Loss:
    return awr(batch.tokens(scored), whole, beta=settings.beta)


def _importance(settings: OfflineSettings, whole: float, batch: Batch, scored: Scored) -> Loss:
    return reinforce(batch.tokens(scored), whole, cap=settings.cap)


def _prefer(settings: OfflineSettings, whole: float, batch: Batch, scored: Scored) -> Loss:
    measures = Measures(weights=batch.weights, entropy=scored.entropy)
    if batch.reference is None or not len(batch.sequences):
        return Loss(scored.logprobs.sum() * 0, measures)
    _, sums = sequence_sums(scored.logprobs, batch.sequences)
    _, before = sequence_sums(batch.reference, batch.sequences)
    # Numbers ascend, and a pair is 2k and 2k + 1, both in this batch.
    value, _ = dpo(sums[0::2], sums[1::2], before[0::2], before[1::2], whole, beta=settings.beta)
    return Loss(value, measures)


_OBJECTIVES = {"filtered": _imitate, "awr": _weigh, "dpo": _prefer, "weighted": _importance}
