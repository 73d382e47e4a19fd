"""Many plans: begun and told in their order, played by two processes at once, refused where nobody can play them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio

from coworkenv.agents import build_agent, build_coworkers
from coworkenv.agents.agent import Answer, Context, Outside, Request
from coworkenv.engine import EpisodeError, Plan, Result, fork_episode, grade_episode, rollout
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import check_agent, episode_id
from coworkenv.events import SqliteLog
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds import compile_environment, read_environment
from coworkenv.worlds.world import World

from .programs import world

ROOT = Path(__file__).parents[2]


def example(name: str) -> World:
    return compile_environment(read_environment(ROOT / "worlds" / "examples" / f"{name}.yaml"))


class Slow:
    """Asks a server that takes a while: the longer, the earlier the plan."""

    def __init__(self, seconds: float) -> None:
        self.specification: dict[str, Any] = {"kind": "slow"}
        self._seconds = seconds

    async def act(self, context: Context) -> str:
        await context.effect(Request("model"), self._answer)
        return ""

    async def _answer(self, request: Request) -> Outside:
        await trio.sleep(self._seconds)
        return Outside(Answer("yes"))


async def test_episodes_are_begun_told_and_listed_in_the_order_of_the_plans(tmp_path: Path) -> None:
    count = 12
    for round_ in range(3):
        plans = [Plan(world(), Slow((count - k) * 0.01), seed=k) for k in range(count)]
        told: list[Result] = []
        log = SqliteLog(tmp_path / f"{round_}.db")
        async with log.writing():
            results = await rollout(plans, log, concurrency=5, finished=told.append)
        wanted = [episode_id(plan.started()) for plan in plans]
        assert [result.id for result in results] == wanted
        assert told == results
        rows = log.rows(kind="episode")
        assert [row.id for row in rows] == wanted
        assert [row.created for row in rows] == sorted(row.created for row in rows)
        log.close()


async def test_a_result_is_told_while_later_ones_are_still_played() -> None:
    told: list[int] = []

    async def never(request: Request) -> Outside:
        await trio.sleep_forever()
        raise AssertionError

    class Stuck(Slow):
        _answer = staticmethod(never)  # type: ignore[assignment]

    log = MemoryLog()
    plans = [Plan(world(), Slow(0), seed=0), Plan(world(), Slow(0), seed=1), Plan(world(), Stuck(0), seed=2)]
    async with log.writing():
        with trio.move_on_after(1):
            await rollout(plans, log, finished=lambda result: told.append(result.seed))
    assert told == [0, 1]


# --- two processes -----------------------------------------------------------------------------------------

WORKER = """
import sys, trio
from pathlib import Path
from coworkenv.agents import build_agent, build_coworkers
from coworkenv.engine import Plan, rollout
from coworkenv.events import SqliteLog
from coworkenv.worlds import compile_environment, read_environment

async def main(environment, path):
    world = compile_environment(read_environment(Path(environment)))
    plans = [Plan(world, build_agent("oracle"), build_coworkers(world), seed) for seed in range(50)]
    log = SqliteLog(path)
    print("ready", flush=True)
    sys.stdin.readline()
    async with log.writing():
        for result in await rollout(plans, log, concurrency=8):
            print(result.status, result.reason, flush=True)
    log.close()

trio.run(main, *sys.argv[1:])
"""


def test_two_processes_that_play_the_same_plans_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    words = [sys.executable, "-c", WORKER, str(ROOT / "worlds" / "examples" / "refund.yaml"), str(path)]
    workers = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    said = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
        said.append(out.splitlines())
    for lines in said:
        assert len(lines) == 50
        for line in lines:
            assert line == "ended finished" or " is being played by process " in line, line
    assert all("ended finished" in pair for pair in zip(*said, strict=True))
    log = SqliteLog(path)
    rows = log.rows(kind="episode")
    assert Counter(row.status for row in rows) == {"ended": 50}
    assert len(log.rows(kind="grading", status="ended")) == len(log.grades()) == 50
    log.close()


# --- who can play ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("trap:no-aproval", r"there is no trap `no-aproval` in finance.refund/0007 \(did you mean `no-approval`\?\)"),
        ("trap:nonesuch", "there is no trap `nonesuch` in finance.refund/0007; there is no-approval"),
    ],
)
async def test_a_trap_that_a_world_does_not_have_is_refused_before_play(agent: str, says: str) -> None:
    refund = example("refund")
    log = MemoryLog()
    with pytest.raises(EpisodeError, match=says):
        check_agent(refund, build_agent(agent).specification)
    async with log.writing():
        with pytest.raises(EpisodeError, match=says):
            await run_episode(Plan(refund, build_agent(agent)), log)
        assert log.rows() == []
        episode = await run_episode(Plan(refund, build_agent("noop")), log)
        with pytest.raises(EpisodeError, match=says):
            await fork_episode(log, episode.id, 1, {"agent": build_agent(agent).specification})


def test_the_oracle_of_a_world_without_one_is_refused() -> None:
    with pytest.raises(EpisodeError, match="there is no oracle in program"):
        check_agent(world(), build_agent("oracle").specification)
    check_agent(world(), build_agent("noop").specification)


# --- what can be graded ------------------------------------------------------------------------------------


async def test_an_episode_that_has_not_ended_is_not_graded() -> None:
    async def never(request: Request) -> Outside:
        await trio.sleep_forever()
        raise AssertionError

    class Stuck(Slow):
        _answer = staticmethod(never)  # type: ignore[assignment]

    refund = example("refund")
    log = MemoryLog()
    async with log.writing():
        with trio.move_on_after(0.2):
            await run_episode(Plan(refund, Stuck(0)), log)
        [row] = log.rows()
        assert row.status == "suspended"
        with pytest.raises(EpisodeError, match="has not ended"):
            await grade_episode(log, row.id, refund)
        assert log.rows(kind="grading") == []
        assert log.grades() == []


async def test_a_grader_that_cannot_read_an_episode_says_whose_each_is() -> None:
    log = MemoryLog()
    played, other = example("tickets"), example("refund")
    says = f"the episode is of {played.id}, the file describes {other.id}"
    async with log.writing():
        episode = await run_episode(Plan(played, build_agent("oracle"), build_coworkers(played)), log)
        with pytest.raises(EpisodeError, match=says):
            await grade_episode(log, episode.id, other)
        assert len(log.rows()) == 1
