"""A Claw-Eval task as a world: who asks, how turns work, what time everything takes.

Knows how upstream's turn-based loop maps onto virtual time. Does not know who plays.
"""

from __future__ import annotations

from ...events.codec import to_json
from ...events.event import Json
from ..environment import Limits, Person
from ..world import Opening, Picture, World
from .task import Task, from_document

USER = "user"
_CALL = 500_000
"""Latency of a tool call: upstream's services answer at once, but not in no time."""
_LARGEST = -(-(5 << 20) // 3) * 4
"""Characters in base64 of a picture that servers take: 5 MiB."""


def world_of(task: Task) -> World:
    """The world of a task. It has no grader of its own here.

    A persona takes turns with the agent (`round`); where nobody plays it, as for tasks that have none, the first answer
    without a call ends the episode, as upstream. A turn is a decision; upstream's time limit is the deadline.
    """
    return World(
        id=task.id if task.mode == "sane" else f"{task.id}@{task.mode}",
        document=to_json(task.document()).decode(),
        start=task.start,
        services=task.services,
        people={} if task.persona else {USER: Person(role="the user")},
        personas={USER: task.persona} if task.persona else {},
        openings=(Opening(USER, task.request),),
        pictures=tuple(
            Picture(file.path.rpartition("/")[2], file.mime, file.base64)
            for file in task.attachments
            if file.mime.startswith("image/") and file.base64 and len(file.base64) <= _LARGEST
        ),
        call=_CALL,
        deadline=task.timeout_seconds * 1_000_000,
        on_text="round" if task.persona else "finish",
        talks=False,
        limits=Limits(decisions=task.max_turns),
    )


def world_from_document(document: dict[str, Json]) -> World:
    """The world that `world_of` gave. Raises NotATask."""
    return world_of(from_document(document))
