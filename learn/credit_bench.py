"""Judging credit: what each way to assign it says of frozen logs, held against the true advantage of every decision.

Knows methods, batches and measures. Does not know how the logs were made (`frozen`), nor how a table is printed. Your
own method is judged like ours: make a `ways.Way` of it, and give it to `judge`.

* `correlation`: Pearson's, of what a method says with the truth, over the decisions of all batches of an environment.
* `sign`: among decisions whose true advantage is more than 0.02 away from 0, the share that a method gives its sign.
* `bias` and `noise`: a method may use any scale, so its numbers are first multiplied by the one factor, not below 0,
  that brings their means nearest to the truth. Then, over decisions (a state and what was done there), `bias` is the
  root mean square of *mean over batches - truth*, `noise` that of *number - mean over batches*, both over the root mean
  square of the truth. A method that says nothing has bias 1 and noise 0.
* `necessary`: of a step without which the oracle scores less, how often a method gives more to doing it than to
  skipping it, among the batches of a twin in which both were seen.
* `tokens`: what a rollout took, together with the continuations that a method asks for.

All are means over environments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import frexp, ldexp, sqrt
from statistics import fmean

import msgspec

from .frozen import Frozen, Rollout, Variant
from .ways import Advantages, Batch, Way

SIZE = 8
"""Rollouts of each twin in a batch."""
MATTERS = 0.02
"""True advantages nearer to 0 than that have no sign worth guessing."""
HISTORY = 4
"""Batches that a value head has learnt from."""
_SIGNAL = 0.1
"""Where less than this share of the squares of a method's means is more than chance, it says nothing."""


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """How good a way is in one environment, or on average."""

    correlation: float
    sign: float
    bias: float
    noise: float
    necessary: float | None
    """None where no step is necessary, or none was both done and skipped in a batch."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one way."""

    credit: str
    processing: str
    planted: bool
    measures: Measures
    tokens: float
    """For each rollout, on average."""
    environments: Mapping[str, Measures]
    capabilities: Mapping[str, float]
    """The correlation, by capability: the mean over the environments that have it."""

    @property
    def name(self) -> str:
        return f"{self.credit}, {self.processing}"


# --- batches -----------------------------------------------------------------------------------------------


def batches(logs: Frozen, size: int) -> list[Batch]:
    """The rollouts, cut into batches of `size` of every twin: no rollout is in two of them, so what differs between
    batches is what chance does to a method. The batches after one, and then the first, are its history.

    Raises ValueError where there are fewer than two.
    """
    pools = [logs.of(variant) for variant in logs.variants]
    count = min((len(pool) for pool in pools), default=0) // size
    if count < 2:
        raise ValueError(f"there are too few rollouts of each twin for two batches of {size}")
    cut = [
        tuple(rollout for pool in pools for rollout in pool[size * number : size * (number + 1)])
        for number in range(count)
    ]
    return [
        Batch(
            cut[number],
            tuple(
                rollout for ahead in range(1, min(HISTORY, count - 1) + 1) for rollout in cut[(number + ahead) % count]
            ),
            number,
        )
        for number in range(count)
    ]


# --- judging -----------------------------------------------------------------------------------------------


class _Entry(msgspec.Struct, frozen=True, gc=False):
    """A decision in a batch, as all ways have it."""

    environment: int
    truth: float
    node: tuple[str, str]
    """Its state and what was done: the truth is the same wherever these are."""
    claim: tuple[int, int, str] | None
    """Batch, place of the twin's step and what was done, where that is the oracle's step or nothing, and necessary."""


def judge(
    logs: Frozen,
    ways: Sequence[Way],
    *,
    size: int = SIZE,
    advance: Callable[[], None] = lambda: None,
) -> list[Judged]:
    """What each way is worth on batches of `size` rollouts of each twin, the best first.

    `advance` is called after each way. Raises ValueError for logs with too few rollouts, or none that decide anything.
    """
    cut = batches(logs, size)
    deciding = {rollout.environment for rollout in logs.rollouts if rollout.decisions}
    if idle := [name for name in _environments(logs) if name not in deciding]:
        raise ValueError(f"nothing is decided in the rollouts of {idle[0]}, so no way can be told from another there")
    places = {environment: place for place, environment in enumerate(_environments(logs))}
    necessary = _necessary(logs)
    entries = [entry for batch in cut for entry in _entries(batch, places, necessary)]
    found: list[Judged] = []
    for way in ways:
        numbers = [number for batch in cut for number in _flat(batch, way.method(batch), way)]
        found.append(_judged(way, logs, places, entries, numbers))
        advance()
    return sorted(found, key=lambda one: -one.measures.correlation)


def planted_last(found: Sequence[Judged]) -> bool:
    """Whether the ways that are wrong on purpose are behind all others."""
    worst = min((one.measures.correlation for one in found if not one.planted), default=0.0)
    return all(one.measures.correlation < worst for one in found if one.planted)


def _environments(logs: Frozen) -> list[str]:
    return list(dict.fromkeys(variant.environment for variant in logs.variants))


def _necessary(logs: Frozen) -> dict[tuple[str, str, int], int]:
    """By environment, twin and point, a number for each step that the oracle needs."""
    needed = [
        (variant.environment, variant.twin, point)
        for variant in logs.variants
        for point, needs in enumerate(variant.necessary)
        if needs
    ]
    return {step: number for number, step in enumerate(needed)}


