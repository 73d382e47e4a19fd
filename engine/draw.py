"""Randomness that is a function of (seed, place, purpose, counter): the same in every process and in every order.

Knows how numbers are drawn. Does not know what they are for.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from ..events.codec import to_json

_SPAN = 1 << 64


class Drawer:
    """One sequence of draws. `seed` is `[seed]`, or `[seed, seq]` after a fork that changed it."""

    __slots__ = ("_counter", "_place", "_purpose", "_seed")

    def __init__(self, seed: Sequence[int], place: int, purpose: str) -> None:
        self._seed = list(seed)
        self._place = place
        self._purpose = purpose
        self._counter = 0

    def reseed(self, seed: Sequence[int]) -> None:
        """Draw from another seed from now on; the counter runs on."""
        self._seed = list(seed)

    def bits(self) -> int:
        """64 uniform bits."""
        key = to_json([self._seed, self._place, self._purpose, self._counter])
        self._counter += 1
        return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")

    def fraction(self) -> float:
        """A number in [0, 1), from the top 53 bits."""
        return (self.bits() >> 11) / (1 << 53)

    def below(self, n: int) -> int:
        """An integer in [0, n), without bias: draws beyond the last whole multiple of `n` are thrown away."""
        if n <= 0:
            raise ValueError(f"cannot draw below {n}")
        whole = _SPAN - _SPAN % n
        while (bits := self.bits()) >= whole:
            pass
        return bits % n
