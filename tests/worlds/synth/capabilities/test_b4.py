"""B4: of articles that disagree, the exception counts, and otherwise the one that was revised last."""

import pytest

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("B4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_each_of_the_three_articles_counts_somewhere(seed: int) -> None:
    case = await tried("B4", seed=seed)
    counts = set()
    for variant in case.worlds:
        known = facts(case, variant)
        rules = known["b4"]
        newest = "first" if rules["first_on"] > rules["second_on"] else "second"
        counts.add("special" if known["t1"]["owner"] == rules["person"] else newest)
    assert counts == {"first", "second", "special"}


async def test_the_exception_is_older_than_what_it_beats() -> None:
    case = await tried("B4")
    for variant in case.worlds:
        rules = facts(case, variant)["b4"]
        assert rules["special_on"] < min(rules["first_on"], rules["second_on"])


async def test_who_follows_the_superseded_text_writes_a_wrong_value() -> None:
    case = await tried("B4", family="leave", language="de")
    assert any(name.startswith("b4-") for name in await failed(case, "b4-follows-the-superseded"))


async def test_who_takes_the_general_rule_for_all_is_wrong_where_there_is_an_exception() -> None:
    case = await tried("B4")
    assert not await failed(case, "b4-overlooks-the-exception")
    assert await failed(case, "b4-overlooks-the-exception", "b4-other-exception")
