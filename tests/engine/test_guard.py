"""Actors that do what they may not: the episode says who it was and what they awaited, and trio stays sane."""

from __future__ import annotations

import time as wall
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from coworkenv.agents.agent import Context
from coworkenv.engine.episode import run_episode
from coworkenv.engine.kernel import Kernel
from coworkenv.engine.plan import Plan
from coworkenv.events.event import ActorFailed, Event
from coworkenv.events.memory import MemoryLog

from .programs import Ask, Calls, Program, Receive, Say, Sleep, run, world

Act = Callable[[Context], Awaitable[Any]]


class Wild:
    """An actor made of one function."""

    specification: dict[str, Any] = {"kind": "wild"}  # noqa: RUF012 - the protocol wants a plain dictionary

    def __init__(self, act: Act) -> None:
        self._act = act

    async def act(self, context: Context) -> str:
        await self._act(context)
        return ""


async def sleeps(context: Context) -> None:
    await trio.sleep(0)


async def sleeps_after_a_while(context: Context) -> None:
    await context.sleep(1)
    await trio.sleep(1000)


async def checkpoints(context: Context) -> None:
    await trio.lowlevel.checkpoint()


async def awaits_a_socket(context: Context) -> None:
    left, right = trio.socket.socketpair()
    with left, right:
        await left.recv(1)


async def awaits_a_socket_and_closes_it(context: Context) -> None:
    left, right = trio.socket.socketpair()
    try:
        await left.recv(1)
    finally:
        left.close()
        right.close()


async def waits_in_a_lot(context: Context) -> None:
    await trio.lowlevel.ParkingLot().park()


async def awaits_an_event(context: Context) -> None:
    await trio.Event().wait()


async def awaits_a_thread(context: Context) -> None:
    await trio.to_thread.run_sync(lambda: wall.sleep(0.01))


async def opens_a_nursery(context: Context) -> None:
    async with trio.open_nursery():
        await context.sleep(1)


async def opens_a_nursery_and_sleeps_in_it(context: Context) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        await trio.sleep_forever()


async def leaves_an_empty_nursery(context: Context) -> None:
    async with trio.open_nursery():
        pass


async def opens_a_cancel_scope(context: Context) -> None:
    with trio.CancelScope():
        await context.receive()


async def sets_a_timeout(context: Context) -> None:
    with trio.move_on_after(5):
        await context.call()
        await context.sleep(1)


async def opens_two_scopes(context: Context) -> None:
    with trio.CancelScope(), trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await context.sleep(1)


class Thing:
    def __await__(self) -> Any:
        return (yield "something")


async def yields_something(context: Context) -> None:
    await Thing()


FOREIGN = [
    sleeps,
    sleeps_after_a_while,
    checkpoints,
    awaits_a_socket,
    awaits_a_socket_and_closes_it,
    waits_in_a_lot,
    awaits_an_event,
    awaits_a_thread,
    opens_a_nursery,
    opens_a_nursery_and_sleeps_in_it,
    leaves_an_empty_nursery,
    opens_a_cancel_scope,
    sets_a_timeout,
    opens_two_scopes,
    yields_something,
]


async def trio_is_sane() -> None:
    """Scopes, timeouts, nurseries and cancellation still do what they should, in this very task."""
    with trio.move_on_after(0.03) as scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.cancel_scope.cancel()
    await trio.testing.wait_all_tasks_blocked()


def failed(kernel: Kernel) -> list[Event]:
    return [event for event in kernel.events if isinstance(event.body, ActorFailed)]


async def play(act: Act, name: str) -> Kernel:
    """An episode in which `name` does `act` while somebody else is busy, a request of theirs included."""
    with trio.fail_after(10):
        busy = Program([Ask(5, 1, 5), Calls(("store.pack",)), Receive()])
        if name == "agent":
            return await run(world(), Wild(act), {"ann": busy})
        return await run(world(), busy, {name: Wild(act)})


@pytest.mark.parametrize("name", ["agent", "bob"])
@pytest.mark.parametrize("act", FOREIGN, ids=lambda act: act.__name__)
async def test_who_awaits_something_of_trio_fails_by_name_and_nothing_is_left_of_it(act: Act, name: str):
    tasks = trio.lowlevel.current_statistics().tasks_living
    kernel = await play(act, name)
    [event] = failed(kernel)
    assert event.actor == name
    assert event.body.error == "ForeignAwait"
    assert event.body.message.startswith(f"{name} ")
    assert kernel.reason == "failed"
    await trio_is_sane()
    assert trio.lowlevel.current_statistics().tasks_living == tasks


