"""Where a synthesised environment comes from: everything that determines it, so that it can be made again.

Knows the fields, and how one number is drawn for each purpose. Does not know how an environment is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Literal, TypeAlias, TypeVar

import msgspec

Half: TypeAlias = Literal["first", "second"]
"""Names, companies, phrases and grammar productions are split in two before anything is made: train and `val-iid` use
the first half, the rings R1 to R5 the second."""

T = TypeVar("T")


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that determines a synthesised environment, apart from the release that makes it."""

    # Defaults are written out, too: msgspec leaves out a text only where it is the very object that the default is, so
    # an origin that was sent to another process would be encoded, and draw, otherwise than the same one made here.

    seed: int
    """The master seed of its set."""
    family: str
    capabilities: tuple[str, ...]
    """In the order of the taxonomy."""
    index: int = 0
    """The how-manieth of this family with these capabilities and this style."""
    language: str = "en"
    style: str = "plain"
    half: Half = "first"
    interface: Literal["known", "unseen"] = "known"
    """Whether services, collections, fields and verbs have names that training may have."""
    attempt: int = 0
    """Raised by `re_solve`: other facts for the same requirement."""
    knobs: Mapping[str, int] = {}
    """Requested difficulty, by knob."""

    def draw(self, purpose: str) -> Draw:
        """A stream of numbers for one purpose. Another purpose more does not disturb the others."""
        return Draw(msgspec.json.encode([self, purpose], order="deterministic"))


class Draw:
    """Pseudo-random numbers from a key, the same on every machine.

    Not what an episode draws from: that is made of its seed and a place in its stream, which logs hold forever.
    """

    __slots__ = ("_counter", "_key")

    def __init__(self, key: bytes) -> None:
        self._key = blake2b(key, digest_size=32).digest()
        self._counter = 0

    def below(self, n: int) -> int:
        """An integer in [0, n); by rejection, so that none is likelier."""
        limit = (1 << 64) - (1 << 64) % n
        while True:
            block = blake2b(self._counter.to_bytes(8, "big"), key=self._key, digest_size=8).digest()
            self._counter += 1
            number = int.from_bytes(block, "big")
            if number < limit:
                return number % n

    def choice(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], n: int) -> list[T]:
        """`n` different items, in random order. Raises ValueError if there are not so many."""
        if n > len(items):
            raise ValueError(f"{n} of {len(items)} cannot be drawn")
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(n)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.sample(items, len(items))
