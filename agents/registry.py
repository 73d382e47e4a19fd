"""Agents and coworkers of other packages: how their kinds become known here.

Knows names and what builds what they name. Does not know any agent. A kind is registered by a call, or by an entry
point of the group `coworkenv.agents` (or `coworkenv.coworkers`) that has its name; only the one that is asked for is
imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from ..events.event import Json
from .agent import Actor, ActorError

Build: TypeAlias = Callable[[dict[str, Json]], Actor]
"""From a specification, `kind` included, to the agent that has it."""
BuildCoworker: TypeAlias = Callable[[str, dict[str, Json]], Actor]
"""The same for a coworker, from the person's name and a specification."""

AGENTS, COWORKERS = "coworkenv.agents", "coworkenv.coworkers"
"""The groups of entry points."""

_registered: dict[tuple[str, str], Callable[..., Actor]] = {}


class BadSpecification(ActorError):
    """An agent or a coworker cannot be made from what was asked for."""


def register_agent(kind: str, build: Build) -> None:
    """Let `build` make the agents whose specification has this `kind`, in this process. The last registration counts;
    the kinds that come with coworkenv stay what they are."""
    _registered[AGENTS, kind] = build


def register_coworker(kind: str, build: BuildCoworker) -> None:
    """The same for those who play people."""
    _registered[COWORKERS, kind] = build


def built(group: str, kind: str, specification: Mapping[str, Json], *person: str) -> Actor | None:
    """The actor that somebody else's package makes of a specification; None if there is no such kind.

    Raises BadSpecification if it cannot be made, or says of itself that it is of another kind: a log could not name it.
    """
    build = _registered.get((group, kind)) or _loaded(group, kind)
    if build is None:
        return None
    try:
        actor = build(*person, {"kind": kind, **specification})
        found = actor.specification.get("kind")
    except ActorError:
        raise
    except Exception as error:
        raise BadSpecification(f"`{kind}` cannot be made so: {type(error).__name__}: {error}") from error
    if found != kind:
        raise BadSpecification(
            f"`{kind}` made an actor whose specification has the kind {found!r:.60}; it must be `{kind}`"
        )
    return actor


def _loaded(group: str, kind: str) -> Callable[..., Actor] | None:
    points: list[EntryPoint] = list(entry_points(group=group, name=kind))
    if not points:
        return None
    try:
        loaded: Callable[..., Actor] = points[0].load()
    except Exception as error:
        raise BadSpecification(
            f"`{kind}` is {points[0].value}, which cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return loaded
