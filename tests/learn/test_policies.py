"""A model out of a folder as one who is tested: the same weights play the same, plainly or when shown how."""

from __future__ import annotations

from decimal import Decimal

import pytest

from coworkenv.events.event import AGENT, EffectResolved
from coworkenv.events.memory import MemoryLog
from coworkenv.learn.models import load
from coworkenv.learn.playing import Draft
from coworkenv.learn.policies import Settings, policy_in
from tests.learn.small import model
from tests.learn.teaching import lessons, worlds


@pytest.mark.parametrize("shown", [None, lessons()[-2:]], ids=["plain", "few-shot"])
async def test_the_same_weights_play_the_same(tmp_path, shown):
    folder = model(tmp_path / "model", 3000)
    settings = Settings(temperature=Decimal(1), max_tokens=24)
    told, ends = [], []
    for _ in range(2):
        player = policy_in(folder, "mine", settings, shown)
        assert player.weights == load(folder).digest
        log = MemoryLog()
        async with log.writing():
            [result] = await player.play([Draft(worlds()[0], seed=3)], log, told.append)
        ends.append(log.row(result.id).digest)
        answers = [e.body for e in log.read(result.id) if e.actor == AGENT and isinstance(e.body, EffectResolved)]
        written = [body for body in answers if body.refused is None]
        assert written
        assert all(body.answer["calls"] or body.answer["stop"] == "length" for body in written if shown)
    assert ends[0] == ends[1]
    assert [result.status for result in told] == ["ended", "ended"]
