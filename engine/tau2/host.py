"""The parent's side: the checkout that was named, a worker that runs its code, and that code as a host for the kernel.

Knows rooms and workers. Does not know what is inside (`hosted`), nor what an episode is. A checkout is run only after
somebody named it, and only if it is what the world was made with.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ...agents.agent import Unavailable
from ...events.event import Json
from ...worlds.foreign import HostedCall
from ...worlds.imported import CheckoutError
from ...worlds.tau2.checkout import Checkout, find_checkout
from ...worlds.tau2.reference import USER
from ...worlds.tau2.task import AGENT_SIDE, USER_SIDE
from ..foreign import Answers, ForeignFailed, Room, Worker, foreign
from .hosted import ROOT

VARIABLE = "COWORKENV_TAU2"
"""The environment variable that names a checkout to those who have not named one otherwise."""

_TARGET = "coworkenv.engine.tau2.hosted:Hosted"


class Setup(msgspec.Struct, frozen=True):
    """A checkout that may be run, and how."""

    checkout: Checkout
    unsafe: bool = False
    """Without a sandbox."""
    seconds: float = 120.0
    """That one answer of its code may take."""


_named: list[Setup] = []


def name_checkout(path: Path | str, unsafe: bool = False) -> Setup:
    """Have this process run the checkout at `path` from now on. Raises CheckoutError."""
    setup = Setup(checkout=find_checkout(path), unsafe=unsafe)
    _named[:] = [setup]
    return setup


def named_checkout() -> Setup:
    """The checkout that was named, to this process or to its environment. Raises CheckoutError."""
    if _named:
        return _named[0]
    path = os.environ.get(VARIABLE)
    if not path:
        raise CheckoutError(
            f"τ²-bench's code is in a checkout of yours; name it with the environment variable {VARIABLE}"
        )
    return Setup(checkout=find_checkout(path))


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
        setup = named_checkout()
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
