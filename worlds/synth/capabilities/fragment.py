"""What a capability is to synthesis: a typed fragment that a workflow can hold.

Knows its shape: when it is built, what it needs of a workflow, and the function that adds it to a draft. Does not know
any capability. To add one: a module with a `FRAGMENT`, an entry in `registry`, and a test.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Literal, TypeAlias

import msgspec

from ..draft import Draft

Need: TypeAlias = Literal["create", "update"]


class Stage(IntEnum):
    """When a fragment is built: each can rely on what the stages before have put in."""

    SOURCE = 1
    """What the job is about."""
    FILTER = 2
    """Which of it."""
    SLOT = 3
    """What is written."""
    PERMIT = 4
    """Whether, and when."""
    WRAP = 5
    """What happens meanwhile: to a question, a call, a text, an entry."""
    REPORT = 6
    """What is said at the end, and to whom."""


class Fragment(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """`A1`."""
    title: str
    """What an agent does that has it, as a clause: `asks for what is missing before acting`."""
    failure: str
    """What one does that lacks it."""
    stage: Stage
    order: int = 0
    """Within the stage; then by id."""
    build: Callable[[Draft], None]
    """Adds facts, records, people's knowledge, events, faults, oracle steps, checks, traps and twins."""
    several: bool = False
    """Whether the job must be about several things."""
    mode: Need | None = None
    """The mode of family it needs; any where None."""
    alone: tuple[str, ...] = ()
    """Capabilities that cannot be in the same workflow, each for a reason that its module states."""
