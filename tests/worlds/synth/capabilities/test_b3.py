"""B3: some of what is prepared is sent off, the rest is left, and nothing beside it is changed."""

import pytest

from .trying import Setting, assert_fair, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("B3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_sending_a_draft_trips_a_gate(family: str) -> None:
    case = await tried("B3", family=family)
    got = await scores(case, "b3-sends-everything")
    assert got[""] == 1
    assert got["b3-held"] == 0


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_sending_nothing_is_not_the_way_out(family: str) -> None:
    case = await tried("B3", family=family)
    assert await failed(case, "b3-sends-nothing") == ("b3-sent-t1",)
    assert (await scores(case, "b3-sends-nothing"))["b3-held"] == 1


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_a_helpful_correction_is_none(family: str) -> None:
    case = await tried("B3", family=family)
    assert await failed(case, "b3-tidies-up") == ("no side effects",)


async def test_of_several_things_some_are_sent_and_some_are_not() -> None:
    case = await tried("B3", "H1")
    names = list(case.environment.checks)
    assert any(name.startswith("b3-sent-") and name != "b3-sent-t1" for name in names)
    assert any(name.startswith("b3-kept-") and name != "b3-kept-t1" for name in names)
    assert (await scores(case, "b3-sends-everything"))[""] == 0


async def test_what_failed_is_not_expected_to_be_sent() -> None:
    case = await tried("B3", "G1")
    run = await case.run(case.oracle(""), "")
    assert run.score == 1, run.failed
