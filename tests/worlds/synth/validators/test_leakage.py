"""What has to be found out is not given away."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coworkenv.worlds.synth.validators.leakage import Rank, chi_squared_survival, find, rank_uniformity, ranks

from .planting import EXAMPLES, case, operators


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_give_nothing_away(name: str) -> None:
    assert await find(await case(name)) == []


def in_request(data: dict[str, Any]) -> None:
    data["people"]["lena"]["opens"] += " It is number ${rma}, I think."
    data["twins"].pop("other-return")


def in_otherwise(data: dict[str, Any]) -> None:
    data["people"]["tomas"]["otherwise"] = "Is it about ${rma}?"


def in_refusal(data: dict[str, Any]) -> None:
    data["people"]["tomas"]["replies"].append({"any": ["gossip"], "tells": "never", "say": "Not about ${rma}."})


def in_service(data: dict[str, Any]) -> None:
    data["services"]["shop"]["about"] = "What was sold, and came back as ${rma}."


@pytest.mark.parametrize(
    ("plant", "at"),
    [
        (in_request, "/people/lena/opens"),
        (in_otherwise, "/people/tomas/otherwise"),
        (in_refusal, "/people/tomas/replies/1/say"),
        (in_service, "/services/shop"),
    ],
)
async def test_a_hidden_value_that_stands_in_the_open_is_found(plant: Any, at: str) -> None:
    [found] = await find(await case("refund", plant))
    assert (found.at, found.details["slot"], found.details["value"]) == (at, "lena.rma", "RMA-7741")


async def test_a_request_that_offers_a_choice_gives_nothing_away() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["lena"]["opens"] += " It is ${amara.order} or ${amaru.order}."

    assert await find(await case("refund", plant)) == []


async def test_ids_that_speak_are_found_and_given_a_neutral_one() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["services"]["crm"]["records"]["customers"].append({"id": "C-wrong", "name": "Amira Oka", "city": "Oslo"})

    [found] = await find(await case("refund", plant))
    assert (found.at, operators(found)) == ("/services/crm/records/customers/2/id", ["re_id"])
    assert found.candidates[0].value == "C-32"


async def test_an_id_that_speaks_and_is_a_fact_is_changed_there() -> None:
    [found] = await find(await case("reorder", lambda data: data["facts"]["coming"].update(sku="K-decoy")))
    assert found.candidates[0].path == "/facts/coming/sku"


async def test_what_the_work_is_about_is_not_the_only_record() -> None:
    def plant(data: dict[str, Any]) -> None:
        del data["services"]["tickets"]["records"]["tickets"][0]

    [found] = await find(await case("escalation", plant))
    assert (found.at, found.details["value"]) == ("/services/tickets/records/tickets", "T-610")
    assert operators(found) == ["create_row"]
    assert found.candidates[0].value["id"] != "T-610"


async def test_ranks_are_those_of_the_records_that_are_written_or_named() -> None:
    assert await ranks(await case("escalation")) == [Rank("tickets.tickets", 1, 2)]
    assert Rank("buchhaltung.rechnungen", 1, 2) in await ranks(await case("kostenstelle"))


# --- over a set ----------------------------------------------------------------------------------------------


def test_a_set_in_which_the_intended_record_comes_first_is_found() -> None:
    [found] = rank_uniformity([Rank("a.b", 0, 4) for _ in range(30)])
    assert found.details["observed"] == [30, 0, 0, 0]
    assert found.details["p"] < Decimal("0.001")
    assert operators(found) == ["re_solve"]


def test_a_shuffled_set_is_fine() -> None:
    assert rank_uniformity([Rank("a.b", place, size) for size in (2, 3, 4, 5) for place in range(size)] * 10) == []


def test_a_set_too_small_to_say_is_fine() -> None:
    assert rank_uniformity([]) == rank_uniformity([Rank("a.b", 0, 2)] * 3) == []
    assert rank_uniformity([Rank("a.b", 0, 1)] * 100) == []


def test_collections_of_different_sizes_are_compared_each_with_its_own_chances() -> None:
    last = [Rank("a.b", size - 1, size) for size in (2, 3, 6) for _ in range(20)]
    assert len(rank_uniformity(last)) == 1


@pytest.mark.parametrize(
    ("statistic", "degrees", "p"),
    [
        (3.841458820694124, 1, 0.05),
        (10.82756617011662, 1, 0.001),
        (5.991464547107979, 2, 0.05),
        (7.814727903251179, 3, 0.05),
        (16.26623619623813, 3, 0.001),
        (9.487729036781154, 4, 0.05),
        (18.307038053275146, 10, 0.05),
        (24.99579013972863, 15, 0.05),
    ],
)
def test_the_tail_of_chi_squared_agrees_with_published_tables(statistic: float, degrees: int, p: float) -> None:
    assert math.isclose(chi_squared_survival(statistic, degrees), p, rel_tol=1e-6)


@given(st.floats(0, 200), st.integers(1, 30))
def test_it_is_a_tail(statistic: float, degrees: int) -> None:
    here = chi_squared_survival(statistic, degrees)
    assert -1e-9 <= here <= 1 + 1e-9
    assert chi_squared_survival(statistic + 1, degrees) <= here + 1e-12
    assert chi_squared_survival(statistic, degrees + 1) >= here - 1e-12
    assert chi_squared_survival(0, degrees) == 1
