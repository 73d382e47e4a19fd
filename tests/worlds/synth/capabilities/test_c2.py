"""C2: all that is of a category is dealt with, though the register answers in pages."""

import pytest

from coworkenv.events.event import AGENT, ToolCalled

from .trying import Setting, assert_fair, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("C2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(4))
async def test_the_first_page_is_not_all(seed: int) -> None:
    case = await tried("C2", seed=seed)
    missed = await failed(case, "c2-first-page")
    assert {name.partition("-")[0] for name in missed} == {"done", "told"}
    assert len(missed) == 2


async def test_in_a_twin_there_is_no_second_page() -> None:
    case = await tried("C2")
    assert (await scores(case, "c2-first-page"))["c2-fewer"] == 1
    run = await case.run(case.oracle("c2-fewer"), "c2-fewer")
    assert sum(isinstance(event.body, ToolCalled) and event.actor == AGENT for event in run.events) == 1 + 4


@pytest.mark.parametrize("seed", range(4))
async def test_where_the_last_one_lies_says_nothing(seed: int) -> None:
    """Over the seeds, the thing that drops out in the twin is not always the one on the second page."""
    places = set()
    for number in range(seed * 3, seed * 3 + 3):
        case = await tried("C2", seed=number)
        places.add(next(name for name in await failed(case, "c2-first-page") if name.startswith("done")))
    assert len(places) > 1
