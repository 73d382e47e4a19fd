"""Which service answers which tool.

Knows the names of a world's tools. Does not know what any of them does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..events.event import ToolError
from .service import Outcome, Service, Tool
from .spelling import nearest


class Routes:
    """The tools of a world's services, in their order."""

    def __init__(self, services: Sequence[Service]) -> None:
        self.tools: tuple[Tool, ...] = tuple(tool for service in services for tool in service.tools)
        self._services: dict[str, Service] = {}
        for service in services:
            for tool in service.tools:
                self._services.setdefault(tool.name, service)

    def service(self, tool: str) -> Service | None:
        return self._services.get(tool)

    def unknown(self, tool: str) -> Outcome:
        """What an agent is told that calls a tool there is none of."""
        near = nearest(tool[:100], self._services)
        hint = f" Did you mean {near}?" if near else ""
        return Outcome(error=ToolError(type="unknown_tool", message=f"There is no tool {tool[:100]!r}.{hint}"))
