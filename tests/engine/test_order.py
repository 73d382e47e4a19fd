"""What happens first when several things happen at one instant: ten seconds after the start, in all of these tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from coworkenv.agents.agent import Interrupted
from coworkenv.engine.order import BOUND, DELIVERY, DUE, LIMIT, RETURN, TIMELINE, TIMER
from coworkenv.events.event import (
    EffectCancelled,
    EffectResolved,
    EpisodeEnded,
    Event,
    MessageReceived,
    MessageSent,
    TimelineFired,
    ToolReturned,
)

from .programs import SECOND, Answers, Ask, Calls, Op, Program, Receive, Say, Sleep, Start, run, world

AT = 10
CREATE = "store.boxes.create"
CLOCK = {"call": AT, "message": 1}


@dataclass(frozen=True)
class Case:
    """Something of one rank that happens at the instant, and the event that shows it."""

    rank: int
    shows: Callable[[Event], bool]
    actors: tuple[tuple[str, tuple[Op, ...]], ...] = ()
    timeline: tuple[dict[str, Any], ...] = ()


def _says(name: str) -> Callable[[Event], bool]:
    """For what leaves no event of its own: the actor says something as soon as it learns of it."""
    return lambda event: isinstance(event.body, MessageSent) and event.actor == name


CASES = {
    "timeline": Case(
        TIMELINE,
        lambda event: isinstance(event.body, TimelineFired),
        timeline=({"name": "now", "at": f"{AT}s", "changes": [{"create": "store.boxes", "record": {}}]},),
    ),
    "delivery": Case(
        DELIVERY,
        lambda event: isinstance(event.body, MessageReceived) and event.actor == "hears",
        (("hears", (Receive(),)), ("speaks", (Sleep(AT - 1), Say("hears")))),
    ),
    "return": Case(RETURN, lambda event: isinstance(event.body, ToolReturned), (("calls", (Calls((CREATE,)),)),)),
    "bound": Case(
        BOUND,
        lambda event: isinstance(event.body, EffectResolved) and event.actor == "asks",
        (("asks", (Ask(AT, 1, 5),)),),
    ),
    "due": Case(DUE, _says("thinks"), (("thinks", (Ask(AT - 5, 1, 5), Say("agent"))),)),
    "timer": Case(TIMER, _says("sleeps"), (("sleeps", (Sleep(AT), Say("agent"))),)),
    "limit": Case(LIMIT, lambda event: isinstance(event.body, EpisodeEnded)),
}


async def at_the_instant(*names: str) -> list[Event]:
    """The events of the instant, where just these happen. Later ranks are declared first: places must not matter."""
    cases = sorted((CASES[name] for name in names), key=lambda case: -case.rank)
    actors = {name: Program(ops) for case in cases for name, ops in case.actors}
    timeline = [entry for case in cases for entry in case.timeline]
    played = world(**CLOCK, deadline=AT if "limit" in names else AT + 20, timeline=timeline)
    kernel = await run(played, Program([Sleep(AT + 1)]), actors)
    return [event for event in kernel.events if event.at == AT * SECOND]


@pytest.mark.parametrize(("earlier", "later"), list(combinations(CASES, 2)))
async def test_of_two_things_at_one_instant_the_one_of_lower_rank_is_first(earlier: str, later: str):
    assert CASES[earlier].rank < CASES[later].rank
    events = await at_the_instant(earlier, later)
    [first] = [event.seq for event in events if CASES[earlier].shows(event)]
    [second] = [event.seq for event in events if CASES[later].shows(event)]
    assert first < second


async def test_all_ranks_at_one_instant_are_in_order_and_the_limit_is_last():
    events = await at_the_instant(*CASES)
    shown = [name for event in events for name, case in CASES.items() if case.shows(event)]
    assert shown == list(CASES)
    assert isinstance(events[-1].body, EpisodeEnded)
    assert events[-1].body.reason == "deadline"


async def test_entries_of_the_timeline_are_in_the_order_of_the_file():
    names = ["c", "a", "d", "b"]
    entries = [
        {"name": name, "at": f"{AT}s", "changes": [{"create": "store.boxes", "record": {"id": name}}]} for name in names
    ]
    kernel = await run(world(**CLOCK, timeline=entries), Program([Sleep(20)]))
    assert [event.body.name for event in kernel.events if isinstance(event.body, TimelineFired)] == names
    assert list(kernel.state["store"]["boxes"]) == names


async def test_entries_whose_conditions_hold_with_one_step_are_in_the_order_of_the_file():
    when = {"when": {"called": CREATE}, "after": "1s"}
    entries = [{"name": name, **when, "from": "ann", "say": name} for name in ("z", "y", "x")]
    kernel = await run(world(**CLOCK, timeline=entries), Program([Calls((CREATE,)), Sleep(5)]))
    fired = [event for event in kernel.events if isinstance(event.body, TimelineFired)]
    assert [event.body.name for event in fired] == ["z", "y", "x"]
    assert {event.at for event in fired} == {(AT + 1) * SECOND}


async def test_things_of_one_rank_are_in_the_order_of_places_then_of_requests():
    ops = [Say("agent", "1"), Say("agent", "2")]
    kernel = await run(world(), Program([Sleep(9)]), {"bob": Program(ops), "ann": Program(ops)})
    received = [kernel.events[event.body.message] for event in kernel.events if isinstance(event.body, MessageReceived)]
    assert [(sent.actor, sent.body.text) for sent in received] == [
        ("bob", "1"),
        ("bob", "2"),
        ("ann", "1"),
        ("ann", "2"),
    ]


# --- what arrives exactly at a deadline is in time ------------------------------------------------------------


@pytest.mark.parametrize(("sent", "heard"), [(AT - 2, 1), (AT - 1, 1), (AT, 0)])
async def test_a_message_that_arrives_when_the_wait_runs_out_is_in_time(sent: int, heard: int):
    agent = Program([Receive(AT), Receive(0)])
    await run(world(), agent, {"ann": Program([Sleep(sent), Say("agent")])})
    assert len(agent.trace[0][1]) == heard
    assert agent.trace[0][0] == min(sent + 1, AT) * SECOND


@pytest.mark.parametrize(("tokens", "learnt"), [(4, True), (5, True), (6, False)])
async def test_an_answer_that_is_due_when_the_wait_runs_out_is_in_time(tokens: int, learnt: bool):
    agent = Program([Start(AT - 5, 1, tokens), Answers(AT)])
    await run(world(), agent)
    _, (_, answers) = agent.trace[1]
    assert bool(answers) is learnt


@pytest.mark.parametrize(("asked", "expected"), [(AT - 1, "result"), (AT, "none")])
async def test_a_call_that_returns_at_the_deadline_is_carried_out(asked: int, expected: str):
    kernel = await run(world(call=asked, deadline=AT - 1), Program([Calls((CREATE,))]))
    assert any(isinstance(event.body, ToolReturned) for event in kernel.events) is (expected == "result")
    assert kernel.events[-1].body.reason == ("finished" if expected == "result" else "deadline")


async def test_a_message_at_the_bound_cancels_the_request_and_its_answer_does_not_exist():
    agent = Program([Ask(AT, 1, 5, interruptible=True)])
    kernel = await run(world(), agent, {"ann": Program([Sleep(AT - 1), Say("agent")])})
    assert agent.trace[0][1] == Interrupted()
    assert not any(isinstance(event.body, EffectResolved) for event in kernel.events)


@pytest.mark.parametrize(("sent", "paid"), [(5, 1), (7, 3), (8, 4), (9, None)])
async def test_a_message_after_the_bound_cuts_the_answer_to_what_its_time_paid_for(sent: int, paid: int | None):
    """Five tokens of a second each, from second five on; the message arrives a second after it was sent."""
    agent = Program([Ask(AT - 5, 1, 5, interruptible=True)])
    kernel = await run(world(), agent, {"ann": Program([Sleep(sent), Say("agent")])})
    answer = agent.trace[0][1]
    if paid is None:  # At the instant it is due, all of it is paid for: interrupted, but whole.
        assert (answer.paid, answer.value["text"], answer.value["stop"]) == (5, "ttttt", "stop")
    else:
        assert (answer.paid, answer.value["text"], answer.value["stop"]) == (paid, "t" * paid, "interrupted")
    [cut] = [event for event in kernel.events if isinstance(event.body, EffectCancelled)]
    assert cut.body.paid == answer.paid
    assert cut.at == (sent + 1) * SECOND
