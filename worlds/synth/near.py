"""How alike the members of a set are: near-duplicates among texts, and measures of how varied the whole is.

Knows texts, sequences and counts. Does not know environments, nor which likeness is too much.

Texts are compared by the 5-grams of their folded characters; their likeness is the exact Jaccard index of both sets.
Candidates are found with MinHash signatures of 128 slots, looked up in bands, so that not all pairs are compared: of
the pairs just at the threshold about one in 10,000 may be missed. Each 5-gram is hashed once rather than 128 times, for
four lanes of 32 bins, and the smallest of a bin is its slot (one permutation hashing: Li, Owen and Zhang 2012); empty
bins borrow from others in an order that is the same for all texts (Shrivastava 2017). Hashes are BLAKE2b, so signatures
are the same on every machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

import msgspec

from ..notations import fold
from .origin import Draw

GRAM = 5
"""Characters of a shingle."""
LANES, BINS = 4, 32
SLOTS = LANES * BINS
NEAR = 0.8
"""Texts this much alike are near-duplicates."""
_MISSED = 1e-4
_SLACK = 0.2
"""How far below the threshold the estimate of a pair may lie and the pair is still looked at: over four deviations."""
_EMPTY = 1 << 32


class Pair(msgspec.Struct, frozen=True, order=True):
    """Two texts by their names, and how alike they are: from 0 to 1."""

    a: str
    b: str
    similarity: float


# --- texts -------------------------------------------------------------------------------------------------


def shingles(text: str) -> frozenset[str]:
    """The 5-grams of a text's folded characters; a shorter text is one itself, and an empty one has none."""
    folded = fold(text)
    if len(folded) < GRAM:
        return frozenset([folded] if folded else [])
    return frozenset([folded[start : start + GRAM] for start in range(len(folded) - GRAM + 1)])


def overlap(a: str, b: str) -> float:
    """How alike two texts are: 1 if they have the same 5-grams, 0 if they share none or one is empty."""
    return _jaccard(shingles(a), shingles(b))


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    both = len(a & b)
    return both / (len(a) + len(b) - both) if both else 0.0


def signature(grams: Iterable[str]) -> tuple[int, ...]:
    """The MinHash signature of a set of shingles: 128 integers, of which about as many agree as the sets are alike."""
    slots = [_EMPTY] * SLOTS
    for gram in grams:
        for hashed in _lanes(gram):
            slot = hashed & (SLOTS - 1)
            if hashed < slots[slot]:
                slots[slot] = hashed
    if _EMPTY in slots:
        slots = [_borrowed(slots, slot) if value == _EMPTY else value for slot, value in enumerate(slots)]
    return tuple(slots)


@lru_cache(maxsize=1 << 18)
def _lanes(gram: str) -> tuple[int, ...]:
    """The hash of a shingle in each lane: in its low bits the slot, in the others what is compared."""
    digest = blake2b(gram.encode(), digest_size=4 * LANES).digest()
    words = (int.from_bytes(digest[4 * lane : 4 * lane + 4], "little") for lane in range(LANES))
    return tuple(word & ~(SLOTS - 1) | lane * BINS | word & (BINS - 1) for lane, word in enumerate(words))


def _borrowed(slots: Sequence[int], slot: int) -> int:
    """What an empty bin takes from the first in its order that is not empty."""
    return next((slots[other] for other in _order(slot) if slots[other] != _EMPTY), _EMPTY)


@lru_cache(maxsize=SLOTS)
def _order(slot: int) -> tuple[int, ...]:
    lane = slot - slot % BINS
    return tuple(lane + bin_ for bin_ in Draw(b"coworkenv near %d" % slot).shuffled(range(BINS)))


