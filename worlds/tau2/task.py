"""A τ² task, ready to be played: what a checkout gave, and the log stores.

Knows the task's values and which of them an agent may see. Does not know the checkout: `document` holds everything,
the database as it is at the start included, and `from_document` makes the same task of it anywhere.
"""

from __future__ import annotations

import msgspec

from ...events.event import Json
from ..imported import document_of, task_from
from ..service import Tool
from .layout import Part

FORMAT = "tau2/1"

AGENT_SIDE, USER_SIDE = "assistant", "user"
"""Upstream's names of the two who act."""


GREETING = "Hi! How can I help you today?"
"""The line with which upstream's agent opens a conversation. The module that has it wants too much to be imported."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What one of the two who act has: tools, and a database unless it is the other's."""

    tools: tuple[Tool, ...] = ()
    layout: tuple[Part, ...] = ()
    records: dict[str, dict[str, dict[str, Json]]] = {}


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of a task that can be played, and, kept from the agent, what its grade needs."""

    id: str
    domain: str
    digest: str
    """Of the code and the data that it is played with: `Checkout.digest`."""
    raw: dict[str, Json]
    """The task as its file has it. Hidden from the agent."""
    options: dict[str, Json] = {}
    """What the domain's constructor is given besides."""
    solo: bool = False
    """The agent works alone, from a ticket, with both sides' tools."""
    turns: bool = True
    """The two speak in turn, as upstream. Otherwise both write when they like, and the agent says when it is over."""
    prompt: str
    """What upstream's own agent is told: instructions and policy."""
    scenario: str = ""
    """What upstream's own user simulator is told. Hidden from the agent."""
    agent: Side
    user: Side = Side()

    @property
    def name(self) -> str:
        return world_id(self.domain, self.id) + (".solo" if self.solo else "" if self.turns else ".free")

    def document(self) -> dict[str, Json]:
        """The whole task as one JSON value."""
        return document_of(self, FORMAT)


def world_id(domain: str, task: str) -> str:
    """The id of a task's world, as it is played unless somebody says otherwise."""
    return f"tau2.{domain}.{task}".replace("@", "_")


def from_document(document: Json) -> Task:
    """The task that `Task.document` gave. Raises NotATask."""
    return task_from(document, FORMAT, Task)
