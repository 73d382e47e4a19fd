"""H3: after a failure it is looked first whether the work was done."""

import pytest

from coworkenv.events.event import FaultInjected

from .trying import Setting, assert_fair, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("H3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def test_a_call_fails_in_every_variant_and_no_answer_says_whether_it_was_applied() -> None:
    case = await tried("H3")
    told = set()
    for variant in case.worlds:
        run = await case.run(case.oracle(variant), variant)
        [at] = [n for n, event in enumerate(run.events) if isinstance(event.body, FaultInjected)]
        error = next(event.body.error for event in run.events[at:] if getattr(event.body, "error", None))
        told.add((error.type, error.message))
    assert len(told) == 1


async def test_trying_again_blindly_and_giving_up_lose_in_opposite_twins() -> None:
    case = await tried("H3")
    blind, gives_up = await scores(case, "h3-blind-retry"), await scores(case, "h3-gives-up")
    assert (blind[""], blind["h3-lost"]) == (0, 1)
    assert gives_up[""] == 1
    assert gives_up["h3-lost"] < 1
    assert "once" in await failed(case, "h3-blind-retry")


async def test_the_other_things_do_not_fail() -> None:
    case = await tried("H3")
    lost = await failed(case, "h3-gives-up", "h3-lost")
    assert {name.rpartition("-")[2] for name in lost} == {"t1"}
