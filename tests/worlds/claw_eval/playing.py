"""Plays calls against Claw-Eval services without a kernel, and writes small task folders.

Each call makes the events that a kernel would append: the call, the records it changed, its return, all at one instant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from coworkenv.events.event import Event, ToolCalled, ToolReturned
from coworkenv.worlds.claw_eval.kinds import KINDS
from coworkenv.worlds.claw_eval.service import ClawEvalService
from coworkenv.worlds.claw_eval.task import Task
from coworkenv.worlds.records import initial_state
from coworkenv.worlds.service import Instant, Outcome, Tool

Json = Any

SHARED = Path(__file__).parents[3].parent / "shared" / "claw-eval"


class Draws:
    """Randomness that was decided before: fractions one after the other, and always the same index."""

    def __init__(self, fractions: Sequence[float] = (), index: int = 0) -> None:
        self.fractions, self.index = list(fractions), index

    def fraction(self) -> float:
        return self.fractions.pop(0) if self.fractions else 0.999

    def below(self, n: int) -> int:
        return self.index % n


class Play:
    """An episode of nothing but tool calls."""

    def __init__(self, task: Task, draw: Draws | None = None) -> None:
        self.task, self.draw = task, draw or Draws()
        self.state = initial_state(record for service in task.services for record in service.initial())
        self.events: list[Event] = []
        self.at = 0

    def service_of(self, tool: str) -> ClawEvalService:
        for service in self.task.services:
            if tool in service.routes or tool in [each.name for each in service.tools]:
                return service
        raise AssertionError(f"no service has {tool}")

    def __call__(self, tool: str, args: Json = None, **more: Json) -> Outcome:
        service = self.service_of(tool)
        args = more if args is None else args
        outcome = service.call(tool, args, self.state[service.name], Instant(self.task.start, self.at), self.draw)
        call = self._emit(None, ToolCalled(tool, args))
        for change in outcome.changes:
            self._emit(call, change)
            self.state = self.state.apply(change)
        self._emit(call, ToolReturned(call, outcome.result, outcome.error, outcome.status))
        return outcome

    def _emit(self, cause: int | None, body: Any) -> int:
        self.events.append(Event(len(self.events), self.at, "agent", cause, body))
        return len(self.events) - 1


def serving(
    kind: str,
    records: dict[str, list[dict[str, Json]]],
    mode: str = "sane",
    routes: dict[str, str] | None = None,
    **more: Json,
) -> ClawEvalService:
    """A service of `kind`, each of whose endpoints is a tool named by its path; `phantom` leads nowhere."""
    if routes is None:
        routes = {endpoint.path: endpoint.path for endpoint in KINDS[kind].endpoints} | {"phantom": f"/{kind}/phantom"}
    tools = tuple(Tool(name, "", {}) for name in routes)
    return ClawEvalService(name=kind, kind=kind, mode=mode, tools=tools, routes=routes, records=records, **more)


def task_of(services: Iterable[ClawEvalService], start: Any, mode: str = "sane") -> Task:
    services = tuple(services)
    return Task(
        id="T900_sample",
        name="sample",
        prompt="Do it.",
        language="en",
        mode=mode,
        start=start,
        services=services,
        offered=tuple(tool.name for service in services for tool in service.tools),
        max_turns=20,
        timeout_seconds=300,
    )


def read(path: Path) -> Json:
    return json.loads(path.read_text(), parse_float=Decimal)
