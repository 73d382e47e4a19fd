"""Coverage plans: which capabilities are asked of which environment, so that a set shows each alone and many together.

Knows names of capabilities, families, styles and languages, and counts. Does not know what any of them means, nor how a
requirement becomes an environment.

Sets are built greedily, as AETG does for tests of interacting options (Cohen, Dalal, Fredman and Patton 1997): first
each capability alone; then sets that begin with a pair that no set has yet, and grow by whatever brings most new pairs,
then most new triples by weight, then what was used least, in the family and overall. Sizes, families, languages and
styles are dealt from shuffled packs, so that each comes up equally often and no two go together more than by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias, TypeVar

import msgspec

from .origin import Draw

Compatible: TypeAlias = Callable[[frozenset[str]], bool]
Fits: TypeAlias = Callable[[str, frozenset[str]], bool]

T = TypeVar("T")


class Requirement(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one environment is to be about."""

    family: str
    capabilities: tuple[str, ...]
    """In the order of the taxonomy."""
    language: str = "en"
    style: str = "plain"
    index: int = 0
    """The how-manieth with all of these."""


class CannotCover(ValueError):
    """A plan that is not possible: the sentence says what does not go together."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan chooses from, and what it may put together."""

    capabilities: Sequence[str]
    """In the order of the taxonomy."""
    families: Sequence[str]
    styles: Sequence[str] = ("plain",)
    languages: Sequence[str] = ("en",)
    compatible: Compatible = lambda chosen: True
    """Whether capabilities go together in one environment. A set that grows is asked about at each size."""
    fits: Fits = lambda family, chosen: True
    """Whether a family can show these capabilities."""
    allowed: Compatible = lambda chosen: True
    """Whether a whole set may be asked for; it is not asked about sets that still grow."""
    within: Sequence[frozenset[str]] = ()
    """Where given, each set contains one of these: of those that fit its family, the one used least."""
    depth: tuple[int, int] = (1, 8)
    """The fewest and the most capabilities of one environment."""
    weights: Mapping[str, int] = {}
    """How much a capability counts in triples; 1 where nothing is said. A triple weighs the product of its three."""


def plan(count: int, seed: int, wanted: Wanted) -> list[Requirement]:
    """So many requirements, the same for the same arguments. Each family, and each style in each language, comes up
    equally often, give or take one; so does each size, where it is possible, after each capability alone.

    Raises `CannotCover` where nothing fits a family, or there is nothing to choose from.
    """
    return _Planning(seed, wanted).requirements(count)


