"""H1: of several things, those with a mark are left out."""

import pytest

from coworkenv.events.event import AGENT, ToolCalled
from coworkenv.worlds.synth.playing import Case

from .trying import Setting, assert_fair, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("H1"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def _deeds(case: Case, variant: str) -> int:
    [deed] = [step.call for step in case.worlds[variant].oracle if step.name == "deed"]
    run = await case.run(case.oracle(variant), variant)
    return sum(e.actor == AGENT and isinstance(e.body, ToolCalled) and e.body.tool == deed for e in run.events)


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_another_one_is_the_exception_in_a_twin(family: str) -> None:
    case = await tried("H1", family=family)
    usual, other = await failed(case, "h1-takes-all"), await failed(case, "h1-takes-all", "h1-other")
    assert len([name for name in usual if name.startswith("not-")]) == 1
    assert {name for name in usual if name.startswith("not-")}.isdisjoint(other)
    assert await _deeds(case, "") == await _deeds(case, "h1-other") == 2


async def test_taking_all_trips_a_gate_everywhere() -> None:
    case = await tried("H1", "C2")
    assert set((await scores(case, "h1-takes-all")).values()) == {0}


@pytest.mark.parametrize("seed", range(6))
async def test_the_mark_lies_about_in_records_that_the_job_is_not_about_too(seed: int) -> None:
    """Nobody who looks at the register knows from the mark alone which records the job is about."""
    case = await tried("H1", seed=seed)
    marks = [
        value
        for service in case.environment.services.values()
        for records in service.records.values()
        for record in records
        for value in record.values()
        if value in ("$h1.usual", "$h1.hold")
    ]
    assert len(marks) >= 5