def _entries(
    batch: Batch, places: Mapping[str, int], necessary: Mapping[tuple[str, str, int], int]
) -> Iterator[_Entry]:
    for rollout in batch.rollouts:
        for decision in rollout.decisions:
            step = necessary.get((rollout.environment, rollout.twin, decision.point))
            claims = step is not None and decision.choice in ("oracle", "skip")
            yield _Entry(
                places[rollout.environment],
                decision.advantage,
                (decision.state, decision.choice),
                (batch.seed, step, decision.choice) if claims and step is not None else None,
            )


def _flat(batch: Batch, rows: Advantages, way: Way) -> Iterator[float]:
    """All numbers of a batch in a row. Raises ValueError unless there is one for each decision."""
    for rollout, row in zip(batch.rollouts, rows, strict=True):
        if len(row) != len(rollout.decisions):
            raise ValueError(f"{way.credit} gave {len(row)} advantages for {len(rollout.decisions)} decisions")
        yield from row


def _continued(rollout: Rollout) -> int:
    return sum(decision.before_tokens for decision in rollout.decisions)


def _judged(
    way: Way,
    logs: Frozen,
    places: Mapping[str, int],
    entries: Sequence[_Entry],
    numbers: Sequence[float],
) -> Judged:
    own: list[list[tuple[_Entry, float]]] = [[] for _ in places]
    for entry, number in zip(entries, numbers, strict=True):
        own[entry.environment].append((entry, number))
    environments = {name: _measures(own[place]) for name, place in places.items()}
    return Judged(
        credit=way.credit,
        processing=way.processing,
        planted=way.planted,
        measures=_mean(list(environments.values())),
        tokens=fmean(rollout.tokens + (_continued(rollout) if way.forks else 0) for rollout in logs.rollouts),
        environments=environments,
        capabilities=_by_capability(logs.variants, environments),
    )


def _by_capability(variants: Sequence[Variant], environments: Mapping[str, Measures]) -> dict[str, float]:
    having: dict[str, dict[str, float]] = {}
    for variant in variants:
        for capability in variant.capabilities:
            having.setdefault(capability, {})[variant.environment] = environments[variant.environment].correlation
    return {capability: fmean(having[capability].values()) for capability in sorted(having)}


def _mean(all_: Sequence[Measures]) -> Measures:
    necessary = [one.necessary for one in all_ if one.necessary is not None]
    return Measures(
        correlation=fmean(one.correlation for one in all_),
        sign=fmean(one.sign for one in all_),
        bias=fmean(one.bias for one in all_),
        noise=fmean(one.noise for one in all_),
        necessary=fmean(necessary) if necessary else None,
    )


# --- measures ----------------------------------------------------------------------------------------------


def _measures(pairs: Sequence[tuple[_Entry, float]]) -> Measures:
    truths = [entry.truth for entry, _ in pairs]
    numbers = [number for _, number in pairs]
    matter = [(truth, number) for truth, number in zip(truths, numbers) if abs(truth) > MATTERS]
    bias, noise = bias_and_noise([entry.node for entry, _ in pairs], truths, numbers)
    return Measures(
        correlation=correlation(truths, numbers),
        sign=fmean(truth * number > 0 for truth, number in matter) if matter else 1.0,
        bias=bias,
        noise=noise,
        necessary=_credited(pairs),
    )


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Pearson's; 0 where one of both never changes."""
    x, y = fmean(xs), fmean(ys)
    both = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    spread = sqrt(sum((a - x) ** 2 for a in xs) * sum((b - y) ** 2 for b in ys))
    return both / spread if spread > 1e-12 else 0.0


def bias_and_noise(nodes: Sequence[object], truths: Sequence[float], numbers: Sequence[float]) -> tuple[float, float]:
    """See the module. The mean over few visits of a node is itself noisy: what that adds to the bias is taken off, by
    the variance of the node over its visits. Nodes that were visited once say nothing and are left out."""
    visits: dict[object, list[float]] = {}
    truth: dict[object, float] = {}
    for node, true, number in zip(nodes, truths, numbers, strict=True):
        visits.setdefault(node, []).append(number)
        truth[node] = true
    known = {node: found for node, found in visits.items() if len(found) > 1}
    # Their scale is of no account, but squares of small numbers are none.
    _, exponent = frexp(max((abs(number) for found in known.values() for number in found), default=0.0))
    known = {node: [ldexp(number, -exponent) for number in found] for node, found in known.items()}
    size = sum(len(found) * truth[node] ** 2 for node, found in known.items())
    if not size:
        return 0.0, 0.0
    means = {node: fmean(found) for node, found in known.items()}
    inner = {
        node: sum((number - means[node]) ** 2 for number in found) / (len(found) - 1) for node, found in known.items()
    }
    along = sum(len(found) * means[node] * truth[node] for node, found in known.items())
    across = sum(len(found) * means[node] ** 2 - inner[node] for node, found in known.items())
    whole = sum(len(found) * means[node] ** 2 for node, found in known.items())
    factor = max(0.0, along / across) if across > _SIGNAL * whole else 0.0
    off = sum(
        len(found) * (factor * means[node] - truth[node]) ** 2 - factor**2 * inner[node]
        for node, found in known.items()
    )
    spread = factor**2 * sum(len(found) * inner[node] for node, found in known.items())
    return sqrt(max(0.0, off) / size), sqrt(spread / size)


def _credited(pairs: Sequence[tuple[_Entry, float]]) -> float | None:
    """How often doing a necessary step gets more than skipping it."""
    claims: dict[tuple[int, int], dict[str, list[float]]] = {}
    for entry, number in pairs:
        if entry.claim is not None:
            batch, step, choice = entry.claim
            claims.setdefault((batch, step), {}).setdefault(choice, []).append(number)
    both = [found for found in claims.values() if len(found) == 2]
    return fmean(fmean(found["oracle"]) > fmean(found["skip"]) for found in both) if both else None
