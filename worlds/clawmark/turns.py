"""An episode as its stages: what the records were before each, and when the agent's turn in it was over.

Knows how the user's calls stand in a stream. Does not know what a stage does.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...events.event import EffectRequested, EffectResolved, Event, Json, ToolCalled
from ..records import State
from ..service import RecordEvent
from ..world import World
from .world import STAGE, USER


class Turn(msgspec.Struct, frozen=True):
    """One stage of an episode."""

    number: int
    at: int
    before: State
    answer: Json
    """What the task's code answered, with its changes, when the stage began."""
    after: State
    """The records at the end of the agent's turn."""
    ended: int


def turns(world: World, events: Sequence[Event]) -> list[Turn]:
    """The stages that an episode came to."""
    state, found = world.state, []
    begun: tuple[int, int, State, Json] | None = None
    for event in events:
        if isinstance(event.body, RecordEvent):
            state = state.apply(event.body)
        elif isinstance(event.body, EffectResolved):
            asked = events[event.body.effect]
            called = events[asked.cause or 0].body if isinstance(asked.body, EffectRequested) else None
            if isinstance(called, ToolCalled) and called.tool == STAGE and events[asked.cause or 0].actor == USER:
                if begun is not None:
                    found.append(Turn(*begun, state, event.at))
                begun = called.args["number"], event.at, state, event.body.answer
    if begun is not None:
        found.append(Turn(*begun, state, events[-1].at))
    return found