async def test_the_message_says_what_was_awaited():
    said = [failed(await play(act, "bob"))[0].body.message for act in (yields_something, opens_a_nursery)]
    assert said == [
        "bob awaited str; an actor may await nothing but its context's operations",
        "bob opened a trio nursery or cancel scope; an actor may await nothing but its context's operations",
    ]


async def test_the_children_of_a_nursery_that_an_actor_opened_are_cancelled():
    ends: list[str] = []

    async def child() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            ends.append("cancelled")
            raise

    async def opens(context: Context) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            nursery.start_soon(child)
            await context.sleep(10)

    kernel = await play(opens, "bob")
    assert len(failed(kernel)) == 1
    assert ends == ["cancelled"] * len(ends)
    await trio_is_sane()


async def test_what_a_failed_actor_waited_for_wakes_nobody_when_it_comes():
    """trio knows the actor only as the task of its episode, which is that of this test."""
    comes = trio.Event()

    async def waits(context: Context) -> None:
        await comes.wait()

    async with trio.open_nursery() as nursery:
        kernel = await play(waits, "bob")
        assert len(failed(kernel)) == 1
        nursery.start_soon(comes_soon, comes)
        await trio_is_sane()


async def comes_soon(comes: trio.Event) -> None:
    comes.set()


@pytest.mark.parametrize("act", FOREIGN, ids=lambda act: act.__name__)
async def test_a_failed_actor_gives_the_same_log_each_time(act: Act):
    first, second = await play(act, "bob"), await play(act, "bob")
    assert first.events == second.events


# --- actors that will not go ----------------------------------------------------------------------------------


async def catches_everything(context: Context) -> None:
    while True:
        try:
            await context.receive()
        except BaseException:
            continue


async def goes_on_in_finally(context: Context) -> None:
    try:
        await context.receive()
    finally:
        await context.send("agent", "one more thing")
        await context.sleep(1)


async def sleeps_in_finally(context: Context) -> None:
    try:
        await context.receive()
    finally:
        await trio.sleep(0.001)


async def raises_in_finally(context: Context) -> None:
    try:
        await context.receive()
    finally:
        raise RuntimeError("not now")


async def yields_for_ever(context: Context) -> None:
    while True:
        try:
            await trio.sleep(0)
        except BaseException:
            continue


@pytest.mark.parametrize(
    "act",
    [catches_everything, goes_on_in_finally, sleeps_in_finally, raises_in_finally],
    ids=lambda act: act.__name__,
)
async def test_an_actor_that_resists_its_end_appends_nothing_more(act: Act):
    with trio.fail_after(10):
        kernel = await run(world(), Program([Sleep(3)]), {"ann": Wild(act), "bob": Program([Receive()])})
    quiet = await run(world(), Program([Sleep(3)]), {"ann": Program([Receive()]), "bob": Program([Receive()])})
    assert kernel.events == quiet.events
    await trio_is_sane()


async def test_an_actor_that_awaits_trio_and_never_ends_is_given_up():
    kernel = await play(yields_for_ever, "bob")
    assert [event.actor for event in failed(kernel)] == ["bob"]
    await trio_is_sane()


async def test_an_episode_in_a_log_ends_with_the_failure_and_others_are_not_harmed():
    """A guest that opens nurseries plays beside another episode of the same loop and the same log."""
    log = MemoryLog()
    results: dict[str, str] = {}

    async def one(name: str, act: Act) -> None:
        plan = Plan(world(), Wild(act), {"ann": Program([Sleep(1), Say("agent")])}, trial=len(results))
        results[name] = "running"
        results[name] = (await run_episode(plan, log)).reason

    async def behaves(context: Context) -> None:
        await context.receive()

    async with log.writing(), trio.open_nursery() as nursery:
        nursery.start_soon(one, "wild", opens_two_scopes)
        nursery.start_soon(one, "tame", behaves)
    assert results == {"wild": "failed", "tame": "finished"}


async def test_cancelling_a_run_closes_its_actors_in_the_order_of_their_places():
    closed: list[str] = []
    under_way: list[Any] = []
    names = ["agent", "bob", "ann"]

    async def never(request: Any) -> Any:
        under_way.append(request)
        if len(under_way) == len(names):
            scope.cancel()
        await trio.sleep_forever()

    programs = {name: Program([Ask(1), Receive()], never, closed.append) for name in names}
    agent = programs.pop("agent")
    with trio.fail_after(10), trio.CancelScope() as scope:
        await run(world(), agent, programs)
    assert scope.cancelled_caught
    assert closed == names
    await trio_is_sane()
