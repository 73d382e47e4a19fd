"""ClawMark for the command line: which tasks a checkout has, who begins their stages, and how they are graded.

Knows folders and errors. Does not know how its code is asked (`host`), nor how it grades (`grading`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ...events.event import Json
from ...events.log import Log
from ...worlds.clawmark import NOTICE, world_from_document, world_of
from ...worlds.clawmark.task import world_id
from ...worlds.clawmark.world import USER
from ...worlds.world import World
from ..foreign import ForeignFailed
from ..grading import Graded
from ..hosting import Hosted
from ..importing import Graders, Imported, Wanted
from .grading import grade_by_checkers
from .host import CHECKOUTS, host
from .loading import load_task
from .people import KIND
from .preflight import lacking, preflight


class ClawMark:
    name = "clawmark"

    def rebuild(self, document: dict[str, Json]) -> World:
        return world_from_document(document)

    def recognises(self, path: Path) -> bool:
        return CHECKOUTS.recognises(path)

    async def load(self, path: Path, wanted: Wanted) -> Imported:
        setup = CHECKOUTS.name(path, wanted.unsafe)
        names = [name for name in setup.checkout.tasks() if wanted.fits(world_id(name))]
        found = Imported(notes=[NOTICE, *preflight(setup.checkout, names)])
        for name in names:
            missing: list[str] = []
            try:
                found.worlds.append(world_of(await load_task(setup, name, missing)))
            except ForeignFailed as failure:
                found.problems.append(f"{world_id(name)} cannot be loaded: {failure.says}")
            found.notes += [lacking(name, missing)] if missing else []
        return found

    def coworkers(self, world: World, wanted: str, options: Mapping[str, Json]) -> Mapping[str, Json]:
        """Its user is the task's own stages, whoever plays others."""
        return {USER: {"kind": KIND}}

    def use(self, path: Path, unsafe: bool) -> None:
        CHECKOUTS.name(path, unsafe)

    def host(self, wanted: dict[str, Json]) -> AbstractAsyncContextManager[Hosted]:
        return host(wanted)

    async def grade(self, log: Log, stream: str, graders: Graders) -> Graded:
        return await grade_by_checkers(log, stream, CHECKOUTS.setup(graders.path, graders.unsafe))


importer = ClawMark()
