"""Names that a person may get wrong, and what to say then.

Knows nothing of what is named.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..worlds import spelling
from .agent import ActorError


class UnknownName(ActorError):
    """There is no such thing. The message lists what there is, and names the nearest."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        names = list(known)
        place = f" in {where}" if where else ""
        listed = ", ".join(names) or "none"
        super().__init__(f"there is no {kind} `{name}`{place}{nearest(name, names)}; there is {listed}")
        self.kind = kind
        self.name = name
        self.known = tuple(names)


def nearest(name: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, or nothing where no known name is near."""
    found = spelling.nearest(name, known)
    return f" (did you mean `{found}`?)" if found else ""
