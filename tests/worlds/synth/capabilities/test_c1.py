"""C1: what is written for a thing stands in another service, under the name of whoever looks after it."""

import pytest

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("C1"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_what_the_owners_have_differs_and_is_other_in_a_twin(seed: int) -> None:
    case = await tried("C1", "H1", seed=seed)
    base, twin = facts(case)["c1"], facts(case, "c1-other")["c1"]
    values = [owner["value"] for known in (base, twin) for name, owner in known.items() if name.startswith("p")]
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("trap", ["c1-one-for-all", "c1-mixes-them-up"])
async def test_whoever_does_not_join_writes_what_is_wrong_for_each_thing(trap: str) -> None:
    case = await tried("C1", "C2")
    wrong = await failed(case, trap)
    applied = [name for name in case.environment.checks if name.startswith("c1-")]
    assert len(wrong) == len(applied) == 5
    assert set(wrong) == set(applied)
