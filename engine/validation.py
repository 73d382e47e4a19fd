"""Validation, freezing and repair with this engine's player: episodes in memory, by the same kernel as all others.

Knows who plays, and which validators must pass before an environment is frozen. Everything else about them is
`worlds.synth`. Nothing outside is asked.
"""

from __future__ import annotations

from collections.abc import Collection

from ..worlds.environment import Environment, Frozen
from ..worlds.synth import freezing, repairing, validating
from ..worlds.synth.playing import Case
from .playing import play_program

BEFORE_FREEZING = frozenset({1, 2, 4, 5, 18})
"""Whoever wins must be the oracle alone: else what it changes says nothing about what is allowed."""


async def validate(
    environment: Environment,
    *,
    quick: bool = False,
    only: Collection[int] | None = None,
    progress: validating.Progress | None = None,
) -> validating.Validation:
    """See `worlds.synth.validating.validate`."""
    return await validating.validate(environment, play_program, quick=quick, only=only, progress=progress)


async def freeze(environment: Environment) -> Frozen:
    """See `worlds.synth.freezing.freeze`."""
    return await freezing.freeze(environment, play_program)


async def repair(environment: Environment, *, remake: repairing.Remake | None = None) -> repairing.Repaired:
    """See `worlds.synth.repairing.repair`."""
    return await repairing.repair(environment, play_program, remake=remake)


async def case_of(environment: Environment) -> Case:
    """See `worlds.synth.freezing.case_of`."""
    return await freezing.case_of(environment, play_program)
