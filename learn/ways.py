"""Ways to assign credit that `credit-bench` judges: ours, after each processing, and two that are wrong on purpose.

Knows batches of frozen logs, and how the functions of `credit` and `processing` read them. Does not know the truth, nor
how a way is judged (`credit_bench`). A way of your own is a function from a `Batch` to one advantage for each decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from statistics import fmean
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from ..engine.draw import Drawer
from .credit import CREDITS, Assign, from_forks, gae, returns
from .credit import Rollout as Earned
from .decisions import Decision, Trajectory
from .frozen import Decided, Rollout
from .processing import PROCESSES, Outcome, Process, clipped, scaled

OWN = "own"
"""Instead of a processing: the method compares with a baseline of its own."""


class Batch(msgspec.Struct, frozen=True, dict=True):
    """What one update sees."""

    rollouts: tuple[Rollout, ...]
    """The same number of each twin of each environment."""
    history: tuple[Rollout, ...]
    """Others of the same policy, such as a value head has learnt from before."""
    seed: int = 0
    """For methods that draw."""

    @cached_property
    def earned(self) -> list[Earned]:
        """The rollouts as `credit` takes them."""
        return [earned(rollout) for rollout in self.rollouts]


Advantages: TypeAlias = Sequence[Sequence[float]]
"""By rollout and decision."""
Method: TypeAlias = Callable[[Batch], Advantages]


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A method under judgement."""

    credit: str
    processing: str = OWN
    method: Method
    forks: bool = False
    """It uses the continuations, so their tokens are its tokens."""
    planted: bool = False
    """It is wrong on purpose."""


# --- methods -----------------------------------------------------------------------------------------------


def earned(rollout: Rollout) -> Earned:
    """A rollout as `credit` takes it: each decision is a segment, of which the information state is the prompt."""
    prompts = [int(decision.state[:15], 16) for decision in rollout.decisions]
    return Earned(
        trajectory=Trajectory(
            episode=f"{rollout.environment}@{rollout.twin}#{rollout.number}",
            environment=rollout.environment,
            twin=rollout.twin,
            trial=rollout.number,
            segments=tuple((prompt, 0) for prompt in prompts),
            decisions=tuple(
                Decision(seq=decision.seq, resolved=decision.seq, segment=place, start=1, stop=2)
                for place, decision in enumerate(rollout.decisions)
            ),
        ),
        rewards=tuple(decision.reward for decision in rollout.decisions),
    )


def assigned(assign: Assign, process: Process, batch: Batch) -> Advantages:
    """A method of `credit`, after a processing."""
    return assign(batch.earned, process).advantages


def value_table(history: Iterable[Rollout]) -> Callable[[Rollout, Decided], float]:
    """What is still earned on average from an information state on; from the same point, where the state is new; 0
    where that is new, too. This is what a good value head would have learnt from so many rollouts."""
    states: dict[str, list[float]] = {}
    points: dict[tuple[str, str, int], list[float]] = {}
    for rollout in history:
        ahead = returns([decision.reward for decision in rollout.decisions])
        for decision, left in zip(rollout.decisions, ahead, strict=True):
            states.setdefault(decision.state, []).append(left)
            points.setdefault((rollout.environment, rollout.twin, decision.point), []).append(left)
    means = {state: fmean(values) for state, values in states.items()}
    otherwise = {point: fmean(values) for point, values in points.items()}

    def value(rollout: Rollout, decision: Decided) -> float:
        point = (rollout.environment, rollout.twin, decision.point)
        return means.get(decision.state, otherwise.get(point, 0.0))

    return value


def by_gae(batch: Batch, lam: float = 0.95) -> Advantages:
    """GAE on dense rewards, with the table of values of the batch's history."""
    value = value_table(batch.history)
    return [
        gae(
            [decision.reward for decision in rollout.decisions],
            [value(rollout, decision) for decision in rollout.decisions],
            lam=lam,
        )
        for rollout in batch.rollouts
    ]


def by_forks(batch: Batch) -> Advantages:
    """Monte-Carlo, with all continuations that the logs have of each state."""
    return [
        from_forks([*(decision.before for decision in rollout.decisions), (rollout.score,)])
        for rollout in batch.rollouts
    ]


def reversed_(method: Method, batch: Batch) -> Advantages:
    """Wrong: each rollout's advantages in the reverse order of its decisions."""
    return [tuple(reversed(row)) for row in method(batch)]


def shuffled(method: Method, batch: Batch) -> Advantages:
    """Wrong: the advantages of the whole batch, dealt out anew."""
    rows = method(batch)
    deck = [value for row in rows for value in row]
    drawer = Drawer([batch.seed], 0, "shuffled")
    for place in range(len(deck) - 1, 0, -1):
        other = drawer.below(place + 1)
        deck[place], deck[other] = deck[other], deck[place]
    dealt = iter(deck)
    return [tuple(next(dealt) for _ in row) for row in rows]


def standardised_by_twin(outcomes: Sequence[Outcome]) -> list[float]:
    """Wrong: centred, over the spread of the twin alone. See `processing`."""
    apart = [Outcome(f"{each.environment}@{each.twin}", "", each.score, each.among) for each in outcomes]
    return scaled(apart)


def clipped_scaled(outcomes: Sequence[Outcome]) -> list[float]:
    """Scaled, and at most 1 away from 0."""
    return clipped(scaled(outcomes), 1.0)


BY_TWIN = "by-twin"
JUDGED: Mapping[str, Process] = MappingProxyType(
    {**PROCESSES, "clipped": clipped_scaled, BY_TWIN: standardised_by_twin}
)
"""Every processing, and one that is wrong."""


def ways() -> list[Way]:
    """Every credit after every processing, those with a baseline of their own once, and the planted wrong ones."""
    found = [
        Way(credit=credit, processing=processing, method=partial(assigned, assign, process))
        for credit, assign in CREDITS.items()
        for processing, process in JUDGED.items()
    ]
    found.append(Way(credit="gae", method=by_gae))
    found.append(Way(credit="forks", method=by_forks, forks=True))
    # The sharpest way is the one that is most spoilt by it: of one that says the same of every decision, nothing is.
    found.append(Way(credit="reversed", method=partial(reversed_, by_forks), forks=True, planted=True))
    found.append(Way(credit="shuffled", method=partial(shuffled, by_forks), forks=True, planted=True))
    return found
