"""B2: what is written goes by a rule of the handbook, and the rule may be another one."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("B2"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_the_limit_lies_on_the_other_side_in_a_twin(seed: int) -> None:
    case = await tried("B2", seed=seed)
    written = {}
    for variant in ("", "b2-other-limit"):
        known = facts(case, variant)
        written[variant] = known["t1"]["amount"] > known["b2"]["limit"]
    assert written == {"": True, "b2-other-limit": False}


async def test_the_rule_is_not_what_one_would_think() -> None:
    case = await tried("B2", "H1")
    assert max((await scores(case, "b2-does-not-look")).values()) < 1
    assert any(name.startswith("b2-") for name in await failed(case, "b2-one-for-all"))


async def test_the_request_does_not_say_what_the_rule_says() -> None:
    case = await tried("B2")
    request = " ".join(opening.text for opening in case.worlds[""].openings)
    assert not any(str(value) in request for value in facts(case)["b2"].values())
