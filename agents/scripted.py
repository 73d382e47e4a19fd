"""Agents that follow steps: the oracle, its traps, a script of one's own, and the one who does nothing.

Knows which steps each of them follows. How steps are carried out is `steps`; how a trap changes them is `trapping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from ..events.event import Json
from ..worlds.environment import Step
from ..worlds.trapping import BadTrap, bound, edited
from ..worlds.values import written
from .agent import ActorError, Context
from .naming import UnknownName
from .steps import Player


class Oracle:
    """Solves an environment by the steps written in it, using only values that it has seen."""

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "oracle"}

    async def act(self, context: Context) -> str:
        player = Player(context)
        await player.read_openings()
        await player.play(context.world.oracle)
        return "All steps are done."


class Trapped:
    """The oracle, spoilt by one of the environment's traps. Raises `UnknownName` where there is no such trap."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "trap", "name": self._name}

    async def act(self, context: Context) -> str:
        traps = context.world.traps
        if self._name not in traps:
            raise UnknownName("trap", self._name, list(traps))
        trap = traps[self._name]
        try:
            steps, seen = edited(context.world.oracle, trap), bound(trap)
        except BadTrap as error:
            raise ActorError(str(error)) from error
        player = Player(context, seen)
        await player.read_openings()
        await player.play(steps)
        return "All steps are done."


class Noop:
    """Does nothing."""

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "noop"}

    async def act(self, context: Context) -> str:
        return ""


class ScriptStep(Step, frozen=True, kw_only=True):
    """One step of a script: like the oracle's, or `finish`, which ends it and says how it went."""

    finish: str | None = None


class Script:
    """Follows steps of its own. They are part of its specification, so the file they came from is not needed again."""

    def __init__(self, steps: Sequence[ScriptStep]) -> None:
        self._steps = tuple(steps)

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "script", "steps": msgspec.to_builtins(self._steps, builtin_types=(Decimal,))}

    async def act(self, context: Context) -> str:
        player = Player(context)
        await player.read_openings()
        for number, step in enumerate(self._steps, 1):
            if step.finish is not None:
                return written(player.filled(step.finish, step.name or f"number {number}"))
            await player.play([step], first=number)
        return ""
