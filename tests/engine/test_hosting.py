"""Foreign services: their calls are answered in the order of virtual time, and nothing that is answered is believed.

The foreign code is a counter in this process: it answers how often it was asked, and by whom.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coworkenv.agents.agent import Call, Context, Result, Unavailable
from coworkenv.engine.episode import Episode, play, run_episode
from coworkenv.engine.hosting import Differs, Unhosted
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import state_after
from coworkenv.events.event import AGENT, EffectRequested, Event, Json, ToolCalled, ToolReturned
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds import imported
from coworkenv.worlds.environment import Person
from coworkenv.worlds.foreign import ForeignService, HostedCall
from coworkenv.worlds.service import Tool
from coworkenv.worlds.world import FaultRule, World

MIA = "mia"
COUNT = {"counts": {"all": {"n": 0}}}


class Counter:
    """The foreign code."""

    asked: list[HostedCall] = []  # noqa: RUF012

    async def call(self, call: HostedCall) -> Json:
        self.asked.append(call)
        if isinstance(call.args, dict) and "answer" in call.args:
            return call.args["answer"]
        if call.tool == "fail":
            raise Unavailable("the counter is out of order")
        where = {"service": "counter", "collection": "counts", "key": "all"}
        changed = {"type": "record.changed", **where, "set": {"n": len(self.asked)}}
        return {"result": f"{call.actor} {len(self.asked)}", "changes": [changed]}


class Counting:
    """As much of its importer as is asked for here."""

    name = "counter"

    def use(self, path: Path, unsafe: bool) -> None: ...

    @asynccontextmanager
    async def host(self, wanted: dict[str, Json]) -> AsyncIterator[Counter]:
        Counter.asked = []
        yield Counter()


@pytest.fixture(autouse=True)
def hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(imported._registered, "counter", Counting())


class Acts:
    """An actor who does what a function says."""

    def __init__(self, act: Callable[[Context], Awaitable[object]]) -> None:
        self._act = act
        self.specification: dict[str, Json] = {"kind": "test-acts"}

    async def act(self, context: Context) -> str:
        await self._act(context)
        return ""


def world(faults: tuple[FaultRule, ...] = (), kind: str = "counter") -> World:
    tools = (Tool("count", "Count.", {}), Tool("fail", "Fail.", {}))
    return World(
        id="counting",
        document="{}",
        start=datetime(2026, 1, 1, tzinfo=UTC),
        services=(
            ForeignService(name="counter", tools=tools, records=COUNT),
            ForeignService(name="mias", tools=(Tool("count", "Count as well.", {}), Tool("own", "Hers.", {}))),
        ),
        owners={"mias": MIA},
        host={"kind": kind},
        people={MIA: Person(role="a colleague")},
        faults=faults,
        call=1_000_000,
    )


def calling(*calls: Call, results: list[Result] | None = None) -> Acts:
    async def act(context: Context) -> None:
        for call in calls:
            (results if results is not None else []).extend(await context.call(call))

    return Acts(act)


async def played(agent: Acts, coworkers: dict[str, Acts] | None = None, **given: tuple[FaultRule, ...]) -> Episode:
    return await play(Plan(world(**given), agent, coworkers or {}))


def returned(events: list[Event]) -> list[Json]:
    return [e.body.result for e in events if isinstance(e.body, ToolReturned)]


async def test_two_who_call_at_the_same_instant_are_answered_in_the_order_of_their_places() -> None:
    async def waits(context: Context) -> None:
        await context.call(*[Call("count")] * 3)
        await context.sleep(10_000_000)

    for _ in range(20):
        events = list((await played(Acts(waits), {MIA: calling(*[Call("count")] * 3)})).events)
        expected = [f"{actor} {2 * n + m}" for n in range(3) for m, actor in ((1, AGENT), (2, MIA))]
        assert returned(events) == expected
        assert state_after(world(), events)["counter"]["counts"]["all"] == {"n": 6}


async def test_each_may_call_only_what_is_theirs_or_everybodys() -> None:
    seen: dict[str, list[str]] = {}

    async def look(context: Context) -> None:
        seen[context.name] = [tool.name for tool in context.tools]
        await context.call(Call("count"), Call("own"))
        await context.sleep(10_000_000)

    events = (await played(Acts(look), {MIA: Acts(look)})).events
    assert seen == {AGENT: ["count", "fail"], MIA: ["count", "fail", "count", "own"]}
    assert [(call.actor, call.service, call.tool) for call in Counter.asked] == [
        (AGENT, "counter", "count"),
        (MIA, "mias", "count"),
        (MIA, "mias", "own"),
    ]
    refused = [e for e in events if isinstance(e.body, ToolReturned) and e.body.error]
    assert [(e.actor, e.body.error.type) for e in refused] == [(AGENT, "unknown_tool")]


@pytest.mark.parametrize(("applied", "count"), [(False, 0), (True, 1)])
async def test_a_fault_keeps_a_call_away_or_only_its_answer(applied: bool, count: int) -> None:
    results: list[Result] = []
    faults = (FaultRule(name="f", tool="count", kind="error", nth=1, applied=applied),)
    events = list((await played(calling(Call("count"), results=results), faults=faults)).events)
    assert results[0].error is not None
    assert len(Counter.asked) == count if count else not any(isinstance(e.body, EffectRequested) for e in events)
    assert state_after(world(), events)["counter"]["counts"]["all"] == {"n": count}


WRONG = [
    {"changes": [{"type": "record.changed", "service": "counter", "collection": "counts", "key": "none", "set": {}}]},
    {"changes": [{"type": "record.created", "service": "mail", "collection": "inbox", "key": "1", "value": {}}]},
    {"changes": [{"type": "episode.ended", "reason": "finished"}]},
    {"changes": 1},
    ["no object"],
    "nothing",
]


@pytest.mark.parametrize("answer", WRONG)
async def test_an_answer_that_fits_nothing_is_not_taken(answer: Json) -> None:
    log = MemoryLog()
    async with log.writing():
        with pytest.raises(Differs):
            await run_episode(Plan(world(), calling(Call("count", {"answer": answer}))), log)
    [row] = log.rows(kind="episode")
    assert row.status == "suspended"
    assert not any(isinstance(event.body, ToolReturned) for event in log.read(row.id))


async def test_code_that_cannot_answer_now_suspends() -> None:
    log = MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world(), calling(Call("count"), Call("fail"))), log)
    assert (episode.status, episode.reason) == ("suspended", "the counter is out of order")
    called = [event for event in log.read(episode.id) if isinstance(event.body, ToolCalled)]
    assert len(called) == 2


async def test_a_kind_that_nobody_hosts_is_said() -> None:
    with pytest.raises(BaseException) as raised:
        await play(Plan(world(kind="other"), calling()))
    error = raised.value
    while isinstance(error, BaseExceptionGroup):
        [error] = error.exceptions
    assert isinstance(error, Unhosted)
    assert "'other'" in str(error)
