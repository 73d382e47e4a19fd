"""A3: two things have the same name, and only the requester knows which of them is meant."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("A3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_the_request_fits_two_things_of_which_a_twin_means_the_other(seed: int) -> None:
    case = await tried("A3", seed=seed)
    base, twin = facts(case), facts(case, "a3-other")
    named = {thing["id"] for thing in base.values() if thing.get("label") == base["t2"]["label"]}
    assert named == {base["a3"]["meant"], twin["a3"]["meant"]}
    assert len(named) == 2
    requests = {case.worlds[variant].openings[0].text for variant in case.worlds}
    assert len(requests) == 1


async def test_taking_the_first_is_wrong_in_some_variant() -> None:
    case = await tried("A3")
    assert min((await scores(case, "a3-takes-the-first")).values()) == 0


async def test_doing_it_for_both_is_always_wrong() -> None:
    case = await tried("A3")
    assert max((await scores(case, "a3-takes-both")).values()) == 0
    assert "a3-named-both" in await failed(case, "a3-takes-both")
