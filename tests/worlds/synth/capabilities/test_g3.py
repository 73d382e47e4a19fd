"""G3: what does not exist is reported as such, and what exists after all is done."""

import pytest

from .trying import Setting, assert_fair, facts, failed, scores, settings, tried


@pytest.mark.parametrize("setting", settings("G3"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("seed", range(3))
async def test_one_name_of_the_request_is_in_the_register_in_a_twin_only(seed: int) -> None:
    case = await tried("G3", seed=seed)

    def labels(variant: str) -> list[str]:
        return [thing["label"] for thing in facts(case, variant).values() if "label" in thing]

    asked = facts(case)["g3"]["asked"]
    assert asked in case.worlds[""].openings[0].text
    assert (labels("").count(asked), labels("g3-exists").count(asked)) == (0, 1)


async def test_taking_another_thing_instead_trips_a_gate() -> None:
    case = await tried("G3")
    assert (await scores(case, "g3-takes-another"))[""] == 0


@pytest.mark.parametrize("family", ["refunds", "leave"])
async def test_a_number_that_was_made_up_is_no_finding(family: str) -> None:
    case = await tried("G3", family=family)
    assert "g3-says-so" in await failed(case, "g3-makes-it-up")
    assert await failed(case, "g3-says-nothing") == ("g3-says-so",)
