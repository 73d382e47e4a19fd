"""The words that a claim wants to find: each is a bit, so that what several texts say together is their union.

Knows `mentions`, `any` and `looks_like`, and how to show values in a sentence of bounded length. Does not know whose
texts are looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...events.event import Json
from ..environment import Claim
from ..matching import Needle, Reading, as_read, equal_to, leaves, needle
from ..patterns import pattern
from ..values import written


class Words:
    """One bit for each value of `mentions`, one for `any`, one for `looks_like`; `complete` has them all."""

    __slots__ = ("_tests", "complete", "names")

    def __init__(self, claim: Claim) -> None:
        """Raises `patterns.PatternError`."""
        self._tests: list[tuple[Needle, Callable[[Json], bool] | None]] = [
            (needle(value), equal_to(value)) for value in claim.mentions
        ]
        self.names = [f"`{shown(value)}`" for value in claim.mentions]
        """What each bit stands for."""
        if claim.any:
            self._tests.append((_any_of([needle(phrase) for phrase in claim.any]), None))
            self.names.append("any of " + listed(f"`{shown(phrase)}`" for phrase in claim.any))
        if claim.looks_like is not None:
            form = pattern(claim.looks_like)
            self._tests.append((lambda reading: form.found_in(reading.text), None))
            self.names.append(f"anything like `{claim.looks_like}`")
        self.complete = (1 << len(self._tests)) - 1

    def in_text(self, reading: Reading) -> int:
        """The words that a text says."""
        found = 0
        for bit, (test, _) in enumerate(self._tests):
            if test(reading):
                found |= 1 << bit
        return found

    def in_value(self, value: Json) -> int:
        """The words said in any text of a value; a number counts where it is that very value."""
        found = 0
        if not self._tests:
            return found
        for leaf in leaves(value):
            if isinstance(leaf, str):
                found |= self.in_text(as_read(leaf))
                continue
            for bit, (_, equal) in enumerate(self._tests):
                if equal is not None and equal(leaf):
                    found |= 1 << bit
        return found

    def missing(self, found: int) -> list[str]:
        return [name for bit, name in enumerate(self.names) if not found >> bit & 1]


def _any_of(needles: Sequence[Needle]) -> Needle:
    return lambda reading: any(found(reading) for found in needles)


def shown(value: Json) -> str:
    """A value as part of a sentence; a long one is cut."""
    text = " ".join(written(value).split())
    return text if len(text) <= 80 else f"{text[:77]}…"


def listed(items: Iterable[str], joint: str = ", ") -> str:
    """The first ten, and how many more there are."""
    every = list(items)
    more = [f"{len(every) - 10} more"] if len(every) > 10 else []
    return joint.join([*every[:10], *more])
