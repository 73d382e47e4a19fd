"""What the oracle needs to know, somebody tells when asked so."""

from typing import Any

import pytest

from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators.sufficiency import find

from .planting import EXAMPLES, case, operators, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_in_examples_everything_needed_is_told(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_question_that_is_not_understood_gets_a_wider_reply() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["lena"]["replies"][1]["any"] = ["zurück"]

    found = [f for f in await find(await case("refund", plant)) if f.details.get("slot") == "rma"]
    assert [finding.at for finding in found] == ["/oracle/2"]
    assert found[0].details["rule"] == 1
    assert found[0].details["question"] == "And what is the RMA number?"
    edit = found[0].candidates[0]
    assert (edit.op, edit.path) == ("widen_keywords", "/people/lena/replies/1/any")
    assert "number" in edit.value


async def test_a_word_that_the_question_lacks_need_not_be_there() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["people"]["lena"]["replies"][1]["all"] = ["please"]

    [found] = [f for f in await find(await case("refund", plant)) if f.details.get("slot") == "rma"]
    assert found.candidates[0] == Edit("drop", "/people/lena/replies/1/all/0", cost=2)


async def test_a_slot_that_nobody_gives_gets_a_reply_with_the_fact_of_that_name() -> None:
    found = await find(await case("refund", lambda data: data["people"]["lena"]["replies"].pop(1)))
    [finding] = [finding for finding in found if finding.details.get("slot") == "rma"]
    assert (finding.details["step"], finding.details["told"], "rule" in finding.details) == ("returned", [], False)
    assert operators(finding) == ["add_reply", "drop_step"]
    assert finding.candidates[0].value["gives"] == {"rma": "$rma"}


async def test_a_wait_for_what_is_never_said_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["timeline"][0]["gives"] = {}
        step(data, "hour2")["calc"] = "in_zone(at_time(@change.day, @opens), $there, $here)"

    found = await find(await case("reschedule", plant))
    assert {(finding.details.get("step"), finding.details.get("slot")) for finding in found} >= {("change", "day")}


async def test_a_question_to_which_nobody_ever_replies_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["oracle"].insert(0, {"as": "hello", "ask": "jo", "text": "Shall I begin?", "limit": "1m"})
        del data["people"]["jo"]["otherwise"]

    [found] = await find(await case("reorder", plant))
    assert (found.at, found.details["person"]) == ("/oracle/0", "jo")


async def test_an_argument_that_is_never_known_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        step(data, "lines")["args"]["item"] = "@who.item"
        step(data, "who")["call"] = "crm.customers.find"

    found = [f for f in await find(await case("refund", plant)) if "argument" in f.details]
    assert not found  # a list has no field, so the step fails before it calls

    def null(data: dict[str, Any]) -> None:
        step(data, "lines")["args"]["item"] = "=first(@who).item"

    [finding] = [f for f in await find(await case("refund", null)) if "argument" in f.details]
    assert (finding.at, finding.details["tool"]) == ("/oracle/3/args/item", "shop.lines.find")
