"""The PDFs of a checkout's tasks, each read in a worker of its own, before anything is played.

Knows that loading asks for pages while nothing can be awaited: what it asks for in vain is noted, read, and there when
it asks again. What is read becomes part of a task, so a log needs neither the file nor the library.
"""

from __future__ import annotations

from pathlib import Path

from ...events.event import Json
from ...worlds.claw_eval.fixtures import Unread
from ..foreign import ForeignFailed, Room, foreign

_TARGET = "coworkenv.engine.documents.hosted:Reader"
_SECONDS = 120.0


class Papers:
    """Pages by path: `worlds.claw_eval.fixtures.Pages`."""

    def __init__(self, unsafe: bool) -> None:
        self._unsafe = unsafe
        self._read: dict[Path, list[str] | Unread] = {}
        self.waiting: dict[Path, None] = {}
        """What was asked for, and is not read yet."""

    def __call__(self, path: Path) -> list[str] | Unread | None:
        if path not in self._read:
            self.waiting[path] = None
        return self._read.get(path)

    async def read(self) -> None:
        """Read all that is waiting."""
        for path in self.waiting:
            self._read[path] = await self._pages(path)
        self.waiting.clear()

    async def _pages(self, path: Path) -> list[str] | Unread:
        try:
            async with foreign(Room(reads=(path,), seconds=_SECONDS), _TARGET, unsafe=self._unsafe) as reader:
                answer: Json = await reader.ask("pages", path=str(path))
        except ForeignFailed as failure:
            return Unread(f"cannot be read: {failure.says}")
        if "says" in answer:
            return Unread(str(answer["says"]))
        if len(answer["pages"]) < answer["count"]:
            return Unread(f"has {answer['count']} pages, and at most {len(answer['pages'])} of them can be read.")
        return [str(page) for page in answer["pages"]]
