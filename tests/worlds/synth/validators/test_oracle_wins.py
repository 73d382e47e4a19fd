"""The oracle must win in the base and in every twin."""

from collections.abc import Callable

import pytest

from coworkenv.worlds.synth.validators import timing
from coworkenv.worlds.synth.validators.oracle_wins import find

from .planting import EXAMPLES, case, operators, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_oracle_that_wins_everywhere_is_no_finding(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_wrong_amount_names_the_variants_and_the_checks_that_fail() -> None:
    found = await find(await case("refund", lambda data: step(data, "paid")["args"].update(amount=1)))
    assert [finding.twin for finding in found] == ["", "other-customer", "other-return"]
    assert found[0].details["failing"] == ["refunded", "told-lena"]
    assert found[0].at == "/oracle"
    assert operators(found[0]) == ["re_solve"]


async def test_what_cannot_be_solved_in_one_twin_is_found_there_only() -> None:
    def plant(data: dict) -> None:
        data["twins"]["other-return"]["people"] = {"lena": {"replies": []}}

    [finding] = await find(await case("refund", plant))
    assert finding.twin == "other-return"


async def test_a_step_that_cannot_be_carried_out_is_told() -> None:
    [finding, *_] = await find(
        await case("refund", lambda data: step(data, "done").update(text="@{=@which.order / 2}"))
    )
    assert "StepFailed" in finding.details["failure"]


async def test_an_environment_without_an_oracle_has_not_been_shown_to_be_solvable() -> None:
    def plant(data: dict) -> None:
        data.update(oracle=[], traps={})

    [finding] = await find(await case("refund", plant))
    assert (finding.at, finding.severity) == ("/oracle", "error")


async def test_a_deadline_that_comes_first_is_moved_so_far_that_all_variants_have_time() -> None:
    def plant(deadline: str) -> Callable[[dict], None]:
        return lambda data: data["clock"].update(deadline=deadline)

    finding = (await find(await case("refund", plant("10m"))))[0]
    assert finding.details["ended"] == "deadline"
    edit = finding.candidates[0]
    assert (edit.op, edit.path) == ("shift_event", "/clock/deadline")
    mended = await case("refund", plant(edit.value))
    assert await find(mended) == []
    assert await timing.find(mended) == []
