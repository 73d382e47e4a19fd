"""The right answer does not depend on the order in which records are listed."""

from typing import Any

import pytest

from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators.uniqueness import find, rearranged

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_mean_one_record_whatever_the_order(name: str) -> None:
    assert await find(await case(name)) == []


def second_lamp(data: dict[str, Any]) -> None:
    line = {"order": "$amara.order", "customer": "$amara.customer", "item": "lamp", "price": 12.75}
    data["services"]["shop"]["records"]["lines"].append(line)


async def test_a_record_that_would_do_as_well_is_found_and_named() -> None:
    [found] = await find(await case("refund", second_lamp))
    assert (found.at, found.twin) == ("/services/shop/records/lines", "")
    assert found.details["collection"] == "shop.lines"
    assert found.details["row"] == 4
    assert found.candidates[0] == Edit("drop", "/services/shop/records/lines/4", cost=2)


async def test_a_record_that_is_the_same_in_all_that_matters_is_fine() -> None:
    def plant(data: dict[str, Any]) -> None:
        second_lamp(data)
        data["services"]["shop"]["records"]["lines"][-1]["price"] = "$amara.lamp"

    assert await find(await case("refund", plant)) == []


async def test_another_record_that_only_a_twin_confuses_is_found_there() -> None:
    def plant(data: dict[str, Any]) -> None:
        line = {"order": "$amaru.order", "customer": "$amaru.customer", "item": "lamp", "price": 12.75}
        data["services"]["shop"]["records"]["lines"].append(line)

    [found] = await find(await case("refund", plant))
    assert found.twin == "other-customer"


async def test_an_environment_that_cannot_be_won_is_for_others_to_find() -> None:
    def plant(data: dict[str, Any]) -> None:
        second_lamp(data)
        data["oracle"] = data["oracle"][:2]

    assert await find(await case("refund", plant)) == []


async def test_a_rearranged_world_holds_the_same_records_backwards() -> None:
    world = (await case("refund")).worlds[""]
    turned = rearranged(world, None)
    assert turned.state == world.state
    before, after = world.state["shop"]["lines"], turned.state["shop"]["lines"]
    assert list(after) == list(reversed(before))
    one = rearranged(world, "crm.customers")
    assert list(one.state["shop"]["lines"]) == list(before)
    assert list(one.state["crm"]["customers"]) == ["C-58", "C-31"]
    assert list(rearranged(world, "crm.customers", 0).state["crm"]["customers"]) == ["C-58"]
