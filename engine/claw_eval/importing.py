"""Claw-Eval for the command line: what a path to its tasks means, and how what was played there is graded.

Knows folders and errors. Does not know how a task is read (`worlds.claw_eval`), nor how it is graded (`grading`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from ...events.event import Json
from ...events.log import Log
from ...worlds.claw_eval import (
    ClawEvalService,
    Mode,
    TaskError,
    world_from_document,
    world_of,
)
from ...worlds.claw_eval.checkout import find_checkout
from ...worlds.claw_eval.needs import lacks
from ...worlds.claw_eval.web import LIVE
from ...worlds.imported import CheckoutError
from ...worlds.world import World
from ..grading import Graded
from ..importing import Graders, Imported, Wanted
from .grading import grade_by_its_grader
from .loading import WEB, Loader, unread
from .scoring import Setup

TASK = "task.yaml"
_SHOWN = 3
"""Tasks in a sentence."""


class ClawEval:
    name = "claw-eval"

    def rebuild(self, document: dict[str, Json]) -> World:
        return world_from_document(document)

    def recognises(self, path: Path) -> bool:
        return _task(path) is not None or _tasks(path) is not None

    async def load(self, path: Path, wanted: Wanted) -> Imported:
        loader = Loader(_mode(wanted.mode), wanted.unsafe)
        found = Imported(notes=_passed_over(path))
        for folder in _folders(path):
            try:
                task = await loader.task(folder)
            except TaskError as error:
                found.problems.append(str(error))
                continue
            found.worlds.append(world_of(task))
            found.notes += unread(task) if wanted.fits(found.worlds[-1].id) else []
        found.notes += _lacking(path, wanted) + _webless(found.worlds, wanted, loader)
        return found

    def coworkers(self, world: World, wanted: str, options: Mapping[str, Json]) -> None:
        return None

    async def grade(self, log: Log, stream: str, graders: Graders) -> Graded:
        setup = Setup(checkout=find_checkout(graders.path), unsafe=graders.unsafe)
        return await grade_by_its_grader(log, stream, setup, graders.judge, graders.perform)


def _mode(name: str | None) -> Mode:
    for mode in get_args(Mode):
        if mode == (name or "sane"):
            found: Mode = mode
            return found
    raise CheckoutError(f"Claw-Eval's services have no mode {name!r}; there are {', '.join(get_args(Mode))}")


def _folders(path: Path) -> list[Path]:
    """Those of all tasks that a path means. Raises CheckoutError."""
    if (alone := _task(path)) is not None:
        return [alone]
    folder = _tasks(path)
    if folder is None:
        raise CheckoutError(f"{path} has no {TASK} in it")
    return sorted(each for each in folder.iterdir() if (each / TASK).exists())


def _passed_over(path: Path) -> list[str]:
    folder = _tasks(path) if _task(path) is None else None
    without = 0 if folder is None else sum(each.is_dir() and not (each / TASK).exists() for each in folder.iterdir())
    return [f"{without} folder{'s have' if without > 1 else ' has'} no {TASK} in {folder}"] if without else []


def _webless(worlds: Sequence[World], wanted: Wanted, loader: Loader) -> list[str]:
    """What is to be known of the wanted worlds with services that search the live web."""
    live = [
        service
        for world in worlds
        if wanted.fits(world.id)
        for service in world.services
        if isinstance(service, ClawEvalService) and service.kind in LIVE
    ]
    if loader.mode == "upstream":
        return [f"{WEB} changes nothing in the mode upstream"] if live and loader.web is not None else []
    without = sum(not service.records.get("pages") and "recorded" not in service.records for service in live)
    if not without:
        return []
    tasks = f"{without} task{' searches' if without == 1 else 's search'} the live web"
    if loader.web is not None:
        return [f"{tasks}, and {loader.web.root} has no index for {'it' if without == 1 else 'them'}"]
    return [f"{tasks}, which is not here; {WEB}=FOLDER names pages of yours in its place"]


def _lacking(path: Path, wanted: Wanted) -> list[str]:
    """A sentence for the wanted tasks of which the checkout lacks files, if there are any."""
    folder = _tasks(path)
    folders = [path] if folder is None else sorted(each for each in folder.iterdir() if wanted.fits(each.name))
    found = []
    for each in folders:
        with contextlib.suppress(CheckoutError):  # What is no task has been said already.
            if (task := _task(each)) is not None and (names := lacks(task)):
                found.append(f"{task.name} ({names[0]}{', …' if len(names) > 1 else ''})")
    if not found:
        return []
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return [f"the checkout lacks files of {', '.join(found[:_SHOWN])}{more}; nobody can read what is not there"]


def _task(path: Path) -> Path | None:
    """The folder of the one task that a path means."""
    if path.name == TASK:
        return path.parent
    return path if (path / TASK).exists() else None


def _tasks(path: Path) -> Path | None:
    """The folder of all tasks that a path means."""
    for folder in (path, path / "tasks"):
        if folder.is_dir() and any((child / TASK).exists() for child in folder.iterdir() if child.is_dir()):
            return folder
    return None


importer = ClawEval()
