"""Hosting: the code of foreign services, run beside an episode and asked by its kernel.

Knows that such code remembers what it was asked: before its first new call, after a break or a fork, it is driven again
through all that the log answers, and must answer the same. Does not know the code itself, nor workers: the importer of
a world makes its own (`Hosting`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import msgspec
import trio

from ..agents.agent import Unavailable
from ..events.codec import to_json
from ..events.event import EffectRequested, EffectResolved, Event, Json, ToolCalled
from ..worlds.foreign import HostedAnswer, HostedCall
from ..worlds.records import State
from ..worlds.service import Outcome, RecordEvent
from ..worlds.world import World
from .importers import find_importer


class Host(Protocol):
    """Answers the calls of one episode to its foreign services, in their order."""

    def know(self, call: HostedCall, answer: Json) -> None:
        """Hear of a call that the log answers."""
        ...

    async def answer(self, call: HostedCall) -> Json:
        """The answer to a new call, as JSON of a `HostedAnswer`. Raises Unavailable, or Differs."""
        ...


class Hosted(Protocol):
    """Foreign code at work, as it is before its first call."""

    async def call(self, call: HostedCall) -> Json:
        """Raises Unavailable where the code fails to answer."""
        ...


Opener: TypeAlias = Callable[[], AbstractAsyncContextManager[Hosted]]
"""Brings foreign code up, and ends it."""


@runtime_checkable
class Hosting(Protocol):
    """What the importer of worlds with foreign services can do beside all that importers can (`importing.Importer`).
    It is found by its name, which is the `kind` of their `World.host`."""

    def use(self, path: Path, unsafe: bool) -> None:
        """From now on this process may run the code of the checkout at `path`. Raises CheckoutError."""
        ...

    def host(self, wanted: dict[str, Json]) -> AbstractAsyncContextManager[Hosted]:
        """The code that a world's `host` speaks of. Raises Unavailable where it cannot be had here, or not now."""
        ...


class NoCode(Unavailable):
    """A world's foreign code is not to be had, before it has answered anything: somebody has to name it."""


class Unhosted(Exception):
    """There is nothing here that hosts a world's foreign services."""


class Differs(Exception):
    """Foreign code, driven again, answers otherwise than the log has it; or its answer fits no record."""


def host_of(world: World, nursery: trio.Nursery, whole: bool = False) -> Driven | None:
    """The host of a world's foreign services, for one episode; None where it has none. Its code starts with the first
    call that the log does not answer, and ends with `nursery`. It is driven again through calls to those services that
    its code remembers (`remembers`), or with `whole` through all. Raises Unhosted."""
    kind = world.host.get("kind")
    if kind is None:
        return None
    importer = find_importer(str(kind))
    if not isinstance(importer, Hosting):
        raise Unhosted(
            f"{world.id} has services of {kind!r:.60}, and nothing here hosts them; install the package of its importer"
        )
    return Driven(lambda: importer.host(world.host), nursery, None if whole else world.host.get("remembers"))


async def drive_again(world: World, events: Sequence[Event], nursery: trio.Nursery) -> None:
    """Have fresh code do all that an episode asked of a world's foreign services. Raises Differs at the first answer
    that is another than in the log, Unavailable where there is no code to be had, and Unhosted."""
    host = host_of(world, nursery, whole=True)
    if host is None:
        return
    state = world.state
    for event in events:
        if isinstance(event.body, RecordEvent):
            state = state.apply(event.body)
        asked = events[event.body.effect] if isinstance(event.body, EffectResolved) else None
        if asked is None or not isinstance(asked.body, EffectRequested) or asked.body.kind != "foreign":
            continue
        call = events[asked.cause or 0]
        assert isinstance(call.body, ToolCalled)
        service = world.routes.service(call.body.tool, call.actor)
        assert service is not None
        assert isinstance(event.body, EffectResolved)
        made = HostedCall(call.actor, service.name, call.body.tool, call.body.args, event.at, state)
        host.know(made, event.body.answer)
    await host.catch_up()


class Driven:
    """A host that brings fresh code to where the log is."""

    def __init__(
        self,
        opener: Opener,
        nursery: trio.Nursery,
        remembers: Sequence[str] | None = None,
    ) -> None:
        """`remembers` names the services whose calls the code remembers; all, unless given."""
        self._remembers = remembers
        self._opener = opener
        self._nursery = nursery
        self._hosted: Hosted | None = None
        self._behind: list[tuple[HostedCall, Json]] = []
        """What the log answers, and the code has not done."""

    def know(self, call: HostedCall, answer: Json) -> None:
        if self._remembers is None or call.service in self._remembers:
            self._behind.append((call, answer))

    async def answer(self, call: HostedCall) -> Json:
        hosted = await self.catch_up()
        return await hosted.call(call)

    async def catch_up(self) -> Hosted:
        """The code, when it has done all that the log answers. Raises Differs at the first answer that is another, and
        NoCode where there is none to be had."""
        if self._hosted is None:
            try:
                self._hosted = await self._nursery.start(self._serve)
            except Unavailable as unavailable:
                raise NoCode(str(unavailable)) from unavailable
        hosted: Hosted = self._hosted
        for number, (call, answer) in enumerate(self._behind, 1):
            found = await hosted.call(call)
            if to_json(found) != to_json(answer):
                raise Differs(
                    f"driven again, {call.tool} (call {number} to foreign code) answers {_short(found)}, "
                    f"and the log has {_short(answer)}; its code or its data may have changed"
                )
        self._behind.clear()
        return hosted

    async def _serve(self, task_status: trio.TaskStatus[Hosted]) -> None:
        async with self._opener() as hosted:
            task_status.started(hosted)
            await trio.sleep_forever()


def _short(value: Json) -> str:
    text = to_json(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}…"


def hosted_digest(call: HostedCall) -> str:
    """SHA-256 of the whole request, hexadecimal."""
    return sha256(to_json(["foreign", call.actor, call.service, call.tool, call.args])).hexdigest()


def fitting(answered: EffectResolved, world: World, state: State) -> Outcome:
    """The outcome that an answer gives, its record events sure to fit `state`. Raises Differs."""
    try:
        outcome = msgspec.convert(answered.answer, HostedAnswer).outcome()
        state.apply(*outcome.changes)
    except (msgspec.ValidationError, KeyError) as error:
        raise Differs(f"what foreign code answered cannot be taken: {type(error).__name__}: {error}") from None
    known = {service.name for service in world.services}
    for change in outcome.changes:
        if change.service not in known:
            raise Differs(f"foreign code changed records of {change.service!r:.60}, and there is no such service")
    return outcome
