"""τ²-bench end to end: its code in a worker, an episode of two who act as an event log, a grade by its own evaluators.

The checkout is a stand-in, in words of our own: a library's desk, and its reader's terminal. With COWORKENV_TAU2 the
same is asked of a real one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from coworkenv.agents.agent import Answer, Call, Context, Outside, Request, Unavailable
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import Episode, play, resume_episode, run_episode
from coworkenv.engine.foreign import ForeignFailed, Worker
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.hosting import Differs, Driven
from coworkenv.engine.judged import NeedsJudge
from coworkenv.engine.judging import JudgeOptions
from coworkenv.engine.plan import EpisodeError, Plan
from coworkenv.engine.recording import Unrecorded
from coworkenv.engine.replay import state_after, verify
from coworkenv.engine.tau2 import host
from coworkenv.engine.tau2.grading import components_of, grade_by_evaluators
from coworkenv.engine.tau2.host import Setup, opened, worker
from coworkenv.engine.tau2.loading import load_task
from coworkenv.events.event import (
    AGENT,
    EffectRequested,
    EffectResolved,
    Event,
    Json,
    MessageReceived,
    RecordChanged,
    RecordCreated,
    ToolCalled,
    ToolReturned,
)
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.compiling import rebuild
from coworkenv.worlds.foreign import HostedCall
from coworkenv.worlds.tau2 import Task, find_checkout, world_of
from coworkenv.worlds.tau2.layout import database_of
from coworkenv.worlds.tau2.reference import USER, Action, play_of, reference_actions, to_communicate
from coworkenv.worlds.tau2.task import GREETING
from coworkenv.worlds.tau2.trajectory import termination, trajectory
from coworkenv.worlds.world import World
from tests.loopback import ModelServer, completion

from .foreign.conftest import confined, unsafe  # noqa: F401

STAND_IN = Path(__file__).parents[1] / "worlds" / "tau2" / "checkout"
LEND, PAY, KINDLY, LATER = "lend", "pay|first [both]", "kindly", "later"
REAL = os.environ.get("COWORKENV_TAU2")


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """A copy of the stand-in, named to this process; without a sandbox, so that tests run everywhere."""
    shutil.copytree(STAND_IN, tmp_path / "tau2", ignore=shutil.ignore_patterns("__pycache__"))
    made = Setup(checkout=find_checkout(tmp_path / "tau2"), unsafe=True, seconds=20)
    monkeypatch.setattr(host, "_named", [made])
    return made


async def task_of(setup: Setup, name: str, solo: bool = False, turns: bool = True) -> Task:
    [raw] = [task for task in setup.checkout.tasks("library") if task["id"] == name]
    async with worker(setup) as asked:
        return await load_task(asked, setup, "library", raw, solo, turns=turns)


def reference_plan(task: Task) -> Plan:
    """The reference actions, by two."""
    world = world_of(task)
    user = play_of(reference_actions(task.raw), to_communicate(task.raw)).user
    return Plan(world, build_agent("oracle"), {} if task.solo else build_coworkers(world, {USER: user}))


class Acts:
    """An agent that makes calls, and then waits for nobody."""

    def __init__(self, *calls: tuple[str, Json]) -> None:
        self.calls = [Call(name, args) for name, args in calls]
        self.offered: list[str] = []
        self.results: list[Any] = []

    @property
    def specification(self) -> dict[str, Json]:
        return {"kind": "test-acts"}

    async def act(self, context: Context) -> str:
        self.offered = [tool.name for tool in context.tools]
        for call in self.calls:
            self.results += await context.call(call)
        return ""


async def live_databases(asked: Worker, world: World, events: Sequence[Event]) -> dict[str, Json]:
    """The databases of fresh code that is driven through an episode's calls."""
    hosted = await opened(asked, world.host)
    for event in events:
        if isinstance(event.body, EffectResolved):
            call = events[events[event.body.effect].cause or 0]
            assert isinstance(call.body, ToolCalled)
            answer = await hosted.call(HostedCall(call.actor, "", call.body.tool, call.body.args))
            assert answer == event.body.answer
    found: dict[str, Json] = await asked.ask("databases")
    return found


