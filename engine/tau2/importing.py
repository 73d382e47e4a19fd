"""τ²-bench for the command line: which tasks a checkout has, who plays its users, and how it is graded.

Knows what a checkout may lack. Does not know how its code is asked (`host`), nor how it grades (`grading`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ...events.codec import from_json
from ...events.event import Json
from ...events.log import Log
from ...worlds.tau2 import from_document, world_from_document, world_of
from ...worlds.tau2.reference import USER, play_of, reference_actions, to_communicate
from ...worlds.tau2.task import world_id
from ...worlds.world import World
from ..foreign import ForeignFailed
from ..grading import Graded
from ..hosting import Hosted
from ..importing import Graders, Imported, Wanted
from .grading import grade_by_evaluators
from .host import CHECKOUTS, Setup, host, worker
from .loading import load_task


class Tau2:
    name = "tau2"

    def rebuild(self, document: dict[str, Json]) -> World:
        return world_from_document(document)

    def recognises(self, path: Path) -> bool:
        return CHECKOUTS.recognises(path)

    async def load(self, path: Path, wanted: Wanted) -> Imported:
        setup = CHECKOUTS.name(path, wanted.unsafe)
        found = Imported()
        for domain in setup.checkout.domains():
            ids = [raw["id"] for raw in setup.checkout.tasks(domain)] or [""]
            if not any(wanted.fits(world_id(domain, each)) for each in ids):
                continue
            if missing := setup.checkout.missing(domain):
                found.problems.append(f"{setup.checkout.root}: {domain} cannot be played without {', '.join(missing)}")
                continue
            if (lesser := setup.checkout.lesser(domain)) is not None:
                found.notes.append(lesser)
            await _load(setup, domain, wanted, found)
        return found

    def coworkers(self, world: World, wanted: str, options: Mapping[str, Json]) -> Mapping[str, Json]:
        """`rules`: the user does the reference actions, for the oracle's sake; else a model plays them as upstream."""
        if USER not in world.personas:
            return {}
        if wanted == "rules":
            raw = from_document(from_json(world.document)).raw
            return {USER: play_of(reference_actions(raw), to_communicate(raw)).user}
        return {USER: {"kind": "tau2-user", "model": wanted.partition(":")[2], **options}}

    def use(self, path: Path, unsafe: bool) -> None:
        CHECKOUTS.name(path, unsafe)

    def host(self, wanted: dict[str, Json]) -> AbstractAsyncContextManager[Hosted]:
        return host(wanted)

    async def grade(self, log: Log, stream: str, graders: Graders) -> Graded:
        setup = CHECKOUTS.setup(graders.path, graders.unsafe)
        return await grade_by_evaluators(log, stream, setup, graders.judge, graders.perform)


async def _load(setup: Setup, domain: str, wanted: Wanted, found: Imported) -> None:
    """Add a domain's worlds to `found`. One worker describes all of its tasks; it is begun anew after a failure."""
    waiting = [raw for raw in setup.checkout.tasks(domain) if wanted.fits(world_id(domain, raw["id"]))]
    digest = setup.checkout.digest(domain)
    while waiting:
        try:
            async with worker(setup) as asked:
                while waiting:
                    raw = waiting.pop(0)
                    try:
                        found.worlds.append(world_of(await load_task(asked, setup, domain, raw, digest=digest)))
                    except ForeignFailed as failure:
                        found.problems.append(f"{world_id(domain, raw['id'])} cannot be loaded: {failure.says}")
                        if failure.kind != "raised":
                            break
        except ForeignFailed as failure:
            # Not one task's fault: the code cannot be run here, or lacks a library.
            found.problems.append(f"{domain}: {failure.says}")
            return


importer = Tau2()
