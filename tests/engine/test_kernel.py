"""The kernel, with programs that Hypothesis writes: whatever actors do, these things hold.

The real clock is trio's mock clock, so real latencies cost nothing and can be as uneven as they like.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from coworkenv.agents.agent import Outside, Request
from coworkenv.engine.kernel import Kernel
from coworkenv.events.event import (
    ActorFailed,
    ActorFinished,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeEnded,
    Event,
    MessageReceived,
    MessageSent,
    RecordCreated,
    ToolCalled,
    ToolReturned,
)

from .programs import (
    PEOPLE,
    SECOND,
    Answers,
    Ask,
    Calls,
    Cancel,
    Op,
    Program,
    Receive,
    Say,
    Sleep,
    Start,
    Steps,
    answered,
    digest,
    run,
    world,
)

CALL, MESSAGE = 2, 1
PLACES = ("agent", *PEOPLE)
_short = st.integers(0, 5)
_waits = st.none() | _short
_tools = st.sampled_from(["store.boxes.create", "store.boxes.find", "store.pack", "store.nothing"])
_ops: st.SearchStrategy[Op] = st.one_of(
    st.builds(Calls, st.lists(_tools, max_size=3).map(tuple)),
    st.builds(Say, st.sampled_from(PEOPLE), st.text(max_size=3)),
    st.builds(Receive, _waits),
    st.builds(Answers, _waits),
    st.builds(Sleep, _short),
    st.builds(Ask, _short, st.integers(0, 2), st.integers(0, 4), st.booleans()),
    st.builds(Start, _short, st.integers(0, 2), st.integers(0, 4)),
    st.builds(Cancel, st.integers(0, 2)),
)
_theirs = _ops | st.builds(Say, st.just("agent"), st.text(max_size=3))
_programs = st.fixed_dictionaries({name: st.lists(_ops if name == "agent" else _theirs, max_size=8) for name in PLACES})

TIMELINE = [
    {"name": "early", "at": "2s", "changes": [{"create": "store.boxes", "record": {}}]},
    {"name": "also", "at": "2s", "from": "bob", "say": "From the timeline."},
    {"name": "packed", "when": {"called": "store.pack"}, "after": "1s", "from": "ann", "say": "You packed."},
]

WORLD = world(call=CALL, message=MESSAGE, deadline=30, timeline=TIMELINE)


def play(programs: dict[str, list[Op]], shuffle: int) -> tuple[Kernel, Steps, list[str]]:
    """Play programs with latencies that `shuffle` draws. Returns who was closed, in order, too."""
    draw = random.Random(shuffle)
    steps, closed = Steps(), []

    async def perform(request: Request) -> Outside:
        return await answered(request, draw.choice([0.0, 0.0, 1.0, 50.0]) * draw.random())

    actors = {name: Program(programs[name], perform, closed.append) for name in PLACES}
    agent = actors.pop("agent")

    async def main() -> Kernel:
        return await run(WORLD, agent, actors, steps)

    kernel = trio.run(main, clock=MockClock(autojump_threshold=0))
    return kernel, steps, closed


def bodies(events: Sequence[Event], kind: type[Any]) -> list[Event]:
    return [event for event in events if isinstance(event.body, kind)]


@settings(max_examples=150, deadline=None)
@given(_programs, st.integers(0, 2**32))
@example({"agent": [Ask(2, 1, 3, True)], "ann": [Say("agent"), Sleep(2), Say("agent")], "bob": []}, 1)
def test_the_same_programs_give_the_same_log_whatever_the_latencies(programs: dict[str, list[Op]], shuffle: int):
    first, _, _ = play(programs, shuffle)
    second, _, _ = play(programs, shuffle + 1)
    assert first.events == second.events
    assert digest(first.events) == digest(second.events)
    assert first.state == second.state


@settings(max_examples=250, deadline=None)
@given(_programs)
@example({"agent": [Calls(("store.pack", "store.pack")), Receive(3)], "ann": [Start(1, 1, 4), Answers()], "bob": []})
def test_a_stream_is_in_order_and_each_event_has_its_reason_before_it(programs: dict[str, list[Op]]):
    kernel, steps, _ = play(programs, 0)
    events = kernel.events
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert events[0].cause is None
    assert all(event.cause is not None and event.cause < event.seq for event in events[1:])
    assert [event for step in steps.steps for event in step] == events
    assert all(len({event.at for event in step}) == 1 for step in steps.steps)
    assert not bodies(events, ActorFailed)
    assert isinstance(events[-1].body, EpisodeEnded)


@settings(max_examples=150, deadline=None)
@given(_programs)
def test_messages_arrive_once_their_latency_after_they_were_sent(programs: dict[str, list[Op]]):
    events = play(programs, 0)[0].events
    received = bodies(events, MessageReceived)
    for event in received:
        sent = events[event.body.message]
        assert isinstance(sent.body, MessageSent)
        assert sent.body.to == event.actor
        assert event.at == sent.at + MESSAGE * SECOND
        assert event.cause == sent.seq
    assert len({event.body.message for event in received}) == len(received)


@settings(max_examples=150, deadline=None)
@given(_programs)
def test_a_call_returns_its_latency_later_in_the_step_of_what_it_changed(programs: dict[str, list[Op]]):
    kernel, steps, _ = play(programs, 0)
    for step in steps.steps:
        for place, event in enumerate(step):
            if not isinstance(event.body, ToolReturned):
                continue
            called = kernel.events[event.body.call]
            assert isinstance(called.body, ToolCalled)
            assert event.at == called.at + CALL * SECOND
            records = bodies(kernel.events, RecordCreated)
            made = [other for other in records if other.cause == called.seq]
            assert list(step[place - len(made) : place]) == made
            expected = {"store.boxes.create": 1, "store.pack": 2}.get(called.body.tool, 0)
            assert len(made) == expected
    calls = [event.seq for event in bodies(kernel.events, ToolCalled)]
    returned = [event.body.call for event in bodies(kernel.events, ToolReturned)]
    assert returned == sorted(set(returned), key=returned.index)
    assert set(returned) <= set(calls)


@settings(max_examples=200, deadline=None)
@given(_programs)
@example({"agent": [Ask(3, 1, 4, True), Ask(3, 1, 4, True)], "ann": [Sleep(3), Say("agent"), Say("agent")], "bob": []})
def test_effects_are_resolved_at_their_bound_learnt_when_due_and_cut_to_what_was_paid(programs: dict[str, list[Op]]):
    events = play(programs, 0)[0].events
    asked = {event.seq: event for event in bodies(events, EffectRequested)}
    resolved: dict[int, Event] = {}
    cancelled: dict[int, Event] = {}
    for event in events:
        if isinstance(event.body, EffectResolved):
            assert event.body.effect in asked
            assert event.body.effect not in resolved
            assert event.body.effect not in cancelled
            request = asked[event.body.effect]
            price = request.body.settings
            assert event.at == request.body.bound
            assert event.at == request.at + max(1, price["base"])
            thought = price["base"] + price["per_token"] * event.body.tokens
            assert event.body.due == max(request.body.bound, request.at + thought)
            resolved[event.body.effect] = event
        elif isinstance(event.body, EffectCancelled):
            assert event.body.effect in asked
            assert event.body.effect not in cancelled
            cancelled[event.body.effect] = event
            answer = resolved.get(event.body.effect)
            if answer is None:
                assert event.body.paid is None
                assert event.at <= asked[event.body.effect].body.bound
            else:
                assert event.at <= answer.body.due
                assert event.body.paid is None or 0 <= event.body.paid <= answer.body.tokens
    unsettled = set(asked) - set(resolved) - set(cancelled)
    assert not unsettled, "each effect is resolved, or cancelled at the latest when the episode ends"


@settings(max_examples=150, deadline=None)
@given(_programs)
def test_actors_that_still_live_at_the_end_are_closed_in_the_order_of_their_places(programs: dict[str, list[Op]]):
    kernel, _, closed = play(programs, 0)
    finished = [event.actor for event in bodies(kernel.events, ActorFinished)]
    assert closed[: len(finished)] == finished
    # Who was never started has nothing to close: the agent may finish at virtual time 0, before the others begin.
    left = [name for name in PLACES if name not in finished and name in closed]
    assert closed[len(finished) :] == left


@pytest.mark.parametrize("ops", [[Sleep(0)], [Receive(0)], [Say("ann")], [Calls(())]])
def test_an_actor_that_gets_nowhere_does_not_hold_up_the_world(ops: list[Op]):
    class Forever(Program):
        async def act(self, context: Any) -> str:
            while True:
                await self._do(ops[0], context, [])

    async def main() -> Kernel:
        with trio.fail_after(20):
            return await run(world(), Forever([]), {"ann": Program([Receive()])})

    kernel = trio.run(main)
    assert kernel.reason in ("livelock", "events", "failed")
    assert kernel.now == 0
