"""A Claw-Eval task, ready to be played: what the importer makes and the log stores.

Knows the task's values and which of them an agent may see. Does not know the folder they came from: `document` holds
everything, fixtures included, and `from_document` makes the same task of it anywhere.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from ...events.event import Json
from ..imported import document_of, task_from
from ..service import Tool
from ..world import Persona
from .endpoint import Mode
from .service import ClawEvalService

FORMAT = "claw-eval/1"


class Attachment(msgspec.Struct, frozen=True):
    """A file that belongs to the request. At most one of `text` and `base64`; neither, if there is a `problem`."""

    path: str
    mime: str
    text: str | None = None
    base64: str | None = None
    problem: str = ""
    """Why it is not here."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of a task that can be played, and, kept from the agent, what graders need."""

    id: str
    name: str
    prompt: str
    language: str
    mode: Mode
    start: datetime
    """Virtual time 0, with an offset."""
    services: tuple[ClawEvalService, ...]
    offered: tuple[str, ...]
    """Names of the tools, in the order of the file."""
    max_turns: int
    timeout_seconds: int
    attachments: tuple[Attachment, ...] = ()
    persona: Persona | None = None
    """The simulated user, whom only a model can play. Hidden from the agent, but for its `suffix`."""
    labels: dict[str, Json] = {}
    """`version`, `category`, `difficulty`, `tags`."""
    grading: dict[str, Json] = {}
    """Rubrics, reference solution and checks. Hidden from the agent."""

    @property
    def request(self) -> str:
        """The first message: the prompt, and attached documents as upstream writes them."""
        documents = [
            f"[attached document: {file.path.rpartition('/')[2]}]\n{file.text.strip()}"
            for file in self.attachments
            if file.text is not None
        ]
        return "\n".join([self.prompt, *documents])

    @property
    def tools(self) -> tuple[Tool, ...]:
        by_name = {tool.name: tool for service in self.services for tool in service.tools}
        return tuple(by_name[name] for name in self.offered)

    @property
    def missing(self) -> tuple[str, ...]:
        """Attachments that the folder does not have."""
        return tuple(file.path for file in self.attachments if file.problem)

    def agent_view(self) -> dict[str, Json]:
        """All that an agent is told before it starts."""
        return {
            "request": self.request,
            "attachments": [{"path": file.path, "mime": file.mime} for file in self.attachments],
            "tools": [
                {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in self.tools
            ],
            "suffix": self.persona.suffix if self.persona else "",
        }

    def document(self) -> dict[str, Json]:
        """The whole task as one JSON value."""
        return document_of(self, FORMAT)


def from_document(document: Json) -> Task:
    """The task that `Task.document` gave. Raises NotATask."""
    return task_from(document, FORMAT, Task)
