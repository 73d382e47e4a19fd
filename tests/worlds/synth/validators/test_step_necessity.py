"""Each step of the oracle must be missed by somebody."""

import pytest

from coworkenv.worlds.synth.validators.step_necessity import find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_each_step_of_a_sound_oracle_is_needed(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_decorative_look_is_found_and_can_be_dropped() -> None:
    look = {"as": "look", "call": "crm.customers.find", "args": {}}
    [finding] = await find(await case("refund", lambda data: data["oracle"].insert(2, look)))
    assert finding.at == "/oracle/2"
    assert finding.details == {"step": "look", "stayed": ["", "other-customer", "other-return", "refused"]}
    assert [(edit.op, edit.path) for edit in finding.candidates] == [("drop_step", "/oracle/2")]


async def test_a_step_without_a_name_goes_by_its_number() -> None:
    look = {"call": "crm.customers.find", "args": {}}
    [finding] = await find(await case("refund", lambda data: data["oracle"].append(look)))
    assert finding.details["step"] == f"#{int(finding.at.rpartition('/')[2]) + 1}"


async def test_a_step_that_only_a_twin_needs_loses_its_reason_with_the_twin() -> None:
    found = await find(await case("escalation", lambda data: data["twins"].pop("nobody")))
    assert [finding.details["step"] for finding in found] == ["raised", "alarm"]


async def test_work_that_no_check_looks_at_is_found() -> None:
    found = await find(await case("refund", lambda data: data["checks"].pop("told-lena")))
    assert [finding.details["step"] for finding in found] == ["done"]


async def test_computing_is_exempt() -> None:
    extra = {"as": "extra", "calc": "1 + 1"}
    assert await find(await case("refund", lambda data: data["oracle"].append(extra))) == []
