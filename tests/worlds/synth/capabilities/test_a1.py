"""A1: what only the requester knows is asked for before it is used."""

import pytest

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("A1"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def test_who_guesses_loses_for_the_question_and_for_the_value_everywhere() -> None:
    case = await tried("A1")
    for variant in case.worlds:
        asked, *wrong = await failed(case, "a1-guesses", variant)
        assert asked == "a1-asked"
        assert [name.startswith("a1-") for name in wrong] == [True]


@pytest.mark.parametrize("seed", range(4))
async def test_the_value_is_other_in_a_twin_and_never_what_is_guessed(seed: int) -> None:
    case = await tried("A1", seed=seed)
    base, other = facts(case)["a1"], facts(case, "a1-other")["a1"]
    assert len({base["value"], other["value"], base["guess"]}) == 3


async def test_the_request_does_not_say_the_value() -> None:
    case = await tried("A1")
    for variant, world in case.worlds.items():
        value = str(facts(case, variant)["a1"]["value"])
        assert all(value not in opening.text for opening in world.openings)
