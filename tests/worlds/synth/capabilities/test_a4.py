"""A4: what can be looked up is not asked for."""

import pytest

from .trying import Setting, assert_fair, failed, settings, tried


@pytest.mark.parametrize("setting", settings("A4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def test_who_asks_gets_an_answer_and_loses_for_the_question_alone() -> None:
    case = await tried("A4")
    for variant in case.worlds:
        assert await failed(case, "a4-asks", variant) == ("a4-not-asked",)


async def test_what_another_team_has_is_wrong_everywhere() -> None:
    case = await tried("A4")
    for variant in case.worlds:
        wrong = await failed(case, "a4-takes-another-teams", variant)
        assert wrong
        assert all(name.startswith("a4-") for name in wrong)
        assert "a4-not-asked" not in wrong
