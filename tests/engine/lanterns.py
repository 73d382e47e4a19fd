"""A benchmark of another package: lanterns, lit by code of its own, whose every task is a file `NAME.lantern.json`.

As small as an importer with foreign services can be. Its code counts the calls that it remembers, in this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from coworkenv.agents.agent import Unavailable
from coworkenv.engine.checkouts import Naming
from coworkenv.engine.grading import Graded, ended
from coworkenv.engine.importing import Graders, Imported, Wanted
from coworkenv.engine.judged import Gradings, kept, task_of
from coworkenv.engine.replay import state_after
from coworkenv.events.codec import to_json
from coworkenv.events.coherence import events_of
from coworkenv.events.event import CheckGraded, Json
from coworkenv.events.log import Log
from coworkenv.worlds.environment import Person
from coworkenv.worlds.foreign import ForeignService, HostedCall
from coworkenv.worlds.imported import CheckoutError, document_of, task_from
from coworkenv.worlds.service import Tool
from coworkenv.worlds.world import Opening, World

FORMAT = "lanterns/1"


class Task(msgspec.Struct, frozen=True):
    id: str
    oil: int
    digest: str = ""


class Checkout(msgspec.Struct, frozen=True):
    root: Path

    def digest(self, task: str) -> str:
        return sha256((self.root / f"{task}.lantern.json").read_bytes()).hexdigest()


def find_checkout(path: Path | str) -> Checkout:
    if not any(Path(path).glob("*.lantern.json")):
        raise CheckoutError(f"{path} has no lanterns")
    return Checkout(Path(path))


CHECKOUTS = Naming("Lanterns", "LANTERNS", find_checkout)


class Lamp:
    """The foreign code: it can be lit as often as there is oil."""

    def __init__(self, oil: int) -> None:
        self._oil, self._lit = oil, 0

    async def call(self, call: HostedCall) -> Json:
        self._lit += 1
        if self._lit > self._oil:
            return {"error": {"type": "dark", "message": "There is no oil left."}}
        changed = {"type": "record.changed", "service": "lamp", "collection": "lamps", "key": "one"}
        return {"result": f"lit {self._lit}", "changes": [{**changed, "set": {"lit": self._lit}}]}


def task_from_document(document: Json) -> Task:
    return task_from(document, FORMAT, Task)


def world_of(task: Task) -> World:
    return World(
        id=f"lanterns.{task.id}",
        document=to_json(document_of(task, FORMAT)).decode(),
        start=datetime(2026, 1, 5, 18, tzinfo=UTC),
        services=(
            ForeignService(
                name="lamp", tools=(Tool("light", "Light it.", {}),), records={"lamps": {"one": {"lit": 0}}}
            ),
        ),
        host={"kind": "lanterns", "task": task.id, "oil": task.oil, "digest": task.digest},
        people={"keeper": Person(role="keeps the lamps")},
        openings=(Opening("keeper", "It is dark."),),
        on_text="finish",
    )


class Lanterns:
    name = "lanterns"

    def recognises(self, path: Path) -> bool:
        return CHECKOUTS.recognises(path)

    async def load(self, path: Path, wanted: Wanted) -> Imported:
        checkout = CHECKOUTS.name(path, wanted.unsafe).checkout
        found = Imported()
        for file in sorted(checkout.root.glob("*.lantern.json")):
            task = msgspec.json.decode(file.read_bytes(), type=Task)
            found.worlds.append(world_of(msgspec.structs.replace(task, digest=checkout.digest(task.id))))
        return found

    def rebuild(self, document: dict[str, Json]) -> World:
        return world_of(task_from_document(document))

    def coworkers(self, world: World, wanted: str, options: Mapping[str, Json]) -> None:
        return None

    def use(self, path: Path, unsafe: bool) -> None:
        CHECKOUTS.name(path, unsafe)

    @asynccontextmanager
    async def host(self, wanted: dict[str, Json]) -> AsyncIterator[Lamp]:
        try:
            if CHECKOUTS.named().checkout.digest(wanted["task"]) != wanted["digest"]:
                raise CheckoutError("another oil burns here")
        except CheckoutError as error:
            raise Unavailable(str(error)) from error
        yield Lamp(wanted["oil"])

    async def grade(self, log: Log, stream: str, graders: Graders) -> Graded:
        row = ended(log, stream)
        events = events_of(log, row.id)
        task = task_of(row, events, task_from_document, "Lanterns")
        digest = sha256(FORMAT.encode()).hexdigest()
        if (found := kept(log, row, digest)) is not None:
            return found
        lit = state_after(world_of(task), events)["lamp"]["lamps"]["one"]["lit"]
        async with Gradings(log, row, digest, "coworkenv", graders.perform) as gradings:
            check = CheckGraded(check="lit", passed=lit > 0, weight=1, says=f"lit {lit} times")
            return await gradings.end((check,), str(int(lit > 0)), lit > 0)


importer = Lanterns()
