"""Which service answers which tool, and who may call it.

Knows the names of a world's tools and whose they are. Does not know what any of them does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..events.event import AGENT, ToolError
from .foreign import ForeignService
from .service import Outcome, Service, Tool
from .spelling import nearest


class Routes:
    """The tools of a world's services, in their order. `owners` are those who have a service for themselves alone."""

    def __init__(self, services: Sequence[Service], owners: Mapping[str, str] | None = None) -> None:
        owners = owners or {}
        self.tools: tuple[Tool, ...] = tuple(tool for service in services for tool in service.tools)
        self._services: dict[str, Service] = {}
        self._own: dict[str, dict[str, Service]] = {owner: {} for owner in owners.values()}
        self._offered: dict[str, tuple[Tool, ...]] = {}
        self._strangers: dict[str, Service] = {
            owners[service.name]: service
            for service in services
            if service.name in owners and isinstance(service, ForeignService)
        }
        for service in services:
            owner = owners.get(service.name)
            mine = self._services if owner is None else self._own[owner]
            for tool in service.tools:
                mine.setdefault(tool.name, service)
        shared = [service for service in services if service.name not in owners]
        self._everybody = tuple(tool for service in shared for tool in service.tools)
        for owner in self._own:
            theirs = [service for service in services if owners.get(service.name, owner) == owner]
            self._offered[owner] = tuple(tool for service in theirs for tool in service.tools)

    def offered(self, actor: str) -> tuple[Tool, ...]:
        """The tools that somebody may call."""
        return self._offered.get(actor, self._everybody)

    def service(self, tool: str, actor: str = AGENT) -> Service | None:
        """Who answers when `actor` calls a tool; None where there is none that they may call.

        A foreign service that is theirs alone hears of every name; that there is no such tool, its own code says.
        """
        return self._own.get(actor, {}).get(tool) or self._services.get(tool) or self._strangers.get(actor)

    def unknown(self, tool: str) -> Outcome:
        """What an agent is told that calls a tool there is none of."""
        near = nearest(tool[:100], self._services)
        hint = f" Did you mean {near}?" if near else ""
        return Outcome(error=ToolError(type="unknown_tool", message=f"There is no tool {tool[:100]!r}.{hint}"))
