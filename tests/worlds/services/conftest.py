"""A desk: a service with its state, driven call by call as the kernel does it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from coworkenv.worlds.environment import Service as Definition
from coworkenv.worlds.records import ServiceRecords, initial_state
from coworkenv.worlds.service import Instant, Outcome, Service
from coworkenv.worlds.services.declared import declared

START = datetime(2026, 3, 3, 9, 0, tzinfo=timezone(timedelta(hours=1)))


class NoDraw:
    """Declared services are not random: drawing is a failure of the test."""

    def fraction(self) -> float:
        raise AssertionError("a declared service drew a number")

    def below(self, n: int) -> int:
        raise AssertionError("a declared service drew a number")


class Desk:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.records: ServiceRecords = initial_state(service.initial())[service.name]
        self.at = 0

    def call(self, tool: str, args: Any) -> Outcome:
        """One call; its changes are applied. An error must come without any."""
        self.at += 60_000_000
        outcome = self.service.call(
            f"{self.service.name}.{tool}", args, self.records, Instant(START, self.at), NoDraw()
        )
        assert outcome.error is None or not outcome.changes
        for change in outcome.changes:
            self.records = self.records.apply(change)
        return outcome

    def ok(self, tool: str, **args: Any) -> Any:
        outcome = self.call(tool, args)
        assert outcome.error is None, outcome.error
        return outcome.result

    def wrong(self, tool: str, **args: Any) -> tuple[str, str]:
        """Type and message of the error that the call must give."""
        outcome = self.call(tool, args)
        assert outcome.error is not None, outcome.result
        return outcome.error.type, outcome.error.message

    def plain(self, collection: str) -> list[dict[str, Any]]:
        return [dict(record) for record in self.records[collection].values()]


@pytest.fixture(scope="session")
def desk() -> Callable[..., Desk]:
    def make(definition: Definition, name: str = "shop") -> Desk:
        return Desk(declared(name, definition))

    return make
