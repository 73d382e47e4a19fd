"""A value is written once."""

from typing import Any

import pytest

from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators.single_source import find
from coworkenv.worlds.synth.validators.telling import is_telling, told_in

from .planting import EXAMPLES, case, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_type_nothing_twice_that_a_fact_says(name: str) -> None:
    assert await find(await case(name)) == []


def put_row(data: dict[str, Any]) -> None:
    data["services"]["crm"]["records"]["customers"][0]["id"] = "C-31"


def put_number(data: dict[str, Any]) -> None:
    data["services"]["shop"]["records"]["lines"][0]["price"] = 165


def put_check(data: dict[str, Any]) -> None:
    data["checks"]["told-lena"]["expect"]["mentions"][1] = "RMA-7741"


def put_reply(data: dict[str, Any]) -> None:
    data["people"]["lena"]["replies"][0]["gives"]["order"] = "O-5512"


def put_trap(data: dict[str, Any]) -> None:
    data["traps"]["guesses-order"]["bind"]["which.order"] = "O-5512"


def put_twin(data: dict[str, Any]) -> None:
    data["twins"]["refused"]["checks"]["told-no"]["expect"]["mentions"] = ["C-31"]


def put_oracle(data: dict[str, Any]) -> None:
    step(data, "paid")["args"]["rma"] = "RMA-7741"


@pytest.mark.parametrize(
    ("plant", "at", "fact"),
    [
        (put_row, "/services/crm/records/customers/0/id", "$amara.customer"),
        (put_number, "/services/shop/records/lines/0/price", "$amara.lamp"),
        (put_check, "/checks/told-lena/expect/mentions/1", "$rma"),
        (put_reply, "/people/lena/replies/0/gives/order", "$amara.order"),
        (put_trap, "/traps/guesses-order/bind/which.order", "$amara.order"),
        (put_twin, "/twins/refused/checks/told-no/expect/mentions/0", "$amara.customer"),
        (put_oracle, "/oracle/8/args/rma", "$rma"),
    ],
)
async def test_a_fact_that_is_typed_again_is_replaced_by_a_reference(plant: Any, at: str, fact: str) -> None:
    found = [finding for finding in await find(await case("refund", plant)) if "fact" in finding.details]
    assert [finding.at for finding in found] == [at]
    assert found[0].candidates == (Edit("use_ref", at, fact),)


async def test_a_fact_within_a_text_is_found_in_any_notation() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["tomas"]["replies"][0]["say"] = "Approved, 165 EUR on O-5512."

    found = [finding for finding in await find(await case("refund", plant)) if "fact" in finding.details]
    assert {finding.details["fact"] for finding in found} == {"amara.order", "amara.lamp"}
    edits = {edit.value for finding in found for edit in finding.candidates}
    assert edits == {"Approved, 165 EUR on ${amara.order}."}


async def test_a_fact_within_an_expression_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["checks"]["approved-first"]["if"] = "$meant.lamp > 150"

    [found] = [finding for finding in await find(await case("refund", plant)) if "fact" in finding.details]
    assert found.candidates == (Edit("replace", "/checks/approved-first/if", "$meant.lamp > $limit"),)


async def test_the_same_id_in_two_places_should_be_a_fact() -> None:
    def plant(data: dict[str, Any]) -> None:
        for place in (0, 1):
            data["services"]["crm"]["records"]["customers"][place]["region"] = "NW-17"

    found = [f for f in await find(await case("refund", plant)) if f.details["literal"] == "NW-17"]
    assert [finding.details["other"] for finding in found] == ["/services/crm/records/customers/0/region"]


async def test_names_of_the_format_are_no_values() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["tomas"]["replies"][0]["mark"] = "b1-approved"
        data["checks"]["approved-first"]["never"]["before"]["mark"] = "b1-approved"
        for name in ("again", "once-more"):
            data["checks"][name] = {"weight": 1, "expect": {"mark": "b1-approved"}}

    assert await find(await case("refund", plant)) == []


@pytest.mark.parametrize("value", [28, 2.5, "165.00", "O-55", "2026-03-04", "16:30", "a@b.example", "Amara Okafor"])
def test_values_that_tell_something(value: Any) -> None:
    from decimal import Decimal

    assert is_telling(Decimal(str(value)) if isinstance(value, float) else value)


@pytest.mark.parametrize("value", [True, None, 0, 7, 40, "lamp", "active", "30m", "", "Not now", "PX"])
def test_values_that_do_not(value: Any) -> None:
    assert not is_telling(value)


def test_telling_values_are_found_in_prose() -> None:
    prose = "Refund O-5512 (EUR 165.00) by 2026-03-04 or 16:30, and write to a.b@c.example; 7 days, within 30m."
    assert list(told_in(prose)) == ["O-5512", "165.00", "2026-03-04", "16:30", "a.b@c.example"]
