"""Samples: what one update is trained on, weighted and packed, before there are any tensors.

Knows segments, spans, micro-batches and processes. Does not know torch, what an advantage means or where it came from.

What is trained on is said by spans. No id is ever compared with the padding's: that is often the end of a turn, which
the policy must learn to write.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from .decisions import Decision, Trajectory, Values


class SampleError(ValueError):
    """Trajectories, advantages or log-probabilities do not fit together."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """What one decision wrote, in its segment, and how it is trained on."""

    start: int
    stop: int
    advantage: float = 1.0
    weight: float = 1.0
    """Of each of its tokens in the loss. 0: it is read by what comes later, and not trained on."""
    returns: float = 0.0
    """What a value head should say before the decision."""
    logprobs: tuple[float, ...] | None = None
    reference: tuple[float, ...] | None = None
    """Log-probabilities of the tokens under the reference model, where they are known already."""
    age: int = 0
    """Updates between the weights that sampled it and those that are trained."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One segment of a trajectory, up to the last id that the policy wrote in it."""

    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    sequence: int = 0
    """Number of the trajectory in the update, its own. The pairs of DPO are 2k (chosen) and 2k + 1 (rejected)."""
    length: float = 0.0
    """Sum of the weights of the trajectory's tokens, in all its segments."""
    bundle: int | None = None
    """Samples of one bundle are never put in different micro-batches."""


def samples(
    trajectory: Trajectory,
    advantages: Values | None = None,
    *,
    returns: Values | None = None,
    references: Sequence[Sequence[float]] | None = None,
    weights: Values | None = None,
    truncated: Literal["keep", "mask"] = "keep",
    age: int = 0,
    sequence: int = 0,
    bundle: int | None = None,
) -> tuple[Sample, ...]:
    """One sample for each segment that has a decision. What is given by decision is in the trajectory's order.

    Without advantages, a demonstration: each is 1. `truncated="mask"` gives decisions that were cut off by length the
    weight 0 (DAPO's filter); `keep` trains on the tokens there are, and no end of turn is invented. Raises SampleError
    where there is not one value for each decision.
    """
    decisions = trajectory.decisions
    given = {"advantages": advantages, "returns": returns, "references": references, "weights": weights}
    for name, values in given.items():
        if values is not None and len(values) != len(decisions):
            raise SampleError(f"{name}: {len(values)} for the {len(decisions)} decisions of {_name(trajectory)}")
    spans = [
        Span(
            start=decision.start,
            stop=decision.stop,
            advantage=1.0 if advantages is None else float(advantages[number]),
            weight=_weight(decision, truncated) * (1.0 if weights is None else float(weights[number])),
            returns=0.0 if returns is None else float(returns[number]),
            logprobs=decision.logprobs,
            reference=None if references is None else tuple(references[number]),
            age=age,
        )
        for number, decision in enumerate(decisions)
    ]
    segments: dict[int, list[Span]] = {}
    for decision, span in zip(decisions, spans, strict=True):
        _check(trajectory, decision, span)
        segments.setdefault(decision.segment, []).append(span)
    made = tuple(
        Sample(
            ids=trajectory.segments[segment][: max(span.stop for span in found)],
            spans=tuple(found),
            sequence=sequence,
            bundle=bundle,
        )
        for segment, found in sorted(segments.items())
    )
    return _measured(made)


def bounded(given: Iterable[Sample], updates: int) -> tuple[Sample, ...]:
    """The samples, with weight 0 for decisions that are more than so many updates old: a bound on staleness."""
    trajectories: dict[int, list[Sample]] = {}
    kept = [
        msgspec.structs.replace(
            sample,
            spans=tuple(
                span if span.age <= updates else msgspec.structs.replace(span, weight=0.0) for span in sample.spans
            ),
        )
        for sample in given
    ]
    for sample in kept:
        trajectories.setdefault(sample.sequence, []).append(sample)
    lengths = {sequence: trained(found) for sequence, found in trajectories.items()}
    return tuple(msgspec.structs.replace(sample, length=lengths[sample.sequence]) for sample in kept)


