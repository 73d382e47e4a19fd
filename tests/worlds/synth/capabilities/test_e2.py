"""E2: an answer that takes hours is waited for, without asking again and again."""

import pytest

from coworkenv.worlds.durations import microseconds
from coworkenv.worlds.synth.capabilities.e2 import DELAY

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("E2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def test_the_oracle_waits_as_long_as_it_takes() -> None:
    case = await tried("E2")
    run = await case.run(case.oracle(""), "")
    assert run.events[-1].at > microseconds(DELAY)
    assert case.worlds[""].deadline > 2 * run.events[-1].at


async def test_whoever_goes_on_after_some_minutes_has_made_the_value_up() -> None:
    case = await tried("E2")
    for variant in case.worlds:
        waited, *wrong = await failed(case, "e2-impatient", variant)
        assert waited == "e2-waited"
        assert wrong
        assert all(name.startswith("e2-") for name in wrong)


async def test_asking_every_ten_minutes_costs_something() -> None:
    case = await tried("E2")
    for variant in case.worlds:
        assert "e2-no-polling" in await failed(case, "e2-keeps-asking", variant)


async def test_with_a_question_there_already_that_one_is_answered_late() -> None:
    """No second value is asked for: A1's answer is the slow one."""
    case = await tried("A1", "E2")
    known = facts(case)["e2"]
    assert set(known) == {"guess"}
    assert "a1-asked" in await failed(case, "e2-impatient")
    run = await case.run(case.oracle(""), "")
    assert run.events[-1].at > microseconds(DELAY)
