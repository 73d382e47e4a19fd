"""ClawMark end to end: stages in a worker, an agent with services of its own, a grade by the task's own checkers.

The checkout is a stand-in, in words of our own: a flower shop. With COWORKENV_CLAWMARK the same is asked of a real one.
"""

# ruff: noqa: F811

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any

import pytest

from coworkenv.agents.registry import register_coworker
from coworkenv.agents.scripted import Noop, Script, ScriptStep
from coworkenv.engine.clawmark import host
from coworkenv.engine.clawmark.grading import Verdicts, grade_by_checkers, verdicts_of
from coworkenv.engine.clawmark.host import Setup, worker
from coworkenv.engine.clawmark.loading import load_task
from coworkenv.engine.clawmark.people import KIND, StageUser, user
from coworkenv.engine.episode import Episode, run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import ToolReturned
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.clawmark import Task, world_of
from coworkenv.worlds.clawmark.turns import turns
from coworkenv.worlds.compiling import rebuild

from .shop import setup  # noqa: F401

REAL = os.environ.get("COWORKENV_CLAWMARK")
register_coworker(KIND, user)


def nobody(stages: int) -> Script:
    return Script([ScriptStep(wait="user"), *(ScriptStep(ask="user", text="Done.") for _ in range(stages))])


def clerk() -> Script:
    """Does all that the checkers look for."""
    report = {"path": "/workspace/output/report.txt", "text": "12 roses"}
    mail = {"sender": "clerk@shop.test", "to": "owner@shop.test", "subject": "Roses", "body": "They have wilted."}
    order = {"spreadsheet": "orders", "range": "Sheet1!B2", "values": [["closed"]]}
    return Script(
        [
            ScriptStep(wait="user"),
            ScriptStep(call="read_file", args={"path": "/workspace/input/stock.csv"}),
            ScriptStep(call="write_file", args=report),
            ScriptStep(ask="user", text="Reported."),
            ScriptStep(call="mail_send", args=mail),
            ScriptStep(call="sheet_update", args=order),
            ScriptStep(ask="user", text="Done."),
        ]
    )


async def played(log: MemoryLog, task: Task, agent: Script | Noop) -> Episode:
    async with log.writing():
        return await run_episode(Plan(world_of(task), agent, {"user": StageUser()}), log)


async def graded(setup: Setup, task: Task, episode: Episode) -> Verdicts:
    async with worker(setup, task.id) as asked:
        return await verdicts_of(asked, setup, task, episode.events)


async def test_a_task_is_known_with_its_times_and_what_doing_nothing_is_worth(setup: Setup) -> None:
    task = await load_task(setup, "shop/task1")
    assert [each.isoformat() for each in task.times] == ["2025-05-01T09:00:00+02:00", "2025-05-02T09:00:00+02:00"]
    assert [each.id for each in task.checkers if each.idle] == ["quiet", "market"]
    assert [each.id for each in task.checkers if each.raised] == ["raises"]
    assert "flower shop" in task.briefing
    world = world_of(task)
    assert rebuild(world.document).state == world.state


async def test_each_stages_checkers_see_the_workspace_as_it_was_then(setup: Setup) -> None:
    task, log = await load_task(setup, "shop/task1"), MemoryLog()
    episode = await played(log, task, clerk())
    assert (episode.status, episode.reason) == ("ended", "finished")
    assert [turn.number for turn in turns(world_of(task), episode.events)] == [0, 1]
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
    verdicts = await graded(setup, task, episode)
    assert [each.id for each in verdicts.verdicts if not each.passed] == ["raises"]
    assert verdicts.score == verdicts.declared == Decimal("7.5") / 8
    assert verdicts.lift == Decimal("5.5") / 8


async def test_what_a_stage_brings_is_there_before_the_agents_first_call(setup: Setup) -> None:
    """Also of an agent that does not wait to be told."""
    task, log = await load_task(setup, "shop/task1"), MemoryLog()
    hasty = Script(
        [
            ScriptStep(call="list_files", args={"path": "/workspace"}),
            ScriptStep(call="mail_list", args={"address": "clerk@shop.test"}),
        ]
    )
    episode = await played(log, task, hasty)
    files, mails = (event.body.result for event in agents(episode))
    assert "/workspace/AGENTS.md" in [each["path"] for each in files["files"]]
    assert len(mails["messages"]) == 1


async def test_an_agent_has_the_shell(setup: Setup) -> None:
    task, log = await load_task(setup, "shop/task1"), MemoryLog()
    lines = ("mkdir -p output && echo 12 roses > output/report.txt; ls output", "cat output/report.txt; curl x", None)
    calls = (ScriptStep(call="shell", args={"command": line}) for line in lines)
    episode = await played(log, task, Script([ScriptStep(wait="user"), *calls, ScriptStep(ask="user", text="Done.")]))
    first, second, wrong = (event.body for event in agents(episode))
    assert first.result == {"code": 0, "stdout": "report.txt\n"}
    assert second.result == {"code": 127, "stdout": "12 roses\n", "stderr": "unsupported command: curl\n"}
    assert wrong.error.message == "`command` must be a text."
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
    assert next(each for each in (await graded(setup, task, episode)).verdicts if each.id == "report").passed


def agents(episode: Episode) -> list[Any]:
    """What its calls returned."""
    return [each for each in episode.events if each.actor == "agent" and isinstance(each.body, ToolReturned)]


async def test_a_grade_is_written_once(setup: Setup) -> None:
    task, log = await load_task(setup, "shop/task1"), MemoryLog()
    episode = await played(log, task, clerk())
    async with log.writing():
        first = await grade_by_checkers(log, episode.id, setup)
        again = await grade_by_checkers(log, episode.id, setup)
    assert first == again
    assert not first.passed


@pytest.mark.parametrize("agent", [nobody(2), Noop()])
async def test_doing_nothing_is_worth_what_it_is_said_to_be(setup: Setup, agent: Script | Noop) -> None:
    task = await load_task(setup, "shop/task1")
    verdicts = await graded(setup, task, await played(MemoryLog(), task, agent))
    assert verdicts.lift == 0
    assert verdicts.score == verdicts.idle == Decimal("0.25")


async def test_a_stage_that_fails_takes_its_checkers_out_of_upstreams_score_alone(setup: Setup) -> None:
    path = setup.checkout.folder("shop/task1") / "task.py"
    task = await load_task(setup, "shop/task1")
    path.write_text(
        path.read_text().replace("async def stage1(ctx):", "async def stage1(ctx):\n    raise OSError('x')")
    )
    episode = await played(MemoryLog(), await load_again(task, setup), Noop())
    verdicts = await graded(setup, task, episode)
    assert "OSError" in verdicts.failed
    assert [each.id for each in verdicts.verdicts if not each.evaluated] == ["told", "raises"]
    assert verdicts.score > verdicts.declared


async def load_again(task: Task, setup: Setup) -> Task:
    """The task as it was, said to be of the files as they are."""
    import msgspec

    return msgspec.structs.replace(task, digest=setup.checkout.digest(task.id))


@pytest.mark.skipif(not REAL, reason="COWORKENV_CLAWMARK names no checkout")
@pytest.mark.slow
async def test_the_first_real_task_plays_and_verifies() -> None:
    assert REAL
    made = host.CHECKOUTS.name(REAL)
    name = made.checkout.tasks()[0]
    task, log = await load_task(made, name), MemoryLog()
    episode = await played(log, task, nobody(len(task.times)))
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
    assert (await graded(made, task, episode)).lift == 0
