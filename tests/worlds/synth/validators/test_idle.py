"""Doing nothing, and only reading, must earn nothing."""

import pytest

from coworkenv.worlds.synth.validators.idle import find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_idlers_earn_nothing_in_a_sound_environment(name: str) -> None:
    assert await find(await case(name)) == []


async def test_points_for_what_happens_by_itself_are_found() -> None:
    def plant(data: dict) -> None:
        data["timeline"] = [{"name": "morning", "at": "0s"}]
        data["checks"]["began"] = {"weight": 1, "expect": {"fired": "morning"}}

    found = await find(await case("refund", plant))
    assert {finding.details["agent"] for finding in found} == {"nothing", "reading"}
    assert {finding.at for finding in found} == {"/checks/began"}
    assert {finding.twin for finding in found} == {"", "other-customer", "other-return", "refused"}


async def test_points_for_a_look_are_found_and_the_check_could_be_a_gate() -> None:
    def plant(data: dict) -> None:
        data["checks"]["looked"] = {"weight": 1, "expect": {"called": "kb.policies.find"}}

    finding = (await find(await case("refund", plant)))[0]
    assert finding.details["agent"] == "reading"
    assert finding.details["earned"] == ["looked"]
    assert [(edit.op, edit.path) for edit in finding.candidates] == [("to_gate", "/checks/looked")]


async def test_the_reader_looks_where_the_oracle_looks() -> None:
    def plant(data: dict) -> None:
        args = {"topic": "refund", "status": "valid"}
        data["checks"]["looked"] = {"weight": 1, "expect": {"called": "kb.policies.find", "args": args}}

    assert await find(await case("refund", plant))
