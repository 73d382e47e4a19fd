"""A ClawMark task, ready to be played: what a checkout gave, and the log stores.

Knows the task's values and which of them an agent may see. Does not know the checkout: stages and checkers stay there,
and `digest` says which they are.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import msgspec

from ...events.event import Json
from ..imported import document_of, task_from

FORMAT = "clawmark/1"


class Checker(msgspec.Struct, frozen=True):
    """One item of a rubric, and whether it passes where nobody does anything."""

    part: str
    """`stage0` and so on, or `final`."""
    id: str
    weight: Decimal
    idle: bool = False
    raised: bool = False


class Task(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """Such as `hr/task2`."""
    digest: str
    """`Checkout.digest`."""
    start: datetime
    times: tuple[datetime, ...]
    """When each stage begins."""
    prompt: str
    briefing: str = ""
    """The notes in the workspace that upstream's agent has in its context."""
    checkers: tuple[Checker, ...] = ()
    """Hidden from the agent."""
    sidecar: str = ""
    """SHA-256 of the captions and transcripts that are there for its pictures and recordings, if there are any."""

    @property
    def name(self) -> str:
        return world_id(self.id)

    def document(self) -> dict[str, Json]:
        return document_of(self, FORMAT)


def world_id(task: str) -> str:
    """The id of a task's world."""
    return f"clawmark.{task.replace('/', '.')}"


def from_document(document: Json) -> Task:
    """The task that `Task.document` gave. Raises NotATask."""
    return task_from(document, FORMAT, Task)
