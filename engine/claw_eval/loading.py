"""A task of Claw-Eval as everybody here loads it: with the PDFs of its checkout, and a user's pages in the web's place.

Knows the environment variable that names those pages. Does not know how a task, a PDF or a page is read.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...worlds.claw_eval import Mode, OfflineWeb, Task, load_task
from ...worlds.imported import CheckoutError
from .papers import Papers

WEB = "COWORKENV_WEB"
"""The environment variable that names a folder of web pages (`worlds.claw_eval.offline`)."""


class Loader:
    """Loads tasks, one after the other."""

    def __init__(self, mode: Mode = "sane", unsafe: bool = False) -> None:
        """Raises CheckoutError where the folder of pages that is named is none."""
        self.mode = mode
        self.web = _web()
        self._papers = Papers(unsafe)

    async def task(self, folder: Path) -> Task:
        """Raises TaskError for what is wrong with the task, and CheckoutError for what is wrong with the pages."""
        task = self._load(folder)
        if self._papers.waiting:
            await self._papers.read()
            task = self._load(folder)
        return task

    def _load(self, folder: Path) -> Task:
        return load_task(folder, self.mode, pages=self._papers, web=self.web)


def unread(task: Task) -> list[str]:
    """Sentences for the documents of a task that are there, and cannot be read."""
    rows = [row for service in task.services for row in service.records.get("documents", ())]
    return [f"{task.id}: {row['path']} {row['problem']}" for row in rows if "problem" in row]


def _web() -> OfflineWeb | None:
    named = os.environ.get(WEB)
    try:
        return OfflineWeb(named) if named else None
    except CheckoutError as error:
        raise CheckoutError(f"{WEB} names {error}") from None
