"""Benchmarks that others wrote: how a folder of their tasks becomes worlds, and how what was played there is graded.

Knows what an importer can do, and how one is found: by a folder, by the format of a document, or by who hosts a world.
Does not know any benchmark, nor which there are (`importers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from ..agents.agent import Actor, Perform, Unavailable
from ..agents.building import build_coworkers
from ..events.event import Json
from ..events.log import Log
from ..worlds.imported import CheckoutError, Rebuilding
from ..worlds.world import World
from .foreign import ForeignFailed
from .grading import Graded, grade_episode
from .hosting import Differs, Hosting
from .importers import find_importer, importer_names
from .judging import JudgeOptions
from .plan import EpisodeError, document_of

Specifications: TypeAlias = Mapping[str, Json]
OURS = "coworkenv"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which tasks of a folder, and how."""

    only: str | None = None
    """A pattern for the ids of worlds; what cannot fit need not be loaded."""
    mode: str | None = None
    """A way of a benchmark's own to play its tasks."""
    unsafe: bool = False
    """Its code may run without a sandbox."""

    def fits(self, name: str) -> bool:
        """Whether a world of this id is wanted."""
        return self.only is None or fnmatchcase(name, self.only)


class Imported(msgspec.Struct, kw_only=True):
    """What came of a folder."""

    worlds: list[World] = []
    problems: list[str] = []
    """What is wrong with tasks that cannot be played: one sentence each, that says what to do."""
    notes: list[str] = []
    """What else is to be known: what was passed over, whose licence it is."""


class Graders(msgspec.Struct, frozen=True, kw_only=True):
    """The checkout whose code grades, and whom it may ask."""

    path: Path
    others: tuple[Path, ...] = ()
    """Checkouts of other benchmarks, for episodes of theirs. An importer is given none."""
    judge: JudgeOptions | None = None
    perform: Perform | None = None
    """Asks the judge."""
    unsafe: bool = False


class Importer(Rebuilding, Protocol):
    """All that is done for a benchmark. Nothing of a folder is run before somebody has named it. One whose worlds have
    foreign services is a `hosting.Hosting`, too."""

    def recognises(self, path: Path) -> bool:
        """Whether a path is a checkout of the benchmark, or tasks of it. Looks at names only."""
        ...

    async def load(self, path: Path, wanted: Wanted) -> Imported:
        """The worlds of its tasks; from now on this process may run that checkout's code. Raises an error with a
        sentence (CheckoutError, ForeignFailed) only where nothing at all can be done."""
        ...

    def coworkers(self, world: World, wanted: str, options: Specifications) -> Specifications | None:
        """Who plays a world's people, where `wanted` (`rules`, `model:MODEL`, `persona:MODEL`) means something of the
        benchmark's own; None where it means what it does everywhere."""
        ...

    async def grade(self, log: Log, stream: str, graders: Graders) -> Graded:
        """Grade an episode, once (see `judged`). Raises an error with a sentence where there is no grade."""
        ...


def importer_named(name: str) -> Importer | None:
    """The importer of this benchmark. Raises CheckoutError for one that cannot be loaded."""
    found: Importer | None = find_importer(name)  # type: ignore[assignment]
    return found


def importer_of(path: Path) -> Importer | None:
    """The importer of whatever a path is; None if it is no benchmark's."""
    for name in importer_names():
        importer = importer_named(name)
        if importer is not None and importer.recognises(path):
            return importer
    return None


def players(world: World, wanted: str, options: Specifications) -> dict[str, Actor]:
    """Who plays the people of a world. Raises what `build_coworkers` raises."""
    importer = importer_named(str(world.host["kind"])) if world.host else None
    own = importer.coworkers(world, wanted, options) if importer is not None else None
    if own is None:
        return build_coworkers(world, wanted, options)
    return build_coworkers(world, own)


class _Head(msgspec.Struct):
    """What is read of a world's document."""

    environment: Json = None


def benchmark_of(document: str) -> str:
    """The benchmark whose task the document of a world is; empty for an environment of ours."""
    try:
        name = str(msgspec.json.decode(document, type=_Head).environment or "").partition("/")[0]
    except msgspec.ValidationError:
        return ""  # It is no object.
    return "" if name == OURS else name


async def grade_foreign(log: Log, stream: str, graders: Graders) -> Graded | None:
    """Grade an episode by the code of the checkout that `graders` name; None where it is no imported task's.

    Raises EpisodeError where the checkout is another benchmark's, and what its importer raises.
    """
    row = log.row(stream)
    importer = importer_named(benchmark_of(document_of(list(log.read(row.id, 0, 1)))))
    if importer is None:
        return None
    path = next((path for path in (graders.path, *graders.others) if importer.recognises(path)), None)
    if path is None:
        told = " and ".join(f"{path} is {_what(path)}" for path in (graders.path, *graders.others))
        raise EpisodeError(f"episode {row.id} is of {importer.name}, and {told}")
    return await importer.grade(log, row.id, msgspec.structs.replace(graders, path=path, others=()))


def _what(path: Path) -> str:
    found = importer_of(path)
    return f"a checkout of {found.name}" if found is not None else "no checkout of a benchmark"


async def graded_or_not(log: Log, stream: str, graders: Graders) -> tuple[Graded | None, str]:
    """The grade by a benchmark's code, or by an environment's own checks where it is none's; without one, why not."""
    try:
        foreign = await grade_foreign(log, stream, graders)
        return (foreign, "") if foreign is not None else (await grade_episode(log, stream), "")
    except (EpisodeError, CheckoutError, ForeignFailed, Differs, Unavailable) as error:
        return None, str(error)


def checkout_importer(path: Path) -> Importer:
    """The importer of a path that is to be a benchmark's. Raises CheckoutError."""
    found = importer_of(path)
    if found is None:
        known = ", ".join(importer_names())
        raise CheckoutError(f"{path} is no checkout of a benchmark that is known here ({known})")
    return found


def use_checkouts(paths: Sequence[Path], unsafe: bool) -> None:
    """Let this process run the code of benchmarks' checkouts, one of each, where its worlds have services that only
    that code answers. Raises CheckoutError."""
    named: dict[str, Path] = {}
    for path in paths:
        importer = checkout_importer(path)
        if (other := named.setdefault(importer.name, path)) != path:
            raise CheckoutError(f"{other} and {path} are both checkouts of {importer.name}; name one of them")
        if isinstance(importer, Hosting):
            importer.use(path, unsafe)
