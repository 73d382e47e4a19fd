"""D3: two contacts hear how it went, and one of them, whom the directory has as internal, a figure besides."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("D3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_telling_everybody_the_same_tells_an_outsider(seed: int) -> None:
    case = await tried("D3", seed=seed)
    assert await failed(case, "d3-tells-both") == ("d3-not-told",)
    assert set((await scores(case, "d3-tells-both")).values()) == {0}


async def test_a_favourite_is_an_outsider_in_a_twin() -> None:
    case = await tried("D3")
    assert facts(case)["d3"]["insider"] == facts(case, "d3-swapped")["d3"]["outsider"]
    got = await scores(case, "d3-takes-a-guess")
    assert got[""] == 1
    assert got["d3-swapped"] == 0


async def test_the_one_inside_must_hear_it() -> None:
    assert await failed(await tried("D3"), "d3-tells-nobody") == ("d3-told",)


async def test_both_hear_what_was_done() -> None:
    case = await tried("B1", "D3")
    outcomes = [check for name, check in case.environment.checks.items() if name.startswith("d3-outcome")]
    assert len({check.claim.said for check in outcomes if check.claim is not None}) == 2
    assert {check.condition for check in outcomes} == {"$t1.done"}