def folded(task: Task, events: Sequence[Event]) -> dict[str, Json]:
    """The databases that the log gives, without any foreign code."""
    state = state_after(world_of(task), events)
    sides = {"library": task.agent, USER: task.user}
    return {name: database_of(state[name].plain(), side.layout) for name, side in sides.items()}


# --- playing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [LEND, PAY, KINDLY, LATER])
async def test_the_reference_actions_are_an_event_log_that_is_worth_one(setup: Setup, name: str) -> None:
    task, log = await task_of(setup, name), MemoryLog()
    async with log.writing():
        episode = await run_episode(reference_plan(task), log)
    assert (episode.status, episode.reason) == ("ended", "finished")
    assert (await verify(log, episode.id)).verdict == "identical"
    async with worker(setup, answers=kind) as asked:
        components = await components_of(asked, task, episode.events, judged=True)
        assert components.reward == 1
        assert await live_databases(asked, world_of(task), episode.events) == folded(task, episode.events)


async def kind(name: str, question: Json) -> Json:
    return '{"met": true}'


async def test_what_one_does_shows_at_the_others(setup: Setup) -> None:
    task = await task_of(setup, PAY)
    events = (await play(reference_plan(task))).events
    lent = [e.body for e in events if isinstance(e.body, ToolReturned) and e.actor == AGENT]
    assert [body.error.detail if body.error else body.result for body in lent] == [
        "Error: mia is blocked",
        '{"lent_to": "mia", "pages": 320, "price": 25.0}',
    ]
    [paid] = [e for e in events if isinstance(e.body, ToolCalled) and e.actor == USER]
    changed = [e.body for e in events if isinstance(e.body, RecordChanged) and e.cause == paid.seq]
    assert [(body.service, body.collection, body.set) for body in changed] == [
        ("library", "readers", {"owes": 0, "blocked": False}),
        (USER, "account", {"owes": 0}),
    ]
    [loan] = [e.body for e in events if isinstance(e.body, RecordCreated)]
    assert (loan.collection, loan.key, str(loan.value["fee"])) == ("loans", "1", "0.5")


async def test_an_answer_is_an_effect_in_the_step_of_its_call(setup: Setup) -> None:
    events = (await play(reference_plan(await task_of(setup, LEND)))).events
    asked = [event for event in events if isinstance(event.body, EffectRequested)]
    assert [(e.actor, e.body.kind) for e in asked] == [("world", "foreign")] * 2
    for event in asked:
        call = events[event.cause or 0]
        assert isinstance(call.body, ToolCalled)
        resolved, returned = (
            events[event.seq + 1],
            next(e for e in events[event.seq :] if isinstance(e.body, ToolReturned)),
        )
        assert isinstance(resolved.body, EffectResolved)
        assert event.at == resolved.at == resolved.body.due == returned.at == call.at + 500_000
        assert resolved.body.answer["result"] == returned.body.result


async def test_each_side_has_tools_of_its_own(setup: Setup) -> None:
    task = await task_of(setup, LEND)
    agent = Acts(("pay", {}), ("nonsense", {}), ("look_up", [1]), ("look_up", {"book": "atlas"}))
    await play(Plan(world_of(task), agent))
    assert agent.offered == ["look_up", "lend", "fine", "break_down", "lose_everything"]
    told = [result.error.detail if result.error else result.result for result in agent.results]
    assert told[:3] == ["Error: no tool pay", "Error: no tool nonsense", "Error: The arguments must be an object."]
    assert json.loads(told[3])["pages"] == 320
    assert [tool.name for tool in task.user.tools] == ["balance", "pay"]
    assert [tool.name for tool in (await task_of(setup, LATER)).user.tools] == ["balance"]


async def test_alone_the_agent_has_all_tools_and_a_ticket(setup: Setup) -> None:
    task = await task_of(setup, PAY, solo=True)
    world = world_of(task)
    assert world.openings[0].text.endswith("Mia wants the atlas and is blocked.")
    log = MemoryLog()
    async with log.writing():
        episode = await run_episode(reference_plan(task), log)
    assert termination(task, episode.events) == "agent_stop"
    assert (await verify(log, episode.id)).verdict == "identical"
    async with worker(setup) as asked:
        assert (await components_of(asked, task, episode.events)).reward == 1


