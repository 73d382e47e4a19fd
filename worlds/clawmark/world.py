"""A ClawMark task as a world: the agent's services, and stages that come at their virtual times.

Knows how upstream's stage loop maps onto actors: the user (`engine.clawmark.people`) has a service of their own, whose
code is the task's. Does not know who plays.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from ...events.codec import to_json
from ...events.event import Json
from ..environment import Limits
from ..foreign import ForeignService
from ..service import Tool
from ..world import Persona, World
from .calendars import CALENDAR
from .databases import DATABASE
from .mail import MAIL
from .sheets import SHEETS
from .task import Task, from_document
from .tree import NAME as FILES

HOST, USER, STAGES, STAGE, SHELL = "clawmark", "user", "stages", "stage", "shell"
TURN = 7_200_000_000
"""Upstream's limit of the agent's turn in a stage."""
_CALL = 500_000
_AT_ONCE = 1
"""A stage's latency: what it puts before an agent is there before the agent's first call is answered."""
_DECISIONS = 100
"""Of a stage."""

_PATH = {"type": "string", "description": "A path in /workspace, where the work is done."}


def _tool(name: str, description: str, reads: bool = False, optional: Sequence[str] = (), **properties: Json) -> Tool:
    required: list[Json] = [each for each in properties if each not in optional]
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return Tool(name=name, description=description, schema=schema, reads=reads)


_SHELL = (
    "A small shell, in /workspace at each call. It has mkdir, touch, cp, mv, rm, ls, find, cat (also <<), echo, head, "
    "tail, wc, grep, md5sum, sha256sum, sqlite3, and git init, add, commit, log, show COMMIT:FILE; with | > >> && || "
    "and if. Nothing else runs here: no Python, no loops, no network."
)

FILE_TOOLS = (
    _tool("list_files", "All files in a folder and in those in it, with their sizes.", True, path=_PATH),
    _tool(
        "read_file",
        "What is in a file, as text: also of PDF, xlsx, docx and pptx, and what is said of pictures and recordings.",
        True,
        optional=("start",),
        path=_PATH,
        start={"type": "integer", "description": "The character to begin with, where a text was too long: its `next`."},
    ),
    _tool("view_picture", "Look at a picture, if you can be shown any: PNG, JPEG, GIF or WebP.", True, path=_PATH),
    _tool("write_file", "Write a text file, and the folders that it takes.", path=_PATH, text={"type": "string"}),
    _tool(SHELL, _SHELL, command={"type": "string", "description": "One line or several, as for bash."}),
)
_STAGE = _tool(STAGE, "What happens at the beginning of a stage.", number={"type": "integer"})


def world_of(task: Task) -> World:
    """The world of a task. Its grade is given by its own checkers (`engine.clawmark.grading`)."""
    stages = len(task.times)
    last = (task.times[-1] - task.start) // timedelta(microseconds=1)
    return World(
        id=task.name,
        document=to_json(task.document()).decode(),
        start=task.start,
        services=(
            ForeignService(name=FILES, tools=FILE_TOOLS),
            MAIL,
            DATABASE,
            SHEETS,
            CALENDAR,
            ForeignService(name=STAGES, tools=(_STAGE,)),
        ),
        owners={STAGES: USER},
        host={
            "kind": HOST,
            "task": task.id,
            "digest": task.digest,
            "start": task.start.isoformat(),
            "remembers": [STAGES],
            **({"sidecar": task.sidecar} if task.sidecar else {}),
        },
        personas={USER: Persona(text="", language="en", rounds=stages, suffix=task.briefing)},
        call=_CALL,
        latencies={STAGE: _AT_ONCE},
        deadline=last + (stages + 1) * TURN,
        on_text="round",
        talks=False,
        limits=Limits(decisions=_DECISIONS * stages),
    )


def world_from_document(document: dict[str, Json]) -> World:
    """The world that `world_of` gave. Raises NotATask."""
    return world_of(from_document(document))
