"""Grades at hand: the log's table of them, as plain data.

Knows the table. Does not know how a grade comes about.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...events.log import Log
from ...worlds.checks.scoring import grader_digest
from ..grading import kept_grades
from ..plan import document_of, world_from


def grades_of(log: Log, stream: str | None = None) -> dict[str, dict[str, Any]]:
    """The grade of each episode, without its checks: where others graded it too, the one by its own checks."""
    found: dict[str, list[dict[str, Any]]] = {}
    for graded in kept_grades(log, stream):
        row = msgspec.to_builtins(msgspec.structs.replace(graded, checks=()))
        del row["checks"]
        found.setdefault(graded.episode, []).append(row)
    return {name: rows[0] if len(rows) == 1 else _own(log, name, rows) for name, rows in found.items()}


def _own(log: Log, stream: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    world = world_from(document_of(list(log.read(stream, 0, 1))))
    own = grader_digest(world) if world.scoring is not None else None
    return next((row for row in rows if row["grader"] == own), rows[0])