def trained(given: Iterable[Sample]) -> float:
    """Sum of the weights of all tokens: the denominator of a loss that is a mean over tokens."""
    return sum(span.weight * (span.stop - span.start) for sample in given for span in sample.spans)


def sequences(given: Iterable[Sample]) -> int:
    """Trajectories with anything to train on: the denominator of a loss that is a mean over trajectories."""
    return len({sample.sequence for sample in given if sample.length})


def _measured(made: tuple[Sample, ...]) -> tuple[Sample, ...]:
    length = trained(made)
    return tuple(msgspec.structs.replace(sample, length=length) for sample in made)


def _weight(decision: Decision, truncated: str) -> float:
    return 0.0 if truncated == "mask" and decision.stopped == "length" else 1.0


def _check(trajectory: Trajectory, decision: Decision, span: Span) -> None:
    where = f"the decision at event {decision.seq} of {_name(trajectory)}"
    if decision.start < 1:
        raise SampleError(f"{where} has no prompt, so nothing predicts its first token; give it at least one id")
    if span.weight < 0:
        raise SampleError(f"{where} has weight {span.weight}; weights are at least 0 (advantages may be below)")
    for name, values in (("log-probabilities", span.logprobs), ("reference log-probabilities", span.reference)):
        if values is not None and len(values) != decision.tokens:
            raise SampleError(f"{where} has {decision.tokens} tokens and {len(values)} {name}")


def _name(trajectory: Trajectory) -> str:
    return f"episode {trajectory.episode[:10] or '?'} of {trajectory.environment}"


# --- packing -------------------------------------------------------------------------------------------------


def microbatches(given: Sequence[Sample], tokens: int) -> tuple[tuple[Sample, ...], ...]:
    """Samples in micro-batches whose padded size, rows × longest row, is at most `tokens`.

    Longest first, so that what will not fit in memory fails at once; equal lengths in the order given. What is larger
    by itself (a sample, a bundle) is a micro-batch of its own. The same samples give the same micro-batches.
    """
    packed: list[tuple[Sample, ...]] = []
    current: tuple[Sample, ...] = ()
    for unit in sorted(_units(given), key=_longest, reverse=True):
        if current and (len(current) + len(unit)) * max(_longest(current), _longest(unit)) > tokens:
            packed.append(current)
            current = ()
        current += unit
    return (*packed, current) if current else tuple(packed)


def split(given: Sequence[Sample], processes: int, tokens: int) -> tuple[tuple[tuple[Sample, ...], ...], ...]:
    """The micro-batches of each process: as many for all, tokens balanced (largest to the least loaded).

    Where a process has fewer, empty micro-batches follow. They must be run too, since all processes take part in the
    sum of gradients: `collate(())` is one row of padding without a trained token, and a loss over it is exactly 0 with
    zero gradients for every parameter. Losses have one denominator for all processes, so gradients are to be *summed*;
    where they are averaged (DistributedDataParallel), multiply the loss by the number of processes.
    """
    shares: list[list[Sample]] = [[] for _ in range(processes)]
    loads = [(0, process) for process in range(processes)]
    for unit in sorted(_units(given), key=_size, reverse=True):
        load, process = heapq.heappop(loads)
        shares[process].extend(unit)
        heapq.heappush(loads, (load + _size(unit), process))
    packed = [microbatches(share, tokens) for share in shares]
    most = max(map(len, packed))
    return tuple(parts + ((),) * (most - len(parts)) for parts in packed)


def _units(given: Sequence[Sample]) -> list[tuple[Sample, ...]]:
    """What stays together, in order of first appearance."""
    units: dict[tuple[int, int], list[Sample]] = {}
    for place, sample in enumerate(given):
        key = (0, place) if sample.bundle is None else (1, sample.bundle)
        units.setdefault(key, []).append(sample)
    return [tuple(unit) for unit in units.values()]


def _longest(unit: Sequence[Sample]) -> int:
    return max(len(sample.ids) for sample in unit)


def _size(unit: Sequence[Sample]) -> int:
    return sum(len(sample.ids) for sample in unit)
