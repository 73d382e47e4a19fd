"""Grades of τ²-bench by its own evaluators, with a judge and without, and what of an episode they are given."""

# ruff: noqa: F811

from __future__ import annotations

import json

import msgspec
import pytest

from coworkenv.agents.agent import Answer, Outside, Request
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import play, run_episode
from coworkenv.engine.foreign import ForeignFailed
from coworkenv.engine.judged import NeedsJudge
from coworkenv.engine.judging import JudgeOptions
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.engine.tau2.grading import components_of, grade_by_evaluators
from coworkenv.engine.tau2.host import Setup, worker
from coworkenv.events.event import (
    EffectResolved,
    ToolReturned,
)
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.tau2 import world_of
from coworkenv.worlds.tau2.reference import USER
from coworkenv.worlds.tau2.task import GREETING
from coworkenv.worlds.tau2.trajectory import termination, trajectory

from .desk import (
    KINDLY,
    LATER,
    LEND,
    PAY,
    played,
    reference_plan,
    setup,  # noqa: F401
    task_of,
)

# --- grading -----------------------------------------------------------------------------------------------


async def test_a_grade_is_a_stream_of_its_own_and_given_once(setup: Setup) -> None:
    async with played(setup, PAY) as (_, log, episode):
        graded = await grade_by_evaluators(log, episode.id, setup)
        assert (graded.score, graded.passed, graded.rule) == ("1", True, "tau2")
        told = [(check.check, check.applies, check.passed) for check in graded.checks]
        assert told == [
            ("ended", True, True),
            ("DB", False, False),  # the reference is not settled between its actions, upstream as here
            ("ENV_ASSERTION", True, True),
            ("ACTION", True, True),
            ("COMMUNICATE", False, True),
        ]
        assert (await verify(log, graded.id)).good
        assert await grade_by_evaluators(log, episode.id, setup) == graded
        with (setup.checkout.source / "evaluator" / "evaluator_action.py").open("a") as code:
            code.write("\n")
        assert (await grade_by_evaluators(log, episode.id, setup)).grader != graded.grader


async def test_without_a_judge_it_says_so_and_what_it_knows(setup: Setup) -> None:
    async with played(setup, KINDLY) as (_, log, episode):
        with pytest.raises(NeedsJudge, match="Without one: DB 1"):
            await grade_by_evaluators(log, episode.id, setup)


@pytest.mark.parametrize("met", [True, False])
async def test_a_judge_is_asked_through_the_parent_and_its_answer_kept(setup: Setup, met: bool) -> None:
    asked: list[Request] = []

    async def perform(request: Request) -> Outside:
        asked.append(request)
        return Outside(Answer(value={"text": json.dumps({"met": met}), "calls": [], "stop": "stop"}, tokens=3))

    async with played(setup, KINDLY) as (_, log, episode):
        graded = await grade_by_evaluators(log, episode.id, setup, JudgeOptions(model="judge"), perform)
        assert (graded.score, len(asked)) == ("1" if met else "0", 1)
        assert "The agent is kind." in asked[0].prompt[1]["content"]
        [resolved] = [e.body for e in log.read(graded.id) if isinstance(e.body, EffectResolved)]
        assert resolved.answer["text"] == json.dumps({"met": met})


async def test_where_the_rest_is_nothing_no_judge_is_needed(setup: Setup) -> None:
    task, log = await task_of(setup, KINDLY), MemoryLog()
    wrong = {"kind": "script", "steps": [{"call": "lend", "args": {"book": "atlas", "reader": "ben"}}, {"ask": USER}]}
    world = world_of(task)
    user = {"kind": "tau2-reference", "turns": [[]]}
    async with log.writing():
        episode = await run_episode(Plan(world, build_agent(wrong), build_coworkers(world, {USER: user})), log)
        assert (await grade_by_evaluators(log, episode.id, setup)).score == "0"


async def test_a_conversation_that_nobody_stopped_is_worth_nothing(setup: Setup) -> None:
    task, log = await task_of(setup, LEND), MemoryLog()
    async with log.writing():
        lends = {"kind": "script", "steps": [{"call": "lend", "args": {"book": "atlas", "reader": "mia"}}]}
        episode = await run_episode(Plan(world_of(task), build_agent(lends)), log)
        graded = await grade_by_evaluators(log, episode.id, setup)
    assert (graded.score, graded.checks[0].says) == ("0", "max_steps")


async def test_ten_failed_calls_end_a_conversation_upstream(setup: Setup) -> None:
    task = await task_of(setup, LEND)
    steps = [{"call": "look_up", "args": {"book": f"book {number}"}} for number in range(10)]
    world = world_of(task)
    coworkers = build_coworkers(world, {USER: {"kind": "tau2-reference", "turns": [[]]}})
    for count, ended in [(9, "user_stop"), (10, "too_many_errors")]:
        agent = build_agent({"kind": "script", "steps": [*steps[:count], {"ask": USER, "text": "No."}]})
        assert termination(task, (await play(Plan(world, agent, coworkers))).events) == ended


async def test_a_trajectory_that_did_not_happen_is_refused(setup: Setup) -> None:
    task = await task_of(setup, LEND)
    events = list((await play(reference_plan(task))).events)
    place, lent = next(
        (n, e) for n, e in enumerate(events) if isinstance(e.body, ToolReturned) and "mia" in str(e.body)
    )
    false = msgspec.structs.replace(lent.body, result='{"lent_to": "ben"}')
    events[place] = msgspec.structs.replace(lent, body=false)
    async with worker(setup) as asked:
        with pytest.raises(ForeignFailed, match="lend answers"):
            await components_of(asked, task, events)


async def test_what_was_said_before_is_in_the_trajectory(setup: Setup) -> None:
    task = await task_of(setup, LATER)
    messages = trajectory(task, (await play(reference_plan(task))).events)
    assert [message["role"] for message in messages[:3]] == ["user", "assistant", "tool"]
    assert all(message.get("content") != GREETING for message in messages)
    [account] = task.user.records["account"].values()
    assert account["owes"] == 1
