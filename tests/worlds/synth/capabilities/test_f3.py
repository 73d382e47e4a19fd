"""F3: what is due earlier is done earlier."""

import pytest

from coworkenv.events.event import AGENT, Json, ToolCalled
from coworkenv.worlds.synth.playing import Case

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("F3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


async def _done(case: Case, variant: str) -> list[Json]:
    """The ids of the things for which the oracle does the deed, in order."""
    [deed] = [step for step in case.worlds[variant].oracle if step.name == "deed"]
    run = await case.run(case.oracle(variant), variant)
    bodies = (event.body for event in run.events if event.actor == AGENT)
    return [
        next(iter(body.args.values())) for body in bodies if isinstance(body, ToolCalled) and body.tool == deed.call
    ]


@pytest.mark.parametrize("family", ["refunds", "leave"])
@pytest.mark.parametrize("seed", range(3))
async def test_the_order_is_the_other_way_round_in_a_twin(seed: int, family: str) -> None:
    case = await tried("F3", seed=seed, family=family)
    usual = await _done(case, "")
    assert len(usual) == 3
    assert await _done(case, "f3-reversed") == usual[::-1]


@pytest.mark.parametrize("seed", range(3))
async def test_who_takes_them_as_they_come_loses_in_one_of_the_two(seed: int) -> None:
    case = await tried("F3", seed=seed)
    lost = [await failed(case, "f3-as-they-come", variant) for variant in ("", "f3-reversed")]
    assert any(lost)
    assert all(name.startswith("f3-order-") for names in lost for name in names)
    assert max((await scores(case, "f3-latest-first")).values()) < 1


async def test_what_is_made_to_fail_at_first_has_no_place_in_the_order() -> None:
    case = await tried("F3", "H3")
    for variant in ("", "h3-lost"):
        known = facts(case, variant)
        assert known["h3"]["applied" if variant == "" else "lost"] not in known["f3"]["order"]
        assert len(known["f3"]["order"]) >= 3
