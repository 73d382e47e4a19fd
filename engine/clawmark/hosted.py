"""Inside the worker: one task of ClawMark, its stages and checkers called, unmodified, on records that it is given.

Knows what a `task.py` must have. Does not know how the process is confined, nor who plays. What a task puts on its
`ctx` stays between calls; records do not: each call comes with them.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import msgspec

from ...events.event import Json
from ...worlds.clawmark.tree import ROOT
from ...worlds.clawmark.world import SHELL
from ...worlds.records import ServiceRecords, State
from ...worlds.service import Instant
from ..foreign.doubles import doubles
from .files import answered
from .shell.tool import commanded
from .surface import Context, Workspace

_NOTES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "USER.md")


class BadTask(Exception):
    """A `task.py` that is none, in a sentence."""


class Hosted:
    """What the worker hosts."""

    def __init__(self) -> None:
        sys.pycache_prefix = str(Path("cache").absolute())
        self._snapshot = Path("snapshot").absolute()
        self._task: Any = None

    # --- a task --------------------------------------------------------------------------------------------

    def open(self, folder: str, start: str = "", words: str = "") -> Json:
        """Load a task, as it is before anything happens. `start` is virtual time 0, where that is known; `words` the
        folder of captions and transcripts, if there is one."""
        self._words = Path(words) if words else None
        path = Path(folder)
        spec = importlib.util.spec_from_file_location("clawmark_task", path / "task.py")
        if spec is None or spec.loader is None:
            raise BadTask(f"{path} has no task.py")
        self._task = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._task)
        metadata, rubric = self._task.METADATA, self._task.RUBRIC
        self._stages: list[Any] = []
        while stage := getattr(self._task, f"stage{len(self._stages)}", None):
            if not iscoroutinefunction(stage):
                raise BadTask(f"stage{len(self._stages)} must be an async def")
            self._stages.append(stage)
        parts = [f"stage{number}" for number in range(len(self._stages))]
        if not parts or any(part not in (*parts, "final") for part in rubric):
            raise BadTask("its rubric names stages that it does not have")
        since = datetime.fromisoformat(start) if start else datetime(2000, 1, 1).astimezone()
        self._workspace = Workspace(path, Instant(since, 0))
        self._context = Context(self._workspace, metadata["environments"], metadata.get("env_config", {}))
        checkers = [
            {"part": part, "id": each["id"], "weight": float(each.get("weight", 1.0))}
            for part in (*parts, "final")
            for each in rubric.get(part, ())
        ]
        return {"prompt": self._task.PROMPT, "stages": len(parts), "checkers": checkers}

    def notes(self) -> str:
        """The notes in the workspace that upstream's agent has in its context."""
        tree = self._workspace.tree()
        read = [(name, tree.path(name)) for name in _NOTES]
        return "\n\n".join(
            f"# {name}\n{tree.read(path).decode(errors='replace')}" for name, path in read if path in tree.files
        )

    def missing(self) -> Json:
        """Files that stages were to put into the workspace, and that are not there."""
        return list(dict.fromkeys(self._workspace.missing))

    def refused(self) -> Json:
        """Commands that stages and checkers asked for, and that are not supported."""
        return list(dict.fromkeys(self._workspace.refused))

    def stage(self, number: int, at: int, records: Json = None) -> Json:
        """What happens at the beginning of a stage. Without `records`, on what the last call left."""
        self._enter(at, records)
        told = asyncio.run(self._stages[number](self._context))
        says, when = (
            (told.get("notification", ""), told.get("time")) if isinstance(told, Mapping) else (str(told), None)
        )
        if number == 0:
            says = f"{self._task.PROMPT}\n\n{says}"
        if when:
            says += f"\n（当前时间：{when}）"
        return {"result": {"says": says, "time": when}, "changes": self._changes()}

    def check(self, part: str, at: int, records: Json = None) -> Json:
        """What the checkers of a stage, or the final ones, say of the records: passed, or raised."""
        self._enter(at, records)
        self._show()
        return [self._checked(each) for each in self._task.RUBRIC.get(part, ())]

    def _checked(self, item: dict[str, Any]) -> Json:
        try:
            return {"id": item["id"], "passed": bool(asyncio.run(item["checker"](self._context))), "raised": ""}
        except Exception as error:
            return {"id": item["id"], "passed": False, "raised": f"{type(error).__name__}: {error}"[:300]}

    def _enter(self, at: int, records: Json) -> None:
        if records is not None:
            self._workspace.state = state_of(records)
        self._workspace.now = Instant(self._workspace.now.start, at)
        self._workspace.changes = []

    def _changes(self) -> Json:
        return msgspec.to_builtins(self._workspace.changes, builtin_types=(Decimal,))

    def _show(self) -> None:
        """The files, on disk."""
        tree = self._workspace.tree()
        for path in (path for path in tree.folders if path.startswith(ROOT)):
            self._shown(path).mkdir(parents=True, exist_ok=True)
        here = {self._shown(path): path for path in tree.below(ROOT)}
        for old in [path for path in self._snapshot.rglob("*") if path.is_file() and path not in here]:
            old.unlink()
        for file, name in here.items():
            record = tree.files[name]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(tree.read(name))
            changed = self._workspace.now.start.timestamp() + record["at"] / 1_000_000
            os.utime(file, (changed, changed))
        self._context.workspace = self._snapshot

    def _shown(self, path: str) -> Path:
        return self._snapshot / path[len(ROOT) :].lstrip("/")

    # --- the agent's files ---------------------------------------------------------------------------------

    def call(self, tool: str, args: Json, at: int, records: Json) -> Json:
        """What a file tool or the shell answers, as JSON of a `HostedAnswer`."""
        self._enter(at, records)
        tree = self._workspace.tree()
        if tool == SHELL:
            answer = commanded(args, tree, self._workspace.now)
        else:
            answer = answered(tool, args, tree, self._words)
        self._workspace.apply(tree.changes())
        return {**answer, "changes": self._changes()} if self._workspace.changes else answer


def state_of(plain: Json) -> State:
    """The state that `{service: {collections, counts}}` gives."""
    return State({name: ServiceRecords(each["collections"], each["counts"]) for name, each in doubles(plain).items()})
