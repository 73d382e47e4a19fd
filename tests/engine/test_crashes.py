"""A process may die at any moment: what was durable stays as it was, and the episode goes on.

The same code kills as often as one likes: `python -m tests.engine.crashing --kills 260`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from coworkenv.engine.plan import episode_id
from coworkenv.events.sqlite import SqliteLog

from .crashing.campaign import (
    MOMENTS,
    Play,
    Report,
    Stage,
    campaign,
    fork_campaign,
    staged,
    until_it_ends,
)
from .crashing.forking import fork_everywhere
from .crashing.worker import plan

pytestmark = pytest.mark.slow


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage


async def test_an_episode_survives_its_process_whenever_that_is_killed(stage: Stage, tmp_path: Path) -> None:
    # Each life is checked: nothing durable has changed, verify passes, no request left before it was durable, none with
    # a durable answer was made again, any other at most once; and with a server that answers the same request in the
    # same way, the last digest is that of a run which nobody interrupted.
    report = await campaign(stage, tmp_path, kills=48)
    assert report.total >= 48
    for moment in MOMENTS:
        assert report.at(moment) >= 4, moment


@pytest.mark.parametrize("durability", ["batch", "each"])
async def test_a_fork_survives_its_process_whenever_that_is_killed(
    stage: Stage, tmp_path: Path, durability: str
) -> None:
    # Up to the commit of its first step and beyond. What the parent was told while the fork's request was on its way is
    # never asked for again, and the fork is, in the end, the one that nobody interrupted.
    assert await fork_campaign(stage, tmp_path, durability, transactions=5) >= 8


async def test_an_episode_that_was_killed_again_and_again_can_be_forked(stage: Stage, tmp_path: Path) -> None:
    path, report = tmp_path / "log.db", Report()
    moments = [("after", 5), ("request", 2), ("resolved", 1), ("between", 4)]
    await until_it_ends(stage, Play(path, "B", "batch", 2), iter(moments), Random(2), report, len(moments))
    assert report.total == len(moments)
    log = SqliteLog(path)
    async with log.writing():
        await fork_everywhere(log, episode_id(plan(2).started()), {"seed": 1}, step=12)
    log.close()
