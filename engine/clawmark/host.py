"""The parent's side: the checkout that was named, a worker that runs its code, and that code as a host for the kernel.

Knows rooms and workers. Does not know what is inside (`hosted`), nor what an episode is. A checkout is run only after
somebody named it, and only if a task is what its world was made with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from ...agents.agent import Unavailable
from ...events.event import Json
from ...worlds.clawmark.checkout import Checkout, find_checkout
from ...worlds.clawmark.world import STAGE, STAGES
from ...worlds.foreign import HostedCall
from ...worlds.imported import CheckoutError
from ...worlds.records import State
from .. import checkouts
from ..foreign import ForeignFailed, Room, Worker, foreign
from .sidecar import Sidecar, sidecar_with

_TARGET = "coworkenv.engine.clawmark.hosted:Hosted"


Setup: TypeAlias = checkouts.Setup[Checkout]
CHECKOUTS = checkouts.Naming("ClawMark", "COWORKENV_CLAWMARK", find_checkout)


@asynccontextmanager
async def worker(setup: Setup, task: str, sidecar: Sidecar | None = None) -> AsyncIterator[Worker]:
    """A worker that can read a task's folder, and nothing else of the checkout. Raises CheckoutError, ForeignFailed."""
    reads = (setup.checkout.folder(task), *([sidecar.folder] if sidecar else []))
    room = Room(reads=reads, seconds=setup.seconds, written=256 << 20)
    async with foreign(room, _TARGET, unsafe=setup.unsafe) as asked:
        yield asked


@asynccontextmanager
async def host(wanted: dict[str, Json]) -> AsyncIterator[HostedTask]:
    """The task that a world's `host` speaks of. Raises Unavailable where it cannot be had here, or not now."""
    try:
        setup = CHECKOUTS.named()
        if setup.checkout.digest(wanted["task"]) != wanted["digest"]:
            raise CheckoutError(
                f"{wanted['task']} in {setup.checkout.root} is not what this episode was begun with; name the checkout "
                "of that time, or begin anew"
            )
        sidecar = sidecar_with(wanted["task"], wanted.get("sidecar", ""))
        async with worker(setup, wanted["task"], sidecar) as asked:
            folder, words = str(setup.checkout.folder(wanted["task"])), str(sidecar.folder) if sidecar else ""
            await asked.ask("open", folder=folder, start=wanted["start"], words=words)
            yield HostedTask(asked)
    except (CheckoutError, ForeignFailed) as error:
        raise Unavailable(str(error)) from error


class HostedTask:
    """A task at work: `engine.hosting.Hosted`."""

    def __init__(self, asked: Worker) -> None:
        self._asked = asked

    async def call(self, call: HostedCall) -> Json:
        records = given(call.state)
        try:
            if call.service != STAGES:
                return await self._asked.ask("call", tool=call.tool, args=call.args, at=call.at, records=records)
            if call.tool != STAGE:
                return {"error": {"type": "unknown_tool", "message": f"There is no tool {call.tool[:60]!r}."}}
            return await self._asked.ask("stage", number=call.args["number"], at=call.at, records=records)
        except ForeignFailed as failure:
            raise Unavailable(f"ClawMark's code failed at {call.tool}: {failure.says}") from failure


def given(state: State) -> Json:
    """A state as the worker takes it."""
    return {
        name: {
            "collections": state[name].plain(),
            "counts": {each: state[name].count(each) for each in state[name].collections()},
        }
        for name in state.services()
    }
