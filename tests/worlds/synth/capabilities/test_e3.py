"""E3: a figure changes silently while the agent waits; what counts is what it is when the work is done."""

import pytest

from coworkenv.events.event import AGENT, RecordChanged, ToolCalled

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("E3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_read_before_the_green_light_is_wrong(seed: int) -> None:
    case = await tried("E3", seed=seed)
    for variant in case.worlds:
        early = await failed(case, "e3-reads-early", variant)
        assert early
        assert all(name.startswith("e3-") and name != "e3-green-light" for name in early)
    base, other = facts(case)["e3"], facts(case, "e3-other")["e3"]
    assert len({base["old"], base["new"], other["new"]}) == 3


async def test_starting_at_once_costs_the_green_light_too() -> None:
    case = await tried("E3")
    assert "e3-green-light" in await failed(case, "e3-does-not-wait")


async def test_nobody_says_that_it_changes() -> None:
    """It changes while the oracle waits; no message goes with it."""
    case = await tried("E3")
    run = await case.run(case.oracle(""), "")
    [changed] = [e for e in run.events if isinstance(e.body, RecordChanged) and e.actor != AGENT]
    assert all(e.cause != changed.seq for e in run.events)
    read = [e.seq for e in run.events if isinstance(e.body, ToolCalled) and e.seq > changed.seq]
    assert read
