"""Playing a noised oracle through the engine: a list of choices in, an episode with its decisions out.

Knows the choices at each point and where in the stream each was made. Does not know what they are worth (`truth`).

What is done at a point does not depend on what was done before, only its consequences do. So a fork of an episode at a
decision is nothing but another episode with the same choices up to there, and no event is copied for it; the seed, and
with it all noise of the world, is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import blake2b

import msgspec

from ..agents.agent import Context
from ..agents.building import build_coworkers
from ..agents.steps import Player
from ..engine.draw import Drawer
from ..engine.kernel import Kernel
from ..engine.plan import Plan
from ..engine.recording import Unrecorded
from ..events.codec import to_json
from ..events.event import AGENT, Event, Json, MessageReceived, MessageSent, ToolCalled, ToolReturned
from .noise import Noised

_SPAN = 1 << 64
_TOKEN = 4
"""Characters of what the agent writes that count as one token: nobody tokenises what nobody samples."""
_CALL = 8
"""Tokens that a call or a message takes beside what is in it; every decision takes one, if only to say nothing."""


class Played(msgspec.Struct, frozen=True):
    """One episode of a noised oracle."""

    choices: tuple[int, ...]
    """The alternative taken at each decision, as far as the agent came."""
    seqs: tuple[int, ...]
    """For each decision, how many events there were: what the agent had seen by then is among them."""
    events: Sequence[Event]


class _Agent:
    """Follows choices, and notes where it makes them. The points after the last choice go as the oracle does."""

    specification: dict[str, Json] = {"kind": "noised"}  # noqa: RUF012

    def __init__(self, noised: Noised, choices: Sequence[int]) -> None:
        self._noised = noised
        self._wanted = choices
        self.choices: list[int] = []
        self.seqs: list[int] = []
        self.length: Callable[[], int] = lambda: 0

    async def act(self, context: Context) -> str:
        player = Player(context)
        await player.read_openings()
        for number, point in enumerate(self._noised.points):
            await player.play(point.lead)
            choice = self._wanted[number] if number < len(self._wanted) else 0
            self.choices.append(choice)
            self.seqs.append(self.length())
            alternative = point.alternatives[choice]
            for name, value in alternative.seen.items():
                player.see(name, value)
            await player.play(alternative.steps, point.place + 1)
            if alternative.ends:
                break
        return "All steps are done."


async def play(noised: Noised, choices: Sequence[int] = ()) -> Played:
    """The episode in which the agent makes these choices, and then those of the oracle. Nothing outside is asked."""
    agent = _Agent(noised, choices)
    plan = Plan(world=noised.world, agent=agent, coworkers=build_coworkers(noised.world))
    kernel = Kernel(noised.world, plan.started(), plan.actors(), Unrecorded())
    agent.length = lambda: len(kernel.events)
    try:
        await kernel.run()
    finally:
        await kernel.close()
    return Played(tuple(agent.choices), tuple(agent.seqs), kernel.events)


def sampled(noised: Noised, drawer: Drawer, prefix: Sequence[int] = ()) -> tuple[int, ...]:
    """Choices that begin so and go on as the noised oracle would, by its own probabilities."""
    choices = list(prefix)
    if choices and noised.points[len(choices) - 1].alternatives[choices[-1]].ends:
        return tuple(choices)
    for point in noised.points[len(choices) :]:
        drawn = Fraction(drawer.bits(), _SPAN)
        choice = 0
        while drawn >= point.alternatives[choice].chance:
            drawn -= point.alternatives[choice].chance
            choice += 1
        choices.append(choice)
        if point.alternatives[choice].ends:
            break
    return tuple(choices)


# --- what an agent has seen, and what it has written -------------------------------------------------------


def information_states(noised: Noised, played: Played) -> tuple[str, ...]:
    """For each decision, a hash of what the agent has seen and done by then, and of what it takes for seen.

    Decisions of the same twin with the same hash are the same decision, whatever else goes on in the world.
    """
    digest = blake2b(to_json([noised.environment, noised.variant]), digest_size=12)
    found: list[str] = []
    done = 0
    for number, (seq, choice) in enumerate(zip(played.seqs, played.choices)):
        for event in played.events[done:seq]:
            if (part := _seen(event, played.events)) is not None:
                digest.update(to_json(part))
        done = seq
        digest.update(b"point %d" % number)
        found.append(digest.hexdigest())
        believed = noised.points[number].alternatives[choice].seen
        digest.update(to_json({name: value for name, value in believed.items() if value is not None}))
    return tuple(found)


def _seen(event: Event, events: Sequence[Event]) -> Json:
    """What the agent knows of an event; None for nothing."""
    body = event.body
    if event.actor != AGENT:
        return None
    if isinstance(body, ToolCalled):
        return ["call", body.tool, body.args]
    if isinstance(body, ToolReturned):
        return ["returned", body.result, None if body.error is None else body.error.message]
    if isinstance(body, MessageSent):
        return ["sent", body.to, body.text]
    if isinstance(body, MessageReceived) and isinstance(sent := events[body.message].body, MessageSent):
        return ["received", events[body.message].actor, sent.text]
    return None


def tokens(played: Played) -> tuple[int, ...]:
    """About how many tokens a model would have written at each decision: one for every four characters."""
    return tuple(
        1 + sum(_written(event) for event in played.events[start:stop])
        for start, stop in zip(played.seqs, (*played.seqs[1:], len(played.events)))
    )


def _written(event: Event) -> int:
    body = event.body
    if event.actor != AGENT:
        return 0
    if isinstance(body, ToolCalled):
        return _CALL + (len(body.tool) + len(to_json(body.args))) // _TOKEN
    if isinstance(body, MessageSent):
        return _CALL + len(body.text) // _TOKEN
    return 0
