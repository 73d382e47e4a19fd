"""Agents that an environment scripts: it must have the oracle or the trap that somebody asks for.

Knows which specifications refer to a world. Does not know how they are played.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...agents.naming import nearest
from ...events.event import Json
from ...worlds.world import World


def unfit(world: World, specification: Mapping[str, Json]) -> str | None:
    """Why this agent cannot play in `world`, in a sentence; None if it can."""
    name, _, _ = world.id.partition("@")
    kind = specification.get("kind")
    if kind in ("oracle", "trap") and not world.oracle:
        return f"there is no oracle in {name}" + ("" if kind == "oracle" else ", so there is no trap either")
    trap = str(specification.get("name"))
    if kind == "trap" and trap not in world.traps:
        there = f"there are {', '.join(world.traps)}" if world.traps else "it has none"
        return f"there is no trap `{trap}` in {name}{nearest(trap, world.traps)}; {there}"
    return None