class _Planning:
    def __init__(self, seed: int, wanted: Wanted) -> None:
        if not wanted.families or not wanted.capabilities or not wanted.styles or not wanted.languages:
            raise CannotCover("a plan needs at least one capability, one family, one style and one language.")
        low, high = wanted.depth
        if not 1 <= low <= high:
            raise CannotCover(f"the depth {low} to {high} is not one: from at least 1 up to no less.")
        self.wanted = wanted
        self.draw = Draw(msgspec.json.encode([seed, "plan"]))
        self.bits = {name: 1 << place for place, name in enumerate(wanted.capabilities)}
        self.pairs: set[int] = set()
        self.triples: set[int] = set()
        self.alone: set[int] = set()
        self.started: Counter[frozenset[str]] = Counter()
        self.used: Counter[str] = Counter()
        self.used_in: Counter[tuple[str, str]] = Counter()
        self.compatible: dict[int, bool] = {}

    def requirements(self, count: int) -> list[Requirement]:
        wanted = self.wanted
        low, high = wanted.depth
        manners = [(language, style) for style in wanted.styles for language in wanted.languages]
        families, sizes = self._dealt(wanted.families), self._dealt(range(low, high + 1))
        told = self._dealt(manners)
        seen: Counter[Requirement] = Counter()
        made: list[Requirement] = []
        for number in range(count):
            family, (language, style) = next(families), next(told)
            size = low if low == 1 and number < len(self.bits) else next(sizes)
            chosen = self._chosen(family, size)
            self._count(family, chosen)
            requirement = Requirement(family, self._ordered(chosen), language, style)
            made.append(msgspec.structs.replace(requirement, index=seen[requirement]))
            seen[requirement] += 1
        return made

    def _dealt(self, items: Sequence[T]) -> Iterator[T]:
        """The items in random order, then all of them in another one, and so on."""
        while True:
            yield from self.draw.shuffled(items)

    def _ordered(self, chosen: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(chosen, key=self.bits.__getitem__))

    # --- one set ---

    def _chosen(self, family: str, size: int) -> frozenset[str]:
        """A set of this size for a family; the nearest smaller one, then larger one, where there is none."""
        low, high = self.wanted.depth
        for wanted in (*range(size, low - 1, -1), *range(size + 1, high + 1)):
            for start in self._starts(family, wanted):
                chosen = self._grown(family, start, wanted)
                if chosen is not None:
                    self.started[start] += 1
                    return chosen
        also = " that contain what they must" if self.wanted.within else ""
        raise CannotCover(f"no {low} to {high} capabilities{also} go together and fit the family {family}.")

    def _starts(self, family: str, size: int) -> Iterator[frozenset[str]]:
        """What a set may begin with, the most wanted first."""
        if self.wanted.within:
            required = sorted(self.wanted.within, key=self.started.__getitem__)
            yield from (start for start in required if len(start) <= size and self._may(family, start))
            return
        names = self.draw.shuffled(list(self.bits))
        names.sort(key=lambda name: (self.bits[name] in self.alone, self.used_in[family, name], self.used[name]))
        if size > 1:
            yield from self._new_pairs(family)
        yield from (frozenset([name]) for name in names if self._may(family, frozenset([name])))

    def _new_pairs(self, family: str) -> Iterator[frozenset[str]]:
        """Pairs that no set has yet and that fit, in random order."""
        left = [pair for pair in combinations(self.bits, 2) if self._mask(pair) not in self.pairs]
        for pair in self.draw.shuffled(left):
            if self._may(family, frozenset(pair)):
                yield frozenset(pair)

    def _grown(self, family: str, start: frozenset[str], size: int) -> frozenset[str] | None:
        """A set that begins so and has this size, each time with what is wanted most; None where it cannot be."""
        chosen = start
        while len(chosen) < size:
            rest = [name for name in self.draw.shuffled(list(self.bits)) if name not in chosen]
            last = len(chosen) + 1 == size
            fitting = [
                name
                for name in rest
                if self._may(family, chosen | {name}) and (not last or self.wanted.allowed(chosen | {name}))
            ]
            if not fitting:
                return None
            chosen = chosen | {self._best(family, chosen, fitting)}
        return chosen if self.wanted.allowed(chosen) else None

    def _best(self, family: str, chosen: frozenset[str], names: Sequence[str]) -> str:
        held = [self.bits[name] for name in chosen]
        new = {name: sum(bit | self.bits[name] not in self.pairs for bit in held) for name in names}
        most = max(new.values())
        best = [name for name in names if new[name] == most]
        return max(
            best, key=lambda name: (self._new_triples(chosen, name), -self.used_in[family, name], -self.used[name])
        )

    def _new_triples(self, chosen: frozenset[str], name: str) -> int:
        weigh, bit = self.wanted.weights, self.bits[name]
        return sum(
            weigh.get(a, 1) * weigh.get(b, 1)
            for a, b in combinations(self._ordered(chosen), 2)
            if self.bits[a] | self.bits[b] | bit not in self.triples
        ) * weigh.get(name, 1)

    def _may(self, family: str, chosen: frozenset[str]) -> bool:
        mask = self._mask(chosen)
        if mask not in self.compatible:
            self.compatible[mask] = self.wanted.compatible(chosen)
        return self.compatible[mask] and self.wanted.fits(family, chosen)

    def _mask(self, names: Iterable[str]) -> int:
        return sum(self.bits[name] for name in names)

    def _count(self, family: str, chosen: frozenset[str]) -> None:
        names = self._ordered(chosen)
        if len(names) == 1:
            self.alone.add(self.bits[names[0]])
        self.pairs.update(self._mask(pair) for pair in combinations(names, 2))
        self.triples.update(self._mask(triple) for triple in combinations(names, 3))
        self.used.update(names)
        self.used_in.update((family, name) for name in names)


# --- what is covered ---------------------------------------------------------------------------------------


class Coverage(msgspec.Struct, frozen=True):
    """How many sets contain each capability, each pair and each triple; those of no set are left out. Sorted."""

    singles: Mapping[str, int]
    pairs: Mapping[tuple[str, str], int]
    triples: Mapping[tuple[str, str, str], int]

    def share_of(self, pairs: Iterable[tuple[str, str]]) -> float:
        """Which share of these pairs is covered; 1 where there are none."""
        reachable = {tuple(sorted(pair)) for pair in pairs}
        return len(reachable & self.pairs.keys()) / len(reachable) if reachable else 1.0


def covered(sets: Iterable[Iterable[str]]) -> Coverage:
    """What sets of capabilities cover."""
    singles: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    triples: Counter[tuple[str, str, str]] = Counter()
    for names in (sorted(frozenset(each)) for each in sets):
        singles.update(names)
        pairs.update(combinations(names, 2))
        triples.update(combinations(names, 3))
    return Coverage(dict(sorted(singles.items())), dict(sorted(pairs.items())), dict(sorted(triples.items())))


def reachable_pairs(capabilities: Sequence[str], compatible: Compatible) -> list[tuple[str, str]]:
    """The pairs that go together, in the order of the capabilities."""
    return [pair for pair in combinations(capabilities, 2) if compatible(frozenset(pair))]
