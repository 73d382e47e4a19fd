"""Programs played in memory, by the same kernel as every episode: what synthesis validates with.

Knows the `Play` protocol of `worlds.synth.playing`. Nobody who plays here asks anything outside, nothing is encoded
and nothing is stored, so an episode needs no nursery and no name: validation plays hundreds for each environment.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..agents.agent import Context
from ..agents.building import build_coworkers
from ..agents.steps import Player
from ..events.event import Event, Json
from ..worlds.synth.playing import Program
from ..worlds.world import World
from .kernel import Kernel
from .plan import Plan
from .recording import Unrecorded


class Programmed:
    """An agent that follows a program."""

    specification: dict[str, Json] = {"kind": "program"}  # noqa: RUF012

    def __init__(self, program: Program) -> None:
        self._program = program

    async def act(self, context: Context) -> str:
        player = Player(context, dict(self._program.seen))
        await player.read_openings()
        await player.play(self._program.steps)
        return "All steps are done."


async def play_program(world: World, program: Program) -> Sequence[Event]:
    """The stream of a program in a world. See `worlds.synth.playing.Play`."""
    plan = Plan(world=world, agent=Programmed(program), coworkers=build_coworkers(world))
    kernel = Kernel(world, plan.started(), plan.actors(), Unrecorded())
    try:
        await kernel.run()
    finally:
        await kernel.close()
    return kernel.events
