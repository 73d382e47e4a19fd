"""What each decision of a noised oracle is truly worth: A(s, a) = Q(s, a) − V(s), by looking at every continuation.

Knows trees of choices and the scores at their leaves. Does not know any way to estimate an advantage from a few
episodes (`credit`): it is what they are held against.

V(s) is the expected final score of the noised policy from a state on, and Q(s, a) is V of the state after `a`, since
the world does nothing by chance that the seed has not settled. Where few leaves are below a state, V is their exact
sum, weighted by their probabilities; elsewhere it is the mean of K continuations, which are forks: episodes with the
same choices up to there (see `noised`). An episode is played once, however often it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import sqrt

import msgspec

from ..engine.draw import Drawer
from ..worlds.checks.scoring import Grader, Rubric
from .noise import Noised
from .noised import Played, play, sampled, tokens

FORKS = 256
"""K: continuations of a state that is too large for exact enumeration."""
EXACT = 4000
"""A variant with at most so many episodes is enumerated from its first decision on."""
_PURPOSE = "truth"


class Leaf(msgspec.Struct, frozen=True):
    """How an episode ended."""

    choices: tuple[int, ...]
    """As far as the agent came: fewer than were wanted, where it finished or failed."""
    score: Fraction
    tokens: tuple[int, ...]
    """About how many were written at each decision."""


class Value(msgspec.Struct, frozen=True):
    """V of a state."""

    mean: Fraction
    variance: float = 0.0
    """Of the mean; 0 where it is exact."""


class Advantage(msgspec.Struct, frozen=True):
    """A of a decision."""

    advantage: Fraction
    value: Fraction
    """V of the state in which it was made."""
    error: float
    """Standard error of the advantage; 0 where it is exact."""


class Tree:
    """All episodes of a noised oracle in one variant, played as they are asked for."""

    def __init__(self, noised: Noised, *, forks: int = FORKS, exact: int = EXACT, seed: int = 0) -> None:
        self.noised = noised
        self.exact = noised.leaves <= exact
        """Whether every value is exact."""
        self.played = 0
        """Episodes that were really played."""
        self._forks = forks
        self._seed = seed
        self._rubric = Rubric(noised.world)
        self._leaves: dict[tuple[int, ...], Leaf] = {}
        self._values: dict[tuple[int, ...], Value] = {}

    async def leaf(self, choices: Sequence[int]) -> Leaf:
        """How the episode ends in which these choices are made, and then those of the oracle."""
        whole = (*choices, *([0] * (len(self.noised.points) - len(choices))))
        for length in range(len(whole) + 1):
            known = self._leaves.get(whole[:length])
            if known is not None:
                return known
        return self.kept(await play(self.noised, whole))

    def kept(self, played: Played) -> Leaf:
        """The leaf of an episode; it will not be played again."""
        self.played += 1
        grader = Grader(self._rubric)
        for event in played.events:
            grader.apply(event)
        leaf = self._leaves[played.choices] = Leaf(played.choices, grader.score(), tokens(played))
        return leaf

    async def value(self, prefix: tuple[int, ...] = ()) -> Value:
        """V of the state after these choices; the final score where the episode has ended by then."""
        if prefix not in self._values:
            self._values[prefix] = await self._value(prefix)
        return self._values[prefix]

    async def _value(self, prefix: tuple[int, ...]) -> Value:
        if len(prefix) == len(self.noised.points) or await self._is_over(prefix):
            return Value((await self.leaf(prefix)).score)
        if self.exact or self.noised.below(len(prefix)) <= self._forks:
            mean = Fraction(0)
            for choice, alternative in enumerate(self.noised.points[len(prefix)].alternatives):
                mean += alternative.chance * (await self.value((*prefix, choice))).mean
            return Value(mean)
        scores = [leaf.score for leaf in await self.continuations(prefix, self._forks)]
        mean = sum(scores, Fraction(0)) / len(scores)
        spread = float(sum((score - mean) ** 2 for score in scores) / (len(scores) - 1))
        return Value(mean, spread / len(scores))

    async def _is_over(self, prefix: tuple[int, ...]) -> bool:
        """Whether no decision is left: the agent has finished, or could not go on."""
        return bool(prefix) and len((await self.leaf(prefix)).choices) <= len(prefix)

    async def continuations(self, prefix: tuple[int, ...], count: int, purpose: str = _PURPOSE) -> list[Leaf]:
        """How episodes end that begin so and go on as the policy would; other ones for another purpose."""
        drawer = Drawer(
            [self._seed], len(prefix), f"{purpose} {self.noised.environment}@{self.noised.variant} {prefix}"
        )
        return [await self.leaf(sampled(self.noised, drawer, prefix)) for _ in range(count)]

    async def advantages(self, choices: Sequence[int]) -> list[Advantage]:
        """A of each decision of an episode, where `choices` are those that were really made."""
        states = [await self.value(tuple(choices[:length])) for length in range(len(choices) + 1)]
        return [
            Advantage(after.mean - before.mean, before.mean, sqrt(before.variance + after.variance))
            for before, after in pairwise(states)
        ]

    async def necessary(self) -> list[bool]:
        """For each decision of the oracle, whether the score falls if it is skipped and all else is done."""
        best = (await self.leaf(())).score
        return [
            point.alternatives[1].name == "skip" and (await self.leaf((*([0] * number), 1))).score < best
            for number, point in enumerate(self.noised.points)
        ]
