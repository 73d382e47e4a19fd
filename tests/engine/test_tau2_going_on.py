"""Episodes of τ²-bench go on after a break or from a fork: its code is driven again, and must answer the same."""

# ruff: noqa: F811

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from coworkenv.agents.agent import Unavailable
from coworkenv.engine.episode import play, resume_episode, run_episode
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.hosting import Differs, Driven
from coworkenv.engine.plan import EpisodeError, Plan
from coworkenv.engine.replay import verify
from coworkenv.engine.tau2 import host
from coworkenv.engine.tau2.host import Setup, worker
from coworkenv.events.event import (
    AGENT,
    Json,
    ToolReturned,
)
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.foreign import HostedCall
from coworkenv.worlds.tau2 import world_of
from coworkenv.worlds.tau2.reference import USER

from .broken import Steps, broken_off
from .desk import (
    LEND,
    PAY,
    Acts,
    folded,
    live_databases,
    played,
    reference_plan,
    setup,  # noqa: F401
    task_of,
)

# --- going on ----------------------------------------------------------------------------------------------


async def test_an_episode_that_broke_off_anywhere_goes_on_to_the_same_end(setup: Setup) -> None:
    async with played(setup, PAY) as (_, whole, episode):
        steps = Steps()
        await play(reference_plan(await task_of(setup, PAY)), steps)
        assert steps.ends.pop() == len(episode.events)
        for count in steps.ends:
            log = await broken_off(whole, episode.id, count)
            assert (await verify(log, episode.id)).verdict == "identical so far"
            async with log.writing():
                assert (await resume_episode(log, episode.id)).status == "ended"
            assert list(log.read_raw(episode.id)) == list(whole.read_raw(episode.id))


async def test_a_fork_goes_on_from_the_databases_of_its_past(setup: Setup) -> None:
    async with played(setup, PAY) as (task, log, episode):
        [paid] = [e.seq for e in episode.events if isinstance(e.body, ToolReturned) and e.actor == USER]
        script = {"kind": "script", "steps": [{"call": "lend", "args": {"book": "atlas", "reader": "mia"}}]}
        for at, worked in [(paid - 8, False), (paid, True)]:
            fork = await fork_episode(log, episode.id, at, {"agent": script})
            lent = [e.body for e in fork.events if isinstance(e.body, ToolReturned) and e.actor == AGENT][-1]
            assert (lent.error is None) == worked
            assert (await verify(log, fork.id)).verdict == "identical"
            async with worker(setup) as asked:
                assert await live_databases(asked, world_of(task), fork.events) == folded(task, fork.events)


async def test_a_fork_cannot_change_what_foreign_code_keeps(setup: Setup) -> None:
    async with played(setup, LEND) as (_, log, episode):
        change = {"type": "record.deleted", "service": "library", "collection": "books", "key": "atlas"}
        with pytest.raises(EpisodeError, match="'library'"):
            await fork_episode(log, episode.id, 3, {"records": [change]})


async def test_nothing_is_hosted_to_verify_an_episode(setup: Setup) -> None:
    async with played(setup, PAY) as (_, log, episode):
        shutil.rmtree(setup.checkout.root)
        assert (await verify(log, episode.id)).verdict == "identical"


async def test_code_can_be_driven_through_an_episode_again(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    async with played(setup, PAY) as (_, log, episode):
        assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
        answer = host.HostedTask.call

        async def otherwise(self: Any, call: HostedCall) -> Json:
            return {"result": "owed"} if call.tool == "pay" else await answer(self, call)

        monkeypatch.setattr(host.HostedTask, "call", otherwise)
        found = await verify(log, episode.id, foreign=True)
        assert (found.verdict, "pay (call 2 to foreign code)" in found.says) == ("different", True)
        shutil.rmtree(setup.checkout.root)
        assert (await verify(log, episode.id, foreign=True)).verdict == "not driven"


async def test_another_checkout_than_the_episodes_suspends_it(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    async with played(setup, PAY) as (_, whole, episode):
        log = await broken_off(whole, episode.id, 8)
        with (setup.checkout.source / "domains" / "library" / "environment.py").open("a") as code:
            code.write("\n")
        async with log.writing():
            resumed = await resume_episode(log, episode.id)
            assert (resumed.status, "is not what this episode was begun with" in resumed.reason) == ("suspended", True)
            monkeypatch.setattr(host.CHECKOUTS, "current", None)
            monkeypatch.delenv(host.CHECKOUTS.variable, raising=False)
            resumed = await resume_episode(log, episode.id)
            assert (resumed.status, host.CHECKOUTS.variable in resumed.reason) == ("suspended", True)


@pytest.mark.parametrize(
    ("tool", "says"), [("break_down", "ended with the code 3"), ("lose_everything", "books was a map")]
)
async def test_code_that_fails_suspends_the_episode_and_says_how(setup: Setup, tool: str, says: str) -> None:
    world, log = world_of(await task_of(setup, LEND)), MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world, Acts(("look_up", {"book": "atlas"}), (tool, {}))), log)
    assert (episode.status, tool in episode.reason, says in episode.reason) == ("suspended", True, True), episode.reason
    with pytest.raises(Unavailable, match=tool):
        await play(Plan(world, Acts((tool, {}))))


class Forgetful:
    """Foreign code that answers by how often it was asked, whatever it was asked."""

    def __init__(self, first: int) -> None:
        self._next = first

    async def call(self, call: HostedCall) -> Json:
        self._next += 1
        return {"result": self._next}


async def test_code_that_answers_otherwise_when_driven_again_is_found_out() -> None:
    @asynccontextmanager
    async def opener() -> AsyncIterator[Forgetful]:
        yield Forgetful(7)

    call = HostedCall(AGENT, "desk", "look_up", {})
    async with trio.open_nursery() as nursery:
        same, other = Driven(opener, nursery), Driven(opener, nursery)
        same.know(call, {"result": 8})
        assert await same.answer(call) == {"result": 9}
        other.know(call, {"result": 8})
        other.know(call, {"result": 1})
        with pytest.raises(Differs, match=r"look_up .call 2 to foreign code. answers .*9.*, and the log has .*1"):
            await other.answer(call)
        nursery.cancel_scope.cancel()
