"""What a validator is.

Knows its shape only. Which there are is `registry`; what they look at is `playing.Case`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import msgspec

from ..findings import Finding
from ..playing import Case

Level: TypeAlias = Literal["static", "play"]
"""Whether it only looks at the environment, or has programs played."""


class Validator(msgspec.Struct, frozen=True):
    number: int
    """1 to 26."""
    name: str
    """Like its module, with hyphens: `step-necessity`."""
    about: str
    """What it catches, in one line."""
    level: Level
    find: Callable[[Case], Awaitable[list[Finding]]]
    """All that it finds in a case."""
