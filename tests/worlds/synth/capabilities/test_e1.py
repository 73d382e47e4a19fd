"""E1: after the work is done, one of its values has to be another."""

import pytest

from coworkenv.events.event import TimelineFired, ToolCalled

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("E1"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_the_change_comes_after_the_work(family: str) -> None:
    case = await tried("E1", family=family)
    run = await case.run(case.oracle(""), "")
    [deed] = [step.call for step in case.worlds[""].oracle if step.name == "deed"]
    done = next(e.seq for e in run.events if isinstance(e.body, ToolCalled) and e.body.tool == deed)
    changed = next(e.seq for e in run.events if isinstance(e.body, TimelineFired))
    assert done < changed < run.events[-1].seq


async def test_the_old_plan_loses_unless_nobody_changes_their_mind() -> None:
    case = await tried("E1")
    got = await scores(case, "e1-does-not-listen")
    assert [variant for variant, score in got.items() if score == 1] == ["e1-no-change"]
    assert all(name.startswith("e1-") for name in await failed(case, "e1-does-not-listen"))


@pytest.mark.parametrize("seed", range(3))
async def test_what_it_becomes_is_other_in_a_twin(seed: int) -> None:
    case = await tried("E1", seed=seed)
    base, other = facts(case)["e1"], facts(case, "e1-other")["e1"]
    assert len({base["first"], base["last"], other["last"]}) == 3


async def test_where_the_work_is_done_again_nobody_changes_their_mind() -> None:
    """What the retry writes stays, or nobody would see whether it was right."""
    case = await tried("E1", "H3")
    lost = facts(case, "h3-lost")["e1"]
    assert lost["trigger"] != lost["first"]
    assert facts(case)["e1"]["trigger"] == lost["first"]
