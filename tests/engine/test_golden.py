"""Old episodes execute to the bytes that they had: what execution gives is changed knowingly, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.engine.replay import verify
from coworkenv.events.exchange import SUFFIX, import_episode
from coworkenv.events.memory import MemoryLog

RECORDED = sorted((Path(__file__).parent / "golden").glob(f"*{SUFFIX}"))

ADVICE = "if that is meant, raise SEMANTICS, say so in the changelog, and run `python -m tests.engine.golden`"


def test_there_are_recorded_episodes() -> None:
    assert len(RECORDED) >= 5


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.removesuffix(SUFFIX))
async def test_a_recorded_episode_executes_to_the_same_bytes(path: Path) -> None:
    log = MemoryLog()
    with path.open("rb") as file:
        import_episode(log, file)
    for row in log.rows():
        found = await verify(log, row.id)
        assert found.good, f"{found.says} at event {found.seq}: {found.stored} became {found.executed}; {ADVICE}"
    assert any(row.kind == "episode" for row in log.rows())
