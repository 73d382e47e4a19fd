"""H4: a permit is applied for, and its number is there a day later."""

import pytest

from coworkenv.worlds.durations import microseconds

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("H4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def test_the_work_is_done_the_next_day() -> None:
    case = await tried("H4")
    run = await case.run(case.oracle(""), "")
    assert run.events[-1].at > microseconds("21h")


@pytest.mark.parametrize("trap", ["h4-does-not-wait", "h4-invents-it"])
async def test_without_the_decision_the_number_is_wrong(trap: str) -> None:
    case = await tried("H4")
    for variant in case.worlds:
        wrong = await failed(case, trap, variant)
        assert wrong
        assert all(name.startswith("h4-permit") for name in wrong)


async def test_applying_twice_costs_a_point() -> None:
    case = await tried("H4")
    assert "h4-one-application" in await failed(case, "h4-applies-twice")
    assert max((await scores(case, "h4-applies-twice")).values()) < 1


@pytest.mark.parametrize("seed", range(3))
async def test_purpose_and_number_are_others_in_a_twin(seed: int) -> None:
    case = await tried("H4", seed=seed)
    base, other = facts(case)["h4"], facts(case, "h4-other")["h4"]
    assert base["number"] != other["number"]
    assert base["purpose"] != other["purpose"]
