"""The parent's side: the checkout that was named, a worker that runs its code, and that code as a host for the kernel.

Knows rooms and workers. Does not know what is inside (`hosted`), nor what an episode is. A checkout is run only after
somebody named it, and only if it is what the world was made with.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

from ...agents.agent import Unavailable
from ...events.event import Json
from ...worlds.foreign import HostedCall
from ...worlds.imported import CheckoutError
from ...worlds.tau2.checkout import Checkout, find_checkout
from ...worlds.tau2.reference import USER
from ...worlds.tau2.task import AGENT_SIDE, USER_SIDE
from .. import checkouts
from ..foreign import Answers, ForeignFailed, Room, Worker, foreign
from .hosted import ROOT

_TARGET = "coworkenv.engine.tau2.hosted:Hosted"


Setup: TypeAlias = checkouts.Setup[Checkout]
CHECKOUTS = checkouts.Naming("τ²-bench", "COWORKENV_TAU2", find_checkout)


@asynccontextmanager
async def worker(setup: Setup, answers: Answers | None = None) -> AsyncIterator[Worker]:
    """A worker that hosts the checkout's code. Raises ForeignFailed."""
    root = setup.checkout.root
    environment = {ROOT: str(root), "TAU2_DATA_DIR": str(setup.checkout.data)}
    room = Room(reads=(setup.checkout.source, setup.checkout.data), environment=environment, seconds=setup.seconds)
    async with foreign(room, _TARGET, unsafe=setup.unsafe, answers=answers) as asked:
        yield asked


@asynccontextmanager
async def host(wanted: dict[str, Json]) -> AsyncIterator[HostedTask]:
    """The environment that a world's `host` speaks of. Raises Unavailable where it cannot be had here, or not now."""
    try:
        setup = CHECKOUTS.named()
        if setup.checkout.digest(wanted["domain"]) != wanted["digest"]:
            raise CheckoutError(
                f"the code or the data of {wanted['domain']} in {setup.checkout.root} is not what this episode was "
                "begun with; name the checkout of that time, or begin anew"
            )
        async with worker(setup) as asked:
            yield await opened(asked, wanted)
    except (CheckoutError, ForeignFailed) as error:
        raise Unavailable(str(error)) from error


async def opened(asked: Worker, wanted: dict[str, Json]) -> HostedTask:
    """A task's environment in a worker, as it is before anybody acts. Raises ForeignFailed."""
    await asked.ask(
        "open",
        domain=wanted["domain"],
        task=wanted["task"],
        options=wanted["options"],
        solo=wanted["solo"],
        service=wanted["domain"],
        user=USER,
    )
    return HostedTask(asked)


class HostedTask:
    """An environment at work: `engine.hosting.Hosted`."""

    def __init__(self, asked: Worker) -> None:
        self._asked = asked

    async def call(self, call: HostedCall) -> Json:
        side = USER_SIDE if call.actor == USER else AGENT_SIDE
        try:
            return await self._asked.ask("call", side=side, tool=call.tool, args=call.args)
        except ForeignFailed as failure:
            raise Unavailable(f"τ²-bench's code failed at {call.tool}: {failure.says}") from failure
