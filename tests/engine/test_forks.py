"""A fork has its parent's past and a future of its own: what is on its way stays on its way."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from coworkenv.agents.agent import Outside, Request
from coworkenv.agents.answers import judge
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import Episode, resume_episode, run_episode
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.plan import EpisodeError, Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import (
    ActorFinished,
    EffectRequested,
    EpisodeEnded,
    EpisodeForked,
    Event,
    MessageReceived,
    MessageSent,
    RecordChanged,
    TimelineFired,
)
from coworkenv.events.log import Log
from coworkenv.events.memory import MemoryLog
from coworkenv.events.sqlite import SqliteLog
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment

from ..loopback import completion
from .crashing.campaign import Held, Outsider, held
from .crashing.forking import fork_everywhere
from .crashing.worker import plan

SCRIPTED = Path(__file__).parents[2] / "worlds" / "examples" / "refund.yaml"
OTHER_MODEL = {"agent": {"kind": "openai", "model": "other", "seed": 99, "base": "3s", "per_token": "10ms"}}


async def played(log: Log, seed: int = 0, outsider: Outsider | None = None) -> Held:
    """An episode in which all actors are models."""
    return held(log, (await run_episode(plan(seed, outsider or Outsider()), log)).id)


async def oracle(log: Log) -> Held:
    """An episode in which nobody outside is asked."""
    world = compile_environment(read_environment(SCRIPTED.read_text("utf-8")))
    episode = await run_episode(Plan(world, build_agent("oracle"), build_coworkers(world)), log)
    return held(log, episode.id)


def name_of(parent: Held, log: Log) -> str:
    return next(row.id for row in log.rows() if row.digest == parent.raw[-1][2].hex())


def first(parent: Held, fits: Callable[[Event], bool]) -> int:
    return next(event.seq for event in parent.events if fits(event))


def later(event: Event, after: int, by: int = 1) -> Event:
    """`event` as it is in a stream in which `by` events were put behind event `after`."""

    def moved(seq: int | None) -> int | None:
        return seq + by if seq is not None and seq > after else seq

    body = event.body
    for field in ("message", "call", "effect", "reply_to"):
        if isinstance(getattr(body, field, None), int):
            body = msgspec.structs.replace(body, **{field: moved(getattr(body, field))})
    # The end is caused by whatever was before it.
    cause = event.seq + by - 1 if isinstance(body, EpisodeEnded) else moved(event.cause)
    return Event(event.seq + by, event.at, event.actor, cause, body)


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({}, 1),
        ({"seed": 5}, 2),
        ({"agent": {"kind": "explore"}}, 1),
        (OTHER_MODEL, 3),
        ({"coworkers": {"lena": {"kind": "rules"}}}, 2),
    ],
    ids=["nothing", "seed", "agent", "model", "coworker"],
)
async def test_an_episode_can_be_forked_at_every_event(changes: dict[str, Any], step: int) -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await played(log, 3)
        name = name_of(parent, log)
        assert await fork_everywhere(log, name, changes, step) == -(-len(parent.events) // step)


async def test_a_fork_that_changes_nothing_goes_on_like_its_parent_while_nobody_new_is_asked() -> None:
    log = MemoryLog()
    longest = 0
    async with log.writing():
        parent = await played(log, 4)
        for at in range(len(parent.events)):
            fork = held(log, (await fork_episode(log, name_of(parent, log), at, {}, Outsider(salted=True))).id)
            last = first(fork, lambda event: isinstance(event.body, EpisodeForked)) - 1
            expected = [later(event, last) for event in parent.events[last + 1 :]]
            new = next(
                (n for n, event in enumerate(expected) if isinstance(event.body, EffectRequested)), len(expected)
            )
            assert fork.events[last + 2 :][:new] == expected[:new]
            longest = max(longest, new)
    assert longest > 5


async def test_a_fork_that_changes_nothing_of_a_scripted_episode_is_its_parent_over_again() -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await oracle(log)
        name = name_of(parent, log)
        for at in range(len(parent.events)):
            fork = held(log, (await fork_episode(log, name, at, {})).id)
            last = first(fork, lambda event: isinstance(event.body, EpisodeForked)) - 1
            assert fork.events[last + 2 :] == [later(event, last) for event in parent.events[last + 1 :]]
            assert fork.events[last + 1].at == parent.events[last].at


async def test_a_fork_can_be_forked_and_that_one_again() -> None:
    log = MemoryLog()
    async with log.writing():
        parent, seen = await played(log, 5), 0
        name = name_of(parent, log)
        asked = [seq for seq in parent.requested() if parent.events[seq].actor == "agent"][3]
        for changes in ({"seed": 1}, {"seed": 2}, {"seed": 3}, OTHER_MODEL):
            outsider = Outsider(salted=True)
            # Each is made where its parent was made: the request there is on its way in all, until its actor goes.
            episode = await fork_episode(log, name, asked + seen, changes, outsider)
            assert not outsider.asked[parent.requested()[asked].digest]
            assert (await verify(log, episode.id)).verdict == "identical"
            assert [event.seq for event in episode.events if isinstance(event.body, EpisodeForked)] == [
                asked + 1 + number for number in range(seen + 1)
            ]
            assert log.row(episode.id).parent == name
            name, seen = episode.id, seen + 1


@pytest.mark.parametrize("durability", ["memory", "batch", "each"])
async def test_a_suspended_episode_can_be_forked_and_its_fork_be_suspended(tmp_path: Path, durability: Any) -> None:
    log: Log = MemoryLog() if durability == "memory" else SqliteLog(tmp_path / "log.db", durability)
    async with log.writing():
        parent = await run_episode(plan(6, Outsider(fails_at=6)), log)
        assert parent.status == "suspended"
        open_ones = held(log, parent.id).requested().keys() - held(log, parent.id).settled()
        assert open_ones
        # The request that nobody answered is asked again; down the server is once more.
        down = Outsider(fails_at=1)
        fork = await fork_episode(log, parent.id, len(parent.events) - 1, {"seed": 1}, down)
        assert (fork.status, down.asked.total()) == ("suspended", 1)
        assert (await verify(log, fork.id)).verdict == "identical so far"
        again = await resume_episode(log, fork.id, Outsider())
        assert again.status == "ended"
        # The same fork once more is the same episode.
        assert (await fork_episode(log, parent.id, len(parent.events) - 1, {"seed": 1}, down)).id == fork.id
        assert (await verify(log, fork.id)).verdict == "identical"
        assert (await resume_episode(log, parent.id, Outsider())).status == "ended"


async def test_a_fork_that_is_resumed_still_has_the_answers_of_its_parents() -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await played(log, 7)
        name = name_of(parent, log)
        asked = [seq for seq in parent.requested() if parent.events[seq].actor == "agent"][2]
        fork = await cut_short(log, name, asked, {"seed": 1})
        assert asked not in held(log, fork.id).resolved()
        grandchild = await cut_short(log, fork.id, len(fork.events) - 1, {"seed": 2})
        for stream in (grandchild.id, fork.id):
            outsider = Outsider(salted=True)
            await resume_episode(log, stream, outsider)
            assert not outsider.asked[parent.requested()[asked].digest]
            answer = held(log, stream).resolved()[asked]
            assert answer.body == parent.resolved()[asked].body
            there = {seen.seq: seen.content for seen in log.observations(name)}
            here = {seen.seq: seen.content for seen in log.observations(stream)}
            assert here[answer.seq] == there[parent.resolved()[asked].seq]
            assert (await verify(log, stream)).verdict == "identical"


async def cut_short(log: Log, stream: str, at: int, changes: dict[str, Any]) -> Episode:
    """A fork whose run is cancelled as soon as it is there."""
    before = {row.id for row in log.rows()}
    with trio.CancelScope() as scope:
        scope.cancel()
        await fork_episode(log, stream, at, changes, Outsider())
    [new] = [row.id for row in log.rows() if row.id not in before]
    assert log.row(new).status == "suspended"
    return Episode(id=new, status="suspended", reason="", events=held(log, new).events)


# --- what a fork may change --------------------------------------------------------------------------------


async def test_a_fork_at_the_end_goes_on_only_if_whoever_ended_the_episode_is_replaced() -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await played(log, 8)
        name, end = name_of(parent, log), len(parent.events) - 1
        finished = first(parent, lambda event: isinstance(event.body, ActorFinished))
        rules = {"coworkers": {"tomas": {"kind": "rules"}}}
        for changes in ({}, {"seed": 1}, rules):
            outsider = Outsider()
            fork = await fork_episode(log, name, end, changes, outsider)
            assert fork.reason == "finished"
            assert not outsider.asked
            assert isinstance(fork.events[finished + 1].body, EpisodeForked)
        another = await fork_episode(log, name, end, {"agent": {"kind": "explore"}}, Outsider())
        assert len([event for event in another.events if isinstance(event.body, ActorFinished)]) == 2


async def waits(request: Request) -> Outside:
    """A model that does nothing but wait."""
    await trio.lowlevel.checkpoint()
    outside = judge(200, {}, json.dumps(completion(calls=[("wait", {})])).encode(), "")
    assert isinstance(outside, Outside)
    return outside


async def test_a_message_that_a_fork_brings_wakes_an_episode_that_had_nothing_left_to_do() -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await run_episode(plan(0, waits), log)
        assert parent.reason == "idle"
        message = {"from": "tomas", "to": "agent", "text": "One more thing: 7 lamps."}
        fork = await fork_episode(log, parent.id, len(parent.events) - 1, {"messages": [message]}, waits)
        assert fork.reason == "idle"
        [sent] = [event for event in fork.events if isinstance(event.body, MessageSent) and "lamps." in event.body.text]
        assert isinstance(fork.events[sent.cause or 0].body, EpisodeForked)
        read = first(held(log, fork.id), lambda event: event.body == MessageReceived(message=sent.seq))
        assert any(isinstance(event.body, EffectRequested) for event in fork.events[read:])
        assert (await verify(log, fork.id)).verdict == "identical"
        nothing = await fork_episode(log, parent.id, len(parent.events) - 1, {}, waits)
        assert [type(event.body) for event in nothing.events[-2:]] == [EpisodeForked, EpisodeEnded]


async def test_a_fork_can_change_a_record() -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await played(log, 9)
        name = name_of(parent, log)
        change = {
            "type": "record.changed",
            "service": "stock",
            "collection": "parts",
            "key": "P-17",
            "set": {"price": 0.5, "on_hand": Decimal("3.50")},
        }
        fork = await fork_episode(log, name, 2, {"records": [change]}, Outsider())
        changed = next(event for event in fork.events if isinstance(event.body, RecordChanged))
        assert isinstance(fork.events[changed.cause or 0].body, EpisodeForked)
        assert isinstance(changed.body, RecordChanged)
        assert changed.body.set == {"price": Decimal("0.5"), "on_hand": Decimal("3.50")}
        assert (await verify(log, fork.id)).verdict == "identical"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"colour": "red"}, "colour"),
        ({"seed": "seven"}, "seed"),
        ({"agent": {"kind": "nobody"}}, "nobody"),
        ({"coworkers": {"zoe": {"kind": "rules"}}}, "zoe"),
        ({"messages": [{"to": "agent", "text": "Hi"}]}, "from"),
        ({"messages": [{"from": "zoe", "to": "agent", "text": "Hi"}]}, "zoe"),
        ({"messages": [{"from": "lena", "to": "zoe", "text": "Hi"}]}, "zoe"),
        ({"records": [{"type": "record.deleted", "service": "x", "collection": "parts", "key": "P"}]}, "service 'x'"),
        ({"records": [{"type": "record.deleted", "service": "stock", "collection": "parts", "key": "P"}]}, "not there"),
    ],
)
async def test_what_cannot_be_changed_is_refused_before_there_is_a_fork(changes: dict[str, Any], says: str) -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await played(log, 1)
        with pytest.raises(EpisodeError, match=says):
            await fork_episode(log, name_of(parent, log), 3, changes)
        assert len(log.rows()) == 1


@pytest.mark.parametrize("at", [-1, 10_000])
async def test_there_is_no_fork_at_an_event_that_is_not_there(at: int) -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await played(log, 1)
        with pytest.raises(EpisodeError, match="cannot be forked"):
            await fork_episode(log, name_of(parent, log), at, {})


async def test_a_fork_is_refused_where_executing_its_past_gives_another() -> None:
    log, other = MemoryLog(), MemoryLog()
    async with log.writing(), other.writing():
        parent = await played(log, 1)
        row = log.row(name_of(parent, log))
        other.create(row)
        appender = other.open(row.id, "test", 0.0)
        fired = first(parent, lambda event: isinstance(event.body, TimelineFired))
        tampered = [msgspec.structs.replace(event, at=event.at + (event.seq >= fired)) for event in parent.events]
        appender.append(tampered)
        await appender.close("ended", "finished")
        assert (await verify(other, row.id)).seq == fired
        with pytest.raises(EpisodeError, match=f"differs at event {fired}"):
            await fork_episode(other, row.id, len(parent.events) - 1, {}, Outsider())
        assert (await fork_episode(other, row.id, fired - 1, {}, Outsider())).status == "ended"


async def test_a_call_under_way_is_carried_out_though_its_actor_is_replaced() -> None:
    log = MemoryLog()
    async with log.writing():
        parent = await oracle(log)
        call = first(parent, lambda event: getattr(event.body, "tool", "") == "payments.refunds.create")
        fork = await fork_episode(log, name_of(parent, log), call, {"agent": {"kind": "noop"}})
        kinds = [type(event.body).__name__ for event in fork.events[call:]]
        assert kinds.count("RecordCreated") == 0, "the new agent finished at once, before the call could return"
        reader = {"kind": "script", "steps": [{"call": "kb.policies.find"}]}
        fork = await fork_episode(log, name_of(parent, log), call, {"agent": reader})
        created = next(event for event in fork.events if type(event.body).__name__ == "RecordCreated")
        assert created.cause == call
        assert (await verify(log, fork.id)).verdict == "identical"
