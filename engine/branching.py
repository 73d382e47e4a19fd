"""What a fork changes in a kernel that has executed the past: the seed, actors, messages, records.

Knows what of an actor stays when another takes its seat. Does not know logs or where the past came from (`fork`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..agents.agent import Actor
from ..events.event import AGENT, WORLD, EpisodeForked, MessageReceived, MessageSent
from ..worlds.service import RecordEvent
from .context import DoCancel
from .kernel import Kernel
from .operations import do_cancel
from .order import TIMER
from .seats import ActorClosed, Seat, message_of, unwind


class Changes(msgspec.Struct, frozen=True):
    """What a fork changes."""

    seed: int | None = None
    agent_seed: int | None = None
    """What the agent alone draws from now on: the world around it stays as it was."""
    actors: Mapping[str, Actor] = {}
    messages: tuple[tuple[str, MessageSent], ...] = ()
    """Sender and message, sent at the instant of the fork."""
    records: tuple[RecordEvent, ...] = ()


async def branch(kernel: Kernel, forked: EpisodeForked, changes: Changes) -> None:
    """Append `forked` and change what it says; to be called between steps. The stream goes on from here."""
    seq = kernel.emit(WORLD, len(kernel.events) - 1, forked)
    if changes.seed is not None:
        kernel.seed = [changes.seed, seq]
        for drawer in kernel.drawers.values():
            drawer.reseed(kernel.seed)
    if changes.agent_seed is not None:
        place = kernel.seats[AGENT].place
        kernel.seeds[place] = [changes.agent_seed, seq]
        for (whose, _), drawer in kernel.drawers.items():
            if whose == place:
                drawer.reseed(kernel.seeds[place])
    for name, actor in changes.actors.items():
        await _replace(kernel, kernel.seats[name], actor, seq)
    kernel.change(WORLD, seq, changes.records)
    for sender, body in changes.messages:
        kernel.send(sender, seq, None, body)
    kernel.finish_step()
    await kernel.settle()


async def _replace(kernel: Kernel, seat: Seat, actor: Actor, cause: int) -> None:
    """Put another actor in a seat. It starts with its predecessor's view of what has happened."""
    await unwind(seat, seat.coroutine, ActorClosed())
    seat.cause = cause
    for pending in [pending for pending in kernel.asking.pending.values() if pending.seat is seat]:
        do_cancel(kernel, seat, DoCancel(pending.seq, "the actor was replaced"))
    seat.past = tuple(event for event in kernel.events if event.actor == seat.name)
    seat.unread = [message_of(kernel.events, event) for event in seat.past if isinstance(event.body, MessageReceived)]
    seat.actor, seat.wait, seat.batch, seat.effect = actor, "start", None, None
    seat.answers, seat.prompts = {}, {}
    seat.waits += 1
    if kernel.ended_by == seat.name:
        kernel.revive()
    kernel.push(kernel.now, TIMER, seat, kernel.wake_first, (seat, seat.waits))
