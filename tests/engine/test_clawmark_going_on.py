"""Episodes of ClawMark go on after a break or from a fork: the checkout that the environment names is driven again."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coworkenv.agents.registry import register_coworker
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.clawmark import host
from coworkenv.engine.clawmark.grading import Verdicts, verdicts_of
from coworkenv.engine.clawmark.host import Setup, worker
from coworkenv.engine.clawmark.loading import load_task
from coworkenv.engine.clawmark.people import KIND, StageUser, user
from coworkenv.engine.episode import Episode, play, resume_episode, run_episode
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.hosting import NoCode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import ToolCalled
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.clawmark import Task, find_checkout, world_of
from coworkenv.worlds.clawmark.turns import turns

from .broken import Steps, broken_off
from .shop import copied

TASK = "shop/task1"
register_coworker(KIND, user)


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """A copy of the stand-in, which only the environment names; without a sandbox, so that tests run everywhere."""

    def unconfined(path: Path | str, unsafe: bool = False) -> Setup:
        return Setup(checkout=find_checkout(path), unsafe=True, seconds=20)

    monkeypatch.setattr(host.CHECKOUTS, "setup", unconfined)
    monkeypatch.setattr(host.CHECKOUTS, "current", None)
    monkeypatch.setenv(host.CHECKOUTS.variable, str(copied(tmp_path)))
    return host.CHECKOUTS.named()


SENT = {"sender": "clerk@shop.test", "to": "owner@shop.test", "subject": "Roses", "body": "They have wilted."}
STEPS: list[dict[str, Any]] = [
    {"wait": "user"},
    {"call": "shell", "args": {"command": "echo 12 roses > output/report.txt"}},
    {"call": "shell", "args": {"command": "git init && git add . && git log"}},
    {"ask": "user", "text": "Reported."},
    {"call": "mail_send", "args": SENT},
    {"ask": "user", "text": "Done."},
]


def planned(task: Task) -> Plan:
    return Plan(world_of(task), Script(msgspec.convert(STEPS, list[ScriptStep])), {"user": StageUser()})


async def played(setup: Setup, log: MemoryLog) -> tuple[Task, Episode]:
    task = await load_task(setup, TASK)
    async with log.writing():
        return task, await run_episode(planned(task), log)


async def graded(setup: Setup, task: Task, episode: Episode) -> Verdicts:
    async with worker(setup, task.id) as asked:
        return await verdicts_of(asked, setup, task, episode.events)


async def test_an_episode_that_broke_off_anywhere_goes_on_to_the_same_end(setup: Setup) -> None:
    whole, steps = MemoryLog(), Steps()
    task, episode = await played(setup, whole)
    await play(planned(task), steps)
    assert steps.ends.pop() == len(episode.events)
    for count in steps.ends[::3]:
        log = await broken_off(whole, episode.id, count)
        async with log.writing():
            assert (await resume_episode(log, episode.id)).status == "ended"
        assert list(log.read_raw(episode.id)) == list(whole.read_raw(episode.id))


async def test_a_fork_goes_on_from_the_workspace_of_its_past(setup: Setup) -> None:
    """In the second stage, with an agent that mails nobody: what the first has written is there, and counts."""
    log = MemoryLog()
    task, episode = await played(setup, log)
    at = turns(world_of(task), episode.events)[1].number
    [second] = [e.seq for e in episode.events if isinstance(e.body, ToolCalled) and e.body.args == {"number": at}]
    steps = [{"wait": "user"}, {"call": "shell", "args": {"command": "cat output/report.txt > output/again.txt"}}]
    async with log.writing():
        changes = {"agent": {"kind": "script", "steps": [*steps, {"ask": "user", "text": "Done."}]}}
        fork = await fork_episode(log, episode.id, second, changes)
    assert (await verify(log, fork.id, foreign=True)).verdict == "identical"
    passed = {each.id: each.passed for each in (await graded(setup, task, fork)).verdicts}
    assert (passed["report"], passed["told"]) == (True, False)
    whole = await graded(setup, task, episode)
    assert {each.id for each in whole.verdicts if each.passed} == {"report", "quiet", "told", "market"}
    assert whole.score == Decimal("6") / 8


async def test_a_fork_may_change_records_that_checkers_see(setup: Setup) -> None:
    log = MemoryLog()
    task, episode = await played(setup, log)
    [sent] = [e for e in episode.events if getattr(e.body, "service", "") == "mail" and e.actor == "agent"]
    async with log.writing():
        change = {"type": "record.deleted", "service": "mail", "collection": "messages", "key": sent.body.key}
        fork = await fork_episode(log, episode.id, sent.seq, {"records": [change]})
    assert not next(each for each in (await graded(setup, task, fork)).verdicts if each.id == "told").passed
    assert (await verify(log, fork.id, foreign=True)).verdict == "identical"


async def test_without_the_checkout_or_with_another_one_nothing_goes_on(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = MemoryLog()
    _, episode = await played(setup, whole)
    log = await broken_off(whole, episode.id, len(episode.events) // 2)
    with (setup.checkout.folder(TASK) / "task.py").open("a") as code:
        code.write("\n")
    async with log.writing():
        resumed = await resume_episode(log, episode.id)
        assert (resumed.status, "is not what this episode was begun with" in resumed.reason) == ("suspended", True)
        monkeypatch.delenv(host.CHECKOUTS.variable)
        resumed = await resume_episode(log, episode.id)
        assert (resumed.status, host.CHECKOUTS.variable in resumed.reason) == ("suspended", True)
    async with whole.writing():
        with pytest.raises(NoCode, match=host.CHECKOUTS.variable):
            await fork_episode(whole, episode.id, 3, {"seed": 1})
    assert (await verify(whole, episode.id)).verdict == "identical"
