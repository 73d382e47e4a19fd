"""What the tests of this floor share: one fixture that stands for every log there is, and a small story to put in it.

A new kind of log (PostgreSQL, say) joins `KINDS` with a function that makes an empty one; the conformance suite does
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coworkenv.events import Event, Log, MemoryLog, SqliteLog, StreamRow
from coworkenv.events.event import EffectResolved, EpisodeStarted, MessageSent, ToolCalled

KINDS: dict[str, Callable[[Path], Log]] = {
    "memory": lambda folder: MemoryLog(),
    "sqlite-batch": lambda folder: SqliteLog(folder / "log.db", "batch"),
    "sqlite-each": lambda folder: SqliteLog(folder / "log.db", "each"),
}


@pytest.fixture(params=KINDS)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    """An empty log, of each kind in turn."""
    made = KINDS[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def story() -> Callable[..., list[Event]]:
    """`story(n, start)` is n events from seq `start`: the opening, then calls, messages and answers; every seventh is
    large enough to be kept as a blob."""

    def tell(count: int, start: int = 0) -> list[Event]:
        return [_event(seq) for seq in range(start, start + count)]

    return tell


def _event(seq: int) -> Event:
    if seq == 0:
        start = EpisodeStarted(environment='{"id": "refund"}', id="refund", start="2026-03-02T09:00:00+01:00", seed=7)
        return Event(0, 0, "world", None, start)
    if seq % 7 == 0:
        body = EffectResolved(effect=seq - 1, due=seq, answer={"text": f"long {seq % 2} " * 4000})
        return Event(seq, seq * 1000, "agent", seq - 1, body)
    if seq % 2:
        return Event(
            seq, seq * 1000, "agent", seq - 1, ToolCalled(tool="mail.search", args={"query": f"invoice {seq}"})
        )
    return Event(
        seq, seq * 1000, "tomas", seq - 1, MessageSent(to="agent", text="Zürich, “please” 🙂", gives={"n": seq})
    )


@pytest.fixture
def row() -> StreamRow:
    """The row of an episode that does not exist yet."""
    return StreamRow(
        id="a1b2c3d4" * 4, environment="refund", agent="scripted:oracle", seed=7, created=1.75e9, host="here",
        versions={"coworkenv": "0.1.0"}, meta={"note": "x"},
    )  # fmt: skip
