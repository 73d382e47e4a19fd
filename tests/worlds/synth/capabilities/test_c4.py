"""C4: a figure that is not of today is refreshed, and read again."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("C4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("trap", ["c4-uses-stale", "c4-does-not-look-again"])
async def test_what_was_read_first_is_wrong_unless_it_is_of_today(trap: str) -> None:
    case = await tried("C4")
    for variant in case.worlds:
        wrong = await failed(case, trap, variant)
        assert wrong == () if variant == "c4-fresh" else all(name.startswith("c4-") for name in wrong)
        assert bool(wrong) == (variant != "c4-fresh")


@pytest.mark.parametrize("seed", range(3))
async def test_one_twin_has_a_figure_of_today_and_another_has_another_figure(seed: int) -> None:
    case = await tried("C4", seed=seed)
    base, fresh, other = (facts(case, variant) for variant in ("", "c4-fresh", "c4-other"))
    assert base["c4"]["as_of"] < base["today"] == fresh["c4"]["as_of"]
    assert len({base["c4"]["old"], base["c4"]["new"], other["c4"]["new"]}) == 3


async def test_a_figure_for_a_batch_is_refreshed_once_for_all() -> None:
    case = await tried("C4", "C2")
    assert len(await failed(case, "c4-uses-stale")) == 5
    assert min((await scores(case, "c4-uses-stale")).values()) < 1
