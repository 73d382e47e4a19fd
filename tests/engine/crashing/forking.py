"""Forks of one episode at many of its events, and all that is true of each of them.

Knows what a fork shares with its parent. Whatever the fork asks, server B answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coworkenv.engine.fork import fork_episode
from coworkenv.engine.replay import verify
from coworkenv.events.event import EffectCancelled, EpisodeEnded, EpisodeForked, MessageReceived, MessageSent
from coworkenv.events.log import Log

from .campaign import Held, Outsider, check_life, held


async def fork_everywhere(log: Log, stream: str, changes: Mapping[str, Any], step: int = 1) -> int:
    """Fork an ended episode at every event, or every `step`-th, and play each fork to its end. How many there were."""
    parent = held(log, stream)
    places = range(0, len(parent.events), step)
    for at in places:
        outsider = Outsider(salted=True)
        episode = await fork_episode(log, stream, at, changes, outsider)
        fork = held(log, episode.id)
        check_fork(parent, fork, at, changes, outsider)
        found = await verify(log, episode.id)
        assert found.verdict == "identical", found
        answers = {event.seq for event in fork.resolved().values()}
        assert {seen.seq for seen in log.observations(episode.id)} == answers
    assert held(log, stream).raw == parent.raw
    return len(places)


def check_fork(parent: Held, fork: Held, at: int, changes: Mapping[str, Any], outsider: Outsider) -> None:
    """All that is true of any fork of an episode that has ended, whose answers are thus all in its log."""
    place = next(event.seq for event in fork.events if isinstance(event.body, EpisodeForked))
    forked = fork.events[place].body
    assert isinstance(forked, EpisodeForked)
    last = place - 1
    assert fork.status == "ended"
    assert fork.raw[:place] == parent.raw[:place]
    assert (forked.seq, forked.digest, forked.changes) == (last, parent.raw[last][2].hex(), changes)
    if not isinstance(parent.events[at].body, EffectCancelled | EpisodeEnded):
        assert last >= at
        assert parent.events[last].at == parent.events[at].at
    replaced = {"agent"} if "agent" in changes else set(changes.get("coworkers", ()))
    check_effects(parent, fork, last, replaced, outsider)
    check_messages(parent, fork, last)


def check_effects(parent: Held, fork: Held, last: int, replaced: set[str], outsider: Outsider) -> None:
    """Requests on their way keep an answer that the log has, are cancelled with their actor, or are asked again."""
    past = Held(parent.raw[: last + 1], parent.events[: last + 1])
    answered = {seq for seq in parent.resolved() if seq <= last}
    check_life(past, fork, outsider.asked, answered)
    for seq in past.requested().keys() - past.settled():
        gone = EffectCancelled(effect=seq, reason="the actor was replaced")
        if parent.events[seq].actor in replaced:
            [cancelled] = [event for event in fork.events if event.body == gone]
            assert cancelled.cause == last + 1
            assert seq not in fork.resolved()
        elif seq in answered and seq in fork.resolved():
            assert fork.resolved()[seq].body == parent.resolved()[seq].body
        else:
            assert all(event.body != gone for event in fork.events)


def check_messages(parent: Held, fork: Held, last: int) -> None:
    """A message on its way arrives when it would have arrived."""

    def arrivals(stream: Held) -> dict[int, int]:
        return {event.body.message: event.at for event in stream.events if isinstance(event.body, MessageReceived)}

    theirs, mine = arrivals(parent), arrivals(fork)
    for event in parent.events[: last + 1]:
        arrives = theirs.get(event.seq)
        if isinstance(event.body, MessageSent) and arrives is not None and arrives < fork.events[-1].at:
            assert mine[event.seq] == arrives
