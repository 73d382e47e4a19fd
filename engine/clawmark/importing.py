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
from .loading import Noted, rehearse
from .people import KIND
from .preflight import lacking, libraries, without_commands, without_files
from .sidecar import untold


class ClawMark:
    name = "clawmark"

    def rebuild(self, document: dict[str, Json]) -> World:
        return world_from_document(document)

    def recognises(self, path: Path) -> bool:
        return CHECKOUTS.recognises(path)

    async def load(self, path: Path, wanted: Wanted) -> Imported:
        setup = CHECKOUTS.name(path, wanted.unsafe)
        names = [name for name in setup.checkout.tasks() if wanted.fits(world_id(name))]
        found = Imported(notes=[NOTICE, *libraries(setup.checkout, names)])
        absent = lacking(setup.checkout, names)
        for name in names:
            found.notes += untold(name)
            noted = Noted()
            try:
                task, noted = await rehearse(setup, name)
                found.worlds.append(world_of(task))
            except ForeignFailed as failure:
                found.problems.append(f"{world_id(name)} cannot be loaded: {failure.says}")
            files = sorted({*absent.get(name, ()), *noted.missing})
            found.notes += [*without_files(name, files), *without_commands(name, noted.refused)]
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
