"""What flows into a write, and the request does not say, is another value in some twin."""

from decimal import Decimal
from typing import Any

import pytest

from coworkenv.worlds.matching import identity
from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators.twin_coverage import another, calls_of, find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_vary_what_they_hide(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_fact_that_no_twin_changes_is_found_with_a_twin_that_would() -> None:
    [found] = await find(await case("refund", lambda data: data["twins"].pop("other-return")))
    assert found.at == "/oracle/8/args/rma"
    assert found.details == {"step": "paid", "argument": "rma", "value": "RMA-7741", "fact": "rma"}
    assert found.candidates == (Edit("add_twin", "/twins/rma-other", {"facts": {"rma": "RMA-7742"}}, 2),)


async def test_a_fact_that_stands_for_another_can_stand_for_one_of_its_kind() -> None:
    found = await find(await case("refund", lambda data: data["twins"].pop("other-customer")))
    assert {finding.details["argument"] for finding in found} == {"order", "amount"}
    for finding in found:
        assert Edit("add_twin", "/twins/meant-other", {"facts": {"meant": "$amaru"}}) in finding.candidates


async def test_a_value_of_the_request_needs_no_twin() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["twins"].pop("other-return")
        data["people"]["lena"]["opens"] += " The number is ${rma}."

    assert await find(await case("refund", plant)) == []


async def test_what_the_agent_created_itself_needs_no_twin() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["services"]["payments"] |= {"collections": {"refunds": {"can": ["find", "create", "update"]}}}
        data["oracle"].append({"as": "found", "call": "payments.refunds.find", "args": {}})
        noted = {"as": "noted", "call": "payments.refunds.update", "args": {"id": "=first(@found).id"}, "if": "@found"}
        data["oracle"].append(noted)

    assert await find(await case("refund", plant)) == []


async def test_calls_of_one_tool_are_told_apart_by_their_steps() -> None:
    calls = await calls_of(await case("reschedule"), "")
    assert [len(calls[step]) for step in ("move", "again", "sent")] == [1, 1, 1]
    assert calls["move"][0]["start"] == "2026-03-12T09:00"
    assert calls["again"][0]["start"] == "2026-03-13T08:00"


async def test_a_step_that_is_left_out_has_no_calls() -> None:
    calls = await calls_of(await case("refund"), "refused")
    assert calls["paid"] == []


@pytest.mark.parametrize("value", [7, Decimal("12.50"), "O-5512", "2026-03-04", "a@b.example", "room 9b", True])
def test_another_value_is_another_and_of_the_same_kind(value: Any) -> None:
    other = another(value, {identity(value)})
    assert identity(other) != identity(value)
    assert type(other) is type(value)


def test_another_value_is_none_that_is_taken() -> None:
    assert another("K-1", {"K-2", "K-3"}) == "K-4"
    assert another("lamp") is None