async def test_the_world_is_the_same_without_the_checkout(setup: Setup) -> None:
    world = world_of(await task_of(setup, PAY))
    shutil.rmtree(setup.checkout.root)
    again = rebuild(world.document)
    assert again == world
    assert again.state == world.state


async def test_in_the_sandbox_it_is_the_same(setup: Setup, confined: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    task = await task_of(setup, PAY)
    outside = await play(reference_plan(task))
    monkeypatch.setattr(host, "_named", [msgspec.structs.replace(setup, unsafe=False)])
    assert (await play(reference_plan(task))).events == outside.events


async def test_numbers_keep_their_digits_on_both_sides(setup: Setup) -> None:
    task, log = await task_of(setup, LEND), MemoryLog()
    amounts = [Decimal("2.50"), 2, Decimal("0.1"), -1]
    actions = [Action("fine", {"reader": "ben", "amount": n}, side) for n in amounts for side in ("assistant", "user")]
    plan = reference_plan(task)
    played = play_of(actions)
    script = build_agent({"kind": "script", "steps": msgspec.to_builtins(played.steps, builtin_types=(Decimal,))})
    async with log.writing():
        episode = await run_episode(Plan(plan.world, script, build_coworkers(plan.world, {USER: played.user})), log)
    called = [str(e.body.args["amount"]) for e in episode.events if isinstance(e.body, ToolCalled)]
    assert called == ["2.50", "2.50", "2", "2", "0.1", "0.1", "-1", "-1"]
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
    assert folded(task, episode.events)["library"]["readers"]["ben"] == {"owes": -1, "blocked": True}


# --- going on ----------------------------------------------------------------------------------------------


class Steps(Unrecorded):
    """Remembers where steps end: only there can a log break off."""

    handful = 1

    def __init__(self) -> None:
        self.ends: list[int] = []

    def append(self, events: Sequence[Event]) -> None:
        self.ends.append(events[-1].seq + 1)


async def broken_off(whole: MemoryLog, stream: str, count: int) -> MemoryLog:
    """A log that holds the first events of an episode."""
    log = MemoryLog()
    events = list(whole.read(stream))[:count]
    async with log.writing():
        appender = log.begin(
            msgspec.structs.replace(whole.row(stream), status="suspended", count=0, digest=""), "t", 0.0
        )
        appender.append(events)
        await appender.close("suspended", "a test")
    return log


@asynccontextmanager
async def played(setup: Setup, name: str) -> AsyncIterator[tuple[Task, MemoryLog, Episode]]:
    task, log = await task_of(setup, name), MemoryLog()
    async with log.writing():
        yield task, log, await run_episode(reference_plan(task), log)


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
        with pytest.raises(Unavailable):
            await verify(log, episode.id, foreign=True)


async def test_another_checkout_than_the_episodes_suspends_it(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    async with played(setup, PAY) as (_, whole, episode):
        log = await broken_off(whole, episode.id, 8)
        with (setup.checkout.source / "domains" / "library" / "environment.py").open("a") as code:
            code.write("\n")
        async with log.writing():
            resumed = await resume_episode(log, episode.id)
            assert (resumed.status, "is not what this episode was begun with" in resumed.reason) == ("suspended", True)
            monkeypatch.setattr(host, "_named", [])
            monkeypatch.delenv(host.VARIABLE, raising=False)
            resumed = await resume_episode(log, episode.id)
            assert (resumed.status, host.VARIABLE in resumed.reason) == ("suspended", True)


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


# --- played by models --------------------------------------------------------------------------------------


def at_the_desk(request: dict[str, Any]) -> dict[str, Any]:
    """Both models: the user pays when told to, the agent lends when all is paid."""
    messages = request["messages"]
    last = str(messages[-1]["content"])
    if messages[0]["content"].startswith("You are a reader"):
        answers = {
            "Hi! How can I help you today?": completion("The atlas, please."),
            "Pay first.": completion("", [("pay", {})]),
            "paid": completion("I have paid."),
        }
        return answers.get(last) or completion("Thank you. ###STOP###")
    assert "Lend nothing to readers who are blocked." in messages[0]["content"]
    if "blocked" in last:
        return completion("Pay first.")
    if '"lent_to": "mia"' in last:
        return completion("It has 320 pages.")
    return completion("", [("lend", {"book": "atlas", "reader": "mia"})])


async def test_two_models_play_it_out(setup: Setup) -> None:
    task, log = await task_of(setup, PAY), MemoryLog()
    world = world_of(task)
    async with ModelServer(at_the_desk).serving() as server, log.writing():
        reach = {"url": server.url}
        coworkers = build_coworkers(world, {USER: {"kind": "tau2-user", "model": "user", **reach}})
        episode = await run_episode(Plan(world, build_agent("openai:agent", reach), coworkers), log)
        graded = await grade_by_evaluators(log, episode.id, setup)
    assert (episode.status, episode.reason, graded.score) == ("ended", "finished", "1"), episode.failure
    assert (await verify(log, episode.id)).verdict == "identical"
    said = [
        (message["role"], message["content"]) for message in trajectory(task, episode.events) if "content" in message
    ]
    assert [text for role, text in said if role != "tool"] == [
        GREETING,
        "The atlas, please.",
        "Pay first.",
        "I have paid.",
        "It has 320 pages.",
        "Thank you. ###STOP###",
    ]


def at_once(request: dict[str, Any]) -> dict[str, Any]:
    """An agent that goes on working while it waits for the user, who pays when told to."""
    messages = request["messages"]
    if messages[0]["content"].startswith("You are a reader"):
        return at_the_desk(request)
    assert "Lend nothing to readers who are blocked." in messages[0]["content"]
    done = [call["function"]["name"] for message in messages for call in message.get("tool_calls", ())]
    plan = [
        ("lend", {"book": "atlas", "reader": "mia"}),
        ("send_message", {"to": USER, "text": "Pay first."}),
        ("look_up", {"book": "atlas"}),
        ("wait", {}),
        ("lend", {"book": "atlas", "reader": "mia"}),
        ("finish", {"summary": "Lent."}),
    ]
    return completion("", [plan[len(done)]])


async def test_they_may_act_at_the_same_time(setup: Setup) -> None:
    task, log = await task_of(setup, PAY, turns=False), MemoryLog()
    world = world_of(task)
    async with ModelServer(at_once).serving() as server, log.writing():
        reach = {"url": server.url}
        coworkers = build_coworkers(world, {USER: {"kind": "tau2-user", "model": "user", **reach}})
        episode = await run_episode(Plan(world, build_agent("openai:agent", reach), coworkers), log)
        graded = await grade_by_evaluators(log, episode.id, setup)
    assert (episode.status, episode.reason, graded.score) == ("ended", "finished", "1"), episode.failure
    assert (await verify(log, episode.id, foreign=True)).verdict == "identical"
    [looked] = [e for e in episode.events if isinstance(e.body, ToolCalled) and e.body.tool == "look_up"]
    [heard] = [e for e in episode.events if isinstance(e.body, MessageReceived) and e.actor == USER]
    thinks = [e for e in episode.events if isinstance(e.body, EffectResolved) and e.actor == USER and e.at > heard.at]
    assert heard.at < looked.at < thinks[1].at  # the agent looks something up while the user thinks about paying
    assert termination(task, episode.events) == "agent_stop"


# --- a real checkout ---------------------------------------------------------------------------------------

#: Tasks of the real mock domain whose reference actions do not meet their own assertion, there as here.
UNMET = {"update_task_with_history_and_env_assertions", "update_task_with_user_tools"}


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="COWORKENV_TAU2 names no checkout")
@pytest.mark.parametrize("domain", ["mock", "telecom", "retail", "banking_knowledge", "airline"])
async def test_the_reference_actions_of_a_real_task_are_worth_one(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Setup(checkout=find_checkout(REAL or ""))
    monkeypatch.setattr(host, "_named", [real])
    if lacking := real.checkout.missing(domain):
        pytest.skip(f"the checkout lacks {', '.join(lacking)}")
    async with worker(real, answers=agreeing) as asked:
        for raw in real.checkout.tasks(domain)[:10]:
            task = await load_task(asked, real, domain, raw)
            events = (await play(reference_plan(task))).events
            components = await components_of(asked, task, events, judged=True)
            assert components.reward == (0 if raw["id"] in UNMET else 1), (raw["id"], components)


async def agreeing(name: str, question: Json) -> Json:
    return json.dumps({"results": [{"expectedOutcome": "-", "reasoning": "-", "metExpectation": True}]})