class Index:
    """Texts among which those that are like another one are found."""

    def __init__(self, threshold: float = NEAR, missed: float = _MISSED) -> None:
        """`threshold` is above 0 and at most 1; `missed` is the share of pairs just at it that may be missed."""
        self.threshold = threshold
        self._rows = rows_for(threshold, missed)
        self._grams: dict[str, frozenset[str]] = {}
        self._signatures: dict[str, tuple[int, ...]] = {}
        self._bands: dict[tuple[int, tuple[int, ...]], list[str]] = {}

    def add(self, name: str, text: str) -> list[tuple[str, float]]:
        """Add a text under a name of its own; the result says which earlier ones are like it, as `near` does."""
        grams = shingles(text)
        signed = signature(grams)
        found = self._near(grams, signed)
        if grams:
            self._grams[name], self._signatures[name] = grams, signed
            for band in self._cut(signed):
                self._bands.setdefault(band, []).append(name)
        return found

    def near(self, text: str) -> list[tuple[str, float]]:
        """Names of the texts at least `threshold` like this one, in the order they were added, and how like."""
        grams = shingles(text)
        return self._near(grams, signature(grams))

    def _near(self, grams: frozenset[str], signed: tuple[int, ...]) -> list[tuple[str, float]]:
        candidates = dict.fromkeys(name for band in self._cut(signed) for name in self._bands.get(band, ()))
        least = SLOTS * (self.threshold - _SLACK)
        found: dict[str, float] = {}
        for name in candidates:
            other = self._grams[name]
            if min(len(grams), len(other)) < self.threshold * max(len(grams), len(other)):
                continue
            if sum(map(int.__eq__, signed, self._signatures[name])) < least:
                continue
            if (similarity := _jaccard(grams, other)) >= self.threshold:
                found[name] = similarity
        return [(name, found[name]) for name in self._grams if name in found] if found else []

    def _cut(self, signed: tuple[int, ...]) -> Iterable[tuple[int, tuple[int, ...]]]:
        return ((start, signed[start : start + self._rows]) for start in range(0, SLOTS - self._rows + 1, self._rows))


def rows_for(threshold: float, missed: float) -> int:
    """How many slots a band has: as many as may be, while a pair just at the threshold shares some band but for
    `missed`."""
    fitting = (rows for rows in range(1, 17) if (1 - threshold**rows) ** (SLOTS // rows) <= missed)
    return max(fitting, default=1)


def near_duplicates(texts: Mapping[str, str], threshold: float = NEAR) -> list[Pair]:
    """All pairs of texts that are at least so much alike, in the order of the texts, and so within a pair."""
    index = Index(threshold)
    return [Pair(other, name, much) for name, text in texts.items() for other, much in index.add(name, text)]


def near_between(left: Mapping[str, str], right: Mapping[str, str], threshold: float = NEAR) -> list[Pair]:
    """All pairs of one text of each of two sets that are at least so much alike, in the order of the right one."""
    index = Index(threshold)
    for name, text in left.items():
        index.add(name, text)
    return [Pair(other, name, much) for name, text in right.items() for other, much in index.near(text)]


# --- how varied a set is -----------------------------------------------------------------------------------


def four_gram_overlap(texts: Sequence[str]) -> float:
    """The share of a text's 4-grams of words that stand in another text of the set too, on average: 0 where no text
    repeats another, 1 where all is said before. (Self-BLEU's question, without its brevity penalty; texts of fewer than
    four words are left out.)"""
    grams = [_word_grams(text) for text in texts]
    spread = Counter(gram for each in grams for gram in each)
    shares = [sum(spread[gram] > 1 for gram in each) / len(each) for each in grams if each]
    return math.fsum(shares) / len(shares) if shares else 0.0


def _word_grams(text: str) -> frozenset[tuple[str, ...]]:
    words = fold(text).split()
    return frozenset(tuple(words[start : start + 4]) for start in range(len(words) - 3))


def evenness(counts: Iterable[int]) -> float:
    """Shannon's entropy of how a set spreads over kinds, as a share of what it would be if all kinds were equally
    frequent: 1 is even, 0 is all of one kind. Kinds with a count of 0 are kinds too."""
    numbers = list(counts)
    total = sum(numbers)
    if len(numbers) < 2 or not total:
        return 0.0
    entropy = math.fsum(-count / total * math.log(count / total) for count in numbers if count)
    return entropy / math.log(len(numbers))


def edit_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """How many items have to be put in, taken out or replaced to make one sequence of the other (Levenshtein)."""
    row = list(range(len(b) + 1))
    for above, item in enumerate(a):
        diagonal, row[0] = row[0], above + 1
        for place, other in enumerate(b, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (item != other))
    return row[-1]


def mean_edit_distance(sequences: Sequence[Sequence[str]], pairs: int = 1_000) -> float:
    """The edit distance of two of the sequences as a share of the longer one, on average over all pairs, or over so
    many drawn ones where there are more. 0 where all are the same, or there are fewer than two."""
    count = len(sequences)
    if count < 2:
        return 0.0
    if count * (count - 1) // 2 <= pairs:
        chosen = [(first, second) for first in range(count) for second in range(first + 1, count)]
    else:
        draw = Draw(b"coworkenv pairs")
        chosen = [(first, second) for first, second in (draw.sample(range(count), 2) for _ in range(pairs))]
    return math.fsum(_apart(sequences[first], sequences[second]) for first, second in chosen) / len(chosen)


def _apart(a: Sequence[str], b: Sequence[str]) -> float:
    return edit_distance(a, b) / max(len(a), len(b)) if a or b else 0.0
