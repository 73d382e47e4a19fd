"""H2: what turns out to be rejected is deleted, and made again in another series."""

import pytest

from coworkenv.events.event import AGENT, ToolCalled
from coworkenv.worlds.synth.playing import Case

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("H2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def _deleted(case: Case, variant: str) -> int:
    run = await case.run(case.oracle(variant), variant)
    calls = [e.body.tool for e in run.events if e.actor == AGENT and isinstance(e.body, ToolCalled)]
    return sum(tool.endswith(".delete") for tool in calls)


async def test_nothing_is_deleted_where_nothing_was_rejected() -> None:
    case = await tried("H2")
    assert [await _deleted(case, variant) for variant in ("", "h2-other", "h2-none")] == [1, 1, 0]


@pytest.mark.parametrize("trap", ["h2-does-not-look", "h2-leaves-both"])
async def test_what_was_rejected_and_is_left_trips_a_gate(trap: str) -> None:
    case = await tried("H2")
    assert "h2-none-rejected" in await failed(case, trap)
    assert (await scores(case, trap)) == {"": 0, "h2-other": 0, "h2-none": 1, "other-numbers": 0}


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_series_stands_in_the_handbook_and_is_other_in_a_twin(language: str) -> None:
    case = await tried("H2", language=language)
    assert facts(case)["h2"]["series"] != facts(case, "h2-other")["h2"]["series"]


async def test_of_several_only_the_rejected_one_is_made_again() -> None:
    case = await tried("H2", "C2")
    assert await _deleted(case, "") == 1
