"""A benchmark's checkout whose code may be run: named by somebody, to this process or to its environment, or else not.

Knows how one is named. Does not know any benchmark, nor how its code is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from ..worlds.imported import CheckoutError

_Checkout = TypeVar("_Checkout")


class Setup(msgspec.Struct, Generic[_Checkout], frozen=True):
    """A checkout that may be run, and how."""

    checkout: _Checkout
    unsafe: bool = False
    """Without a sandbox."""
    seconds: float = 120.0
    """That one answer of its code may take."""


class Naming(Generic[_Checkout]):
    """How the checkout of one benchmark is named."""

    def __init__(self, benchmark: str, variable: str, find: Callable[[Path | str], _Checkout]) -> None:
        """`variable` is the environment variable that names a checkout to those who have not named one otherwise;
        `find` gives the checkout that a path means, and raises CheckoutError."""
        self._benchmark = benchmark
        self.variable = variable
        self._find = find
        self.current: Setup[_Checkout] | None = None

    def name(self, path: Path | str, unsafe: bool = False) -> Setup[_Checkout]:
        """Have this process run the checkout at `path` from now on. Raises CheckoutError."""
        self.current = self.setup(path, unsafe)
        return self.current

    def named(self) -> Setup[_Checkout]:
        """The checkout that was named, to this process or to its environment. Raises CheckoutError."""
        if self.current is not None:
            return self.current
        path = os.environ.get(self.variable)
        if not path:
            raise CheckoutError(
                f"{self._benchmark}'s code is in a checkout of yours, and none of {self._benchmark} is named: add "
                f"--graders CHECKOUT, or set the environment variable {self.variable}"
            )
        return self.setup(path)

    def setup(self, path: Path | str, unsafe: bool = False) -> Setup[_Checkout]:
        """The checkout at `path`, for whoever asks for it only. Raises CheckoutError."""
        return Setup(checkout=self._find(path), unsafe=unsafe)

    def recognises(self, path: Path) -> bool:
        """Whether a path is a checkout of the benchmark."""
        try:
            self._find(path)
        except CheckoutError:
            return False
        return True
