"""Real demonstrations of the environments that come with the package, by their oracles."""

from __future__ import annotations

from functools import cache

import msgspec
import trio

from coworkenv.agents.building import build_coworkers
from coworkenv.engine.cli.places import examples, find
from coworkenv.engine.enacting import Enacted
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.engine.transcripts import transcript
from coworkenv.learn.lessons import Lesson
from coworkenv.worlds.world import World


@cache
def worlds() -> tuple[World, ...]:
    """Every example with its twins."""
    return tuple(find(list(examples()), twins=True).worlds)


@cache
def lessons(wording: str | None = "brief") -> tuple[Lesson, ...]:
    """One demonstration of each of them."""

    async def playing() -> list[Lesson]:
        return [await demonstration(world, wording) for world in worlds() if world.oracle]

    return tuple(trio.run(playing))


async def demonstration(world: World, wording: str | None = "brief") -> Lesson:
    """What the oracle of a world does, as a lesson."""
    episode = await play(Plan(world, Enacted(None, wording), build_coworkers(world)))
    chat = msgspec.to_builtins(transcript(episode.events), builtin_types=(dict,))
    base, _, twin = world.id.partition("@")
    return Lesson(messages=tuple(chat["messages"]), tools=tuple(chat["tools"]), environment=base, variant=twin)
