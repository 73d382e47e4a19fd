"""Claw-Eval for the command line: what a path to its tasks means, and how what was played there is graded.

Knows folders and errors. Does not know how a task is read (`worlds.claw_eval`), nor how it is graded (`grading`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from ...events.event import Json
from ...events.log import Log
from ...worlds.claw_eval import Mode, load_task, load_tasks, world_from_document, world_of
from ...worlds.claw_eval.checkout import find_checkout
from ...worlds.claw_eval.needs import lacks
from ...worlds.imported import CheckoutError
from ...worlds.world import World
from ..grading import Graded
from ..importing import Graders, Imported, Wanted
from .grading import grade_by_its_grader
from .papers import Papers
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
        mode, papers = _mode(wanted.mode), Papers(wanted.unsafe)
        found = _loaded(path, mode, papers)
        if papers.waiting:
            told = await papers.read()
            found = _loaded(path, mode, papers)
            found.notes += told
        found.notes += _lacking(path, wanted)
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


def _loaded(path: Path, mode: Mode, papers: Papers) -> Imported:
    """All that a path means. Raises CheckoutError."""
    alone = _task(path)
    if alone is not None:
        return Imported(worlds=[world_of(load_task(alone, mode, pages=papers))])
    folder = _tasks(path)
    if folder is None:
        raise CheckoutError(f"{path} has no {TASK} in it")
    tasks, errors = load_tasks(folder, mode, pages=papers)
    without = sum(child.is_dir() and not (child / TASK).exists() for child in folder.iterdir())
    note = f"{without} folder{'s have' if without > 1 else ' has'} no {TASK} in {folder}"
    return Imported(
        worlds=[world_of(task) for task in tasks],
        problems=[str(error) for error in errors],
        notes=[note] if without else [],
    )


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
