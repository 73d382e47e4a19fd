"""E4: who does not answer is reminded once, and only then is their deputy asked."""

import pytest

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("E4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize(
    ("trap", "lost"),
    [
        ("e4-gives-up", "e4-reminded"),
        ("e4-nags", "e4-one-reminder"),
        ("e4-goes-over-their-head", "e4-deputy-not-early"),
    ],
)
async def test_each_wrong_way_costs_what_it_is_about(trap: str, lost: str) -> None:
    case = await tried("E4")
    assert lost in await failed(case, trap)


async def test_who_answers_the_reminder_makes_the_deputy_needless() -> None:
    case = await tried("E4")
    assert facts(case)["e4"]["silent"]
    assert not facts(case, "e4-answers-the-reminder")["e4"]["silent"]
    [deputy] = [step.ask for step in case.worlds[""].oracle if step.name == "e4_deputy"]
    for variant, asked in (("", True), ("e4-answers-the-reminder", False)):
        run = await case.run(case.oracle(variant), variant)
        assert (deputy in [getattr(event.body, "to", "") for event in run.events]) == asked


async def test_a_reminder_sent_too_early_costs_something() -> None:
    case = await tried("E4")
    assert "e4-reminder-not-early" not in await failed(case, "e4-nags")
    assert "e4-reminded" in await failed(case, "e4-goes-over-their-head")
