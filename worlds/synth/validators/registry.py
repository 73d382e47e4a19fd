"""All validators, from cheap to dear, and what has to be looked at again after an edit.

Knows which there are and on which parts of an environment each depends. Does not know how they look, nor what is done
with what they find.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..findings import parts
from .validator import Validator

VALIDATORS: tuple[Validator, ...] = ()

FOUNDATIONS = frozenset({1, 2, 4})
"""Where one of these fails, what others would say means nothing: nothing can be played, or nobody can win."""

_GRADED = frozenset({4, 5, 6, 7, 9, 14, 15, 16, 17, 18, 19, 20, 24, 25, 26})
"""Those whose answer depends on a score."""
_WRITTEN = frozenset({1, 2, 3})
"""Those that read every part of the data."""

_DEPENDENT: Mapping[str, frozenset[int]] = {
    "title": _WRITTEN,
    "capabilities": frozenset({1, 24}),
    "checks": _WRITTEN | _GRADED | {8, 11},
    "traps": _WRITTEN | {9, 18, 20, 23, 24, 25},
}
"""By outermost key. Every other part may change what happens, and with it anything."""


def affected(path: str) -> tuple[Validator, ...]:
    """The validators whose answer an edit at this JSON pointer may change, from cheap to dear."""
    key = (parts(path) or [""])[0]
    numbers = _DEPENDENT.get(key)
    return tuple(v for v in VALIDATORS if numbers is None or v.number in numbers)


def chosen(numbers: Collection[int] | None = None, *, quick: bool = False) -> tuple[Validator, ...]:
    """Those with these numbers, or all; with `quick` only those that play nothing. Raises ValueError for a number that
    is none."""
    known = {validator.number for validator in VALIDATORS}
    unknown = sorted(set(numbers or ()) - known)
    if unknown:
        raise ValueError(f"there is no validator {unknown[0]}; they have the numbers 1 to {max(known, default=0)}")
    return tuple(
        validator
        for validator in VALIDATORS
        if (numbers is None or validator.number in numbers) and (not quick or validator.level == "static")
    )
