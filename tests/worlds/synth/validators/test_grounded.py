"""The oracle writes and says only what an agent could know."""

from typing import Any

import pytest

from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators.grounded import find, told_to_an_agent

from .planting import EXAMPLES, case, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_know_nothing_they_have_not_seen(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_fact_that_nobody_told_is_found_and_taken_from_who_tells_it() -> None:
    [found] = await find(await case("refund", lambda data: step(data, "paid")["args"].update(rma="$rma")))
    assert (found.at, found.twin) == ("/oracle/8/args/rma", "")
    assert found.details == {"value": "RMA-7741", "step": "paid", "part": "args.rma", "fact": "rma"}
    assert found.candidates[0] == Edit("replace", "/oracle/8/args/rma", "@returned.rma")


async def test_a_number_of_a_record_is_taken_from_the_record() -> None:
    [found] = await find(await case("refund", lambda data: step(data, "paid")["args"].update(amount=165)))
    assert Edit("replace", "/oracle/8/args/amount", "@lamp.price") in found.candidates


@pytest.mark.parametrize(
    ("name", "part", "value"),
    [
        ("done", "text", "Refunded, reference RMA-7741."),
        ("done", "text", "Refunded, reference ${rma}."),
        ("done", "text", "Refunded, reference @{='RMA-' + text(7741)} and O-5512."),
        ("lamp", "calc", "choose($meant.lamp > 1, first(@lines), null)"),
        ("approval", "if", "@lamp.price > $limit"),
    ],
)
async def test_it_is_found_wherever_it_stands(name: str, part: str, value: str) -> None:
    found = await find(await case("refund", lambda data: step(data, name).update({part: value})))
    assert {(finding.details["step"], finding.details["part"]) for finding in found} == {(name, part)}


async def test_a_value_of_the_request_counts_in_any_notation() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["lena"]["opens"] += " The RMA number is RMA-7741; it was 165 euros."
        step(data, "paid")["args"] |= {"rma": "RMA-7741", "amount": "165.00"}

    assert await find(await case("refund", plant)) == []


async def test_what_only_one_twin_has_told_is_found_in_the_others() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["lena"]["opens"] += " Perhaps it is RMA-7741."
        step(data, "paid")["args"]["rma"] = "$rma"

    [found] = await find(await case("refund", plant))
    assert (found.twin, found.details["value"]) == ("other-return", "RMA-8820")


async def test_an_agent_is_told_the_request_the_tools_and_the_people() -> None:
    told = told_to_an_agent((await case("kostenstelle")).worlds[""])
    for words in ("R-2291", "albrecht", "Eingangsrechnungen", "gebucht", "2026-07-20"):
        assert words in told
    assert "4711" not in told
