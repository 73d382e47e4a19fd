"""What an agent could read of what lay before it: how many PDFs, pictures, recordings, and how many of them it read.

Knows how files and calls stand in a stream. A picture that the agent opened, and of which it was told only its size, is
not read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

import msgspec

from ...events.event import AGENT, EpisodeStarted, Event, RecordChanged, RecordCreated, ToolCalled, ToolReturned
from ...worlds.clawmark.tree import NAME, ROOT
from ..documents.kinds import Kind, named

_READ, _VIEW = "read_file", "view_picture"
_PLURAL: dict[Kind, str] = {
    "pdf": "PDF",
    "spreadsheet": "spreadsheets",
    "document": "documents",
    "slides": "presentations",
    "picture": "pictures",
    "sound": "sounds",
    "video": "videos",
}


class Modality(msgspec.Struct, frozen=True):
    """The files of one kind that a task put before its agent."""

    kind: Kind
    there: int
    opened: int
    read: int
    """Opened, and there was text: its own, or somebody's words for it."""

    def __str__(self) -> str:
        opened = f" ({self.opened} opened)" if self.opened > self.read else ""
        return f"{self.read} of {self.there} {_PLURAL[self.kind]}{opened}"


def modalities(events: Sequence[Event]) -> list[Modality]:
    """One for each kind, apart from plain text, of which there were files."""
    there = dict.fromkeys(_given(events))
    opened: dict[str, bool] = {}
    for path, read in _opened(events):
        opened[path] = opened.get(path, False) or read
    found = []
    for kind in _PLURAL:
        paths = [path for path in there if named(path) == kind]
        if paths:
            tried = [opened[path] for path in paths if path in opened]
            found.append(Modality(kind, len(paths), len(tried), sum(tried)))
    return found


def _given(events: Iterable[Event]) -> Iterable[str]:
    """Files that came out of the task's folder."""
    for event in events:
        body = event.body
        if isinstance(body, RecordCreated | RecordChanged) and body.service == NAME and body.collection == "files":
            values = body.value if isinstance(body, RecordCreated) else body.set
            if "source" in values:
                yield body.key


def _opened(events: Sequence[Event]) -> Iterable[tuple[str, bool]]:
    """Files that the agent asked for, and whether it was given any text of them, or shown them."""
    started = events[0].body if events else None
    sees = isinstance(started, EpisodeStarted) and started.agent.get("pictures") is True
    for event in events:
        if isinstance(event.body, ToolReturned) and events[event.body.call].actor == AGENT:
            called = events[event.body.call].body
            path = _path(called) if isinstance(called, ToolCalled) else None
            if path is not None and isinstance(called, ToolCalled):
                result = event.body.result if isinstance(event.body.result, dict) else {}
                shown = sees and "picture" in result
                yield path, shown or bool(str(result.get("text", "")).strip())


def _path(called: ToolCalled) -> str | None:
    """The file that a call asks for; None where it asks for none."""
    written = called.args.get("path") if isinstance(called.args, dict) else None
    if called.tool not in (_READ, _VIEW) or not isinstance(written, str):
        return None
    return posixpath.normpath(posixpath.join(ROOT, written))
