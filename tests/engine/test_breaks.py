"""Runs that are broken off: by Ctrl-C, by cancellation, by a server that is down, by somebody else who writes."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from coworkenv.agents.agent import Outside, Request
from coworkenv.engine import wall
from coworkenv.engine.episode import resume_episode, run_episode
from coworkenv.engine.leases import take
from coworkenv.engine.plan import EpisodeError, episode_id
from coworkenv.engine.recording import Divergence
from coworkenv.engine.replay import verify
from coworkenv.events.errors import LeaseHeld, LeaseLost
from coworkenv.events.log import Log, StreamRow
from coworkenv.events.memory import MemoryLog
from coworkenv.events.sqlite import SqliteLog

from .crashing.campaign import Held, Outsider, Stage, check_life, held, read_file, staged, unbroken
from .crashing.worker import Command, plan


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage


@pytest.fixture(params=["memory", "batch", "each"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    return MemoryLog() if request.param == "memory" else SqliteLog(tmp_path / "log.db", request.param)


class Cancelling(Outsider):
    """Cancels `scope` while it is asked for the n-th time."""

    def __init__(self, at: int, scope: trio.CancelScope) -> None:
        super().__init__()
        self._at = at
        self._scope = scope

    async def __call__(self, request: Request) -> Outside:
        if self.asked.total() + 1 == self._at:
            self._scope.cancel()
        return await super().__call__(request)


async def test_a_run_that_is_cancelled_is_suspended_with_all_that_it_had_done(log: Log) -> None:
    whole = await unbroken(1)
    name = episode_id(plan(1).started())
    before = Held()
    async with log.writing():
        for at in [*range(1, 13), 0]:  # Each time it goes on, and is cancelled again.
            with trio.CancelScope() as scope:
                outsider = Cancelling(min(at, 2), scope)
                await (resume_episode(log, name, outsider) if before.events else run_episode(plan(1, outsider), log))
            now = held(log, name)
            check_life(before, now, outsider.asked)
            assert now.raw == whole.raw[: len(now.raw)]
            assert log.row(name).status == ("suspended" if at else "ended")
            before = now
    assert before.raw == whole.raw


async def test_an_episode_is_suspended_while_the_server_is_down(log: Log) -> None:
    whole = await unbroken(2)
    name = episode_id(plan(2).started())
    asks = len(whole.requested())
    async with log.writing():
        before = Held()
        for fails_at in [1, *range(2, asks, 5)]:
            outsider = Outsider(fails_at=min(fails_at, 3))
            episode = await run_episode(plan(2, outsider), log)
            now = held(log, name)
            check_life(before, now, outsider.asked)
            if episode.status == "ended":
                break
            assert (episode.status, episode.reason) == ("suspended", "the server is down")
            assert (log.row(name).status, log.row(name).reason) == ("suspended", "the server is down")
            assert (await verify(log, name)).verdict == "identical so far"
            before = now
        assert (await resume_episode(log, name, Outsider())).status == "ended"
    assert held(log, name).raw == whole.raw


@pytest.mark.parametrize("bare", [False, True], ids=["command line", "bare"])
async def test_ctrl_c_suspends_an_episode_and_loses_nothing(stage: Stage, tmp_path: Path, bare: bool) -> None:
    seed, interrupted = 3, 0
    whole, path = await unbroken(seed), tmp_path / "log.db"
    command = Command(do="run", path=str(path), seed=seed, stream=episode_id(plan(seed).started()), bare=bare)
    before = Held()
    for number in range(40):
        life = await stage.live(command, after=(0.03 + 0.03 * number, signal.SIGINT))
        now = read_file(path, command.stream)
        check_life(before, now, life.asked)
        assert now.raw == whole.raw[: len(now.raw)]
        if now.status == "ended":
            break
        assert life.result is not None
        if not bare:
            assert life.result["error"] in ("Interrupted", "KeyboardInterrupt"), life.result
            assert now.status in ("suspended", "")
        # In a bare program it may strike while a stream is being opened or closed: then it is as if it was killed.
        interrupted += bool(now.events)
        before = now
    assert now.raw == whole.raw
    assert interrupted


# --- one stream, several who want it -----------------------------------------------------------------------


async def test_of_two_processes_that_resume_the_same_episode_one_is_told_who_has_it(tmp_path: Path) -> None:
    refused = 0
    async with staged() as one, staged() as other:
        for seed in range(3):
            path, name = tmp_path / f"{seed}.db", episode_id(plan(seed).started())
            command = Command(do="run", path=str(path), seed=seed, stream=name)
            # The first dies early, so that its lease is still there when both come.
            assert (await one.live(command, kill_at_request=3)).killed
            results: list[dict[str, Any]] = []

            async def resume(stage: Stage, command: Command, results: list[dict[str, Any]]) -> None:
                results.append((await stage.live(command)).result or {})

            async with trio.open_nursery() as nursery:
                nursery.start_soon(resume, one, command, results)
                nursery.start_soon(resume, other, command, results)
            # Whoever comes when all is over finds the ended episode.
            assert any(result.get("status") == "ended" for result in results)
            for result in results:
                assert result.get("status") == "ended" or result["error"] == "LeaseHeld", result
            refused += sum(result.get("error") == "LeaseHeld" for result in results)
            assert read_file(path, name).raw == (await unbroken(seed)).raw
    assert refused


async def test_a_lease_is_taken_from_a_process_that_is_no_more_and_from_no_other(log: Log) -> None:
    gone = f"process {await dead_process()} on {wall.host()}"
    alive = f"process {os.getppid()} on {wall.host()}"
    elsewhere = f"{gone}.elsewhere"
    async with log.writing():
        stream = (await run_episode(plan(1, Outsider(fails_at=1)), log)).id
        for holder, refused in ((gone, None), (alive, alive), (elsewhere, elsewhere), ("somebody", "somebody")):
            log.open(stream, holder, wall.now(), steal=True)
            assert refusal(log, stream) == refused
        # Two find the dead one at the same time: the second finds the first.
        log.open(stream, gone, wall.now(), steal=True)
        log.open(stream, "the first", wall.now(), steal=gone)
        with pytest.raises(LeaseHeld, match="the first"):
            log.open(stream, "the second", wall.now(), steal=gone)


def refusal(log: Log, stream: str) -> str | None:
    """Who has the stream, if its lease cannot be taken."""
    try:
        take(log, stream)
    except LeaseHeld as held:
        return held.holder
    return None


async def dead_process() -> int:
    process = await trio.lowlevel.open_process(["true"])
    await process.wait()
    return process.pid


async def test_a_run_whose_lease_is_stolen_stops_with_a_typed_error(log: Log) -> None:
    async with log.writing():

        async def thief(request: Request) -> Outside:
            log.open(episode_id(plan(1).started()), "a thief", wall.now(), steal=True)
            return await Outsider()(request)

        with pytest.raises(LeaseLost):
            await run_episode(plan(1, thief), log)


async def test_an_episode_that_the_log_tells_otherwise_is_not_gone_on_with(log: Log) -> None:
    whole = await unbroken(1)
    async with log.writing():
        episode = await run_episode(plan(1, Outsider(fails_at=1)), log)
        appender = log.open(episode.id, "test", wall.now())
        appender.append([msgspec.structs.replace(whole.events[appender.count], at=1)])
        await appender.close()
        before = held(log, episode.id)
        with pytest.raises(Divergence):
            await resume_episode(log, episode.id, Outsider())
        assert held(log, episode.id).raw == before.raw
        assert log.row(episode.id).status == "suspended"


async def test_a_stream_without_events_is_begun_and_not_resumed(log: Log) -> None:
    async with log.writing():
        log.create(StreamRow(id="0123456789abcdef", environment="x"))
        with pytest.raises(EpisodeError, match="run it again"):
            await resume_episode(log, "0123456789abcdef")
