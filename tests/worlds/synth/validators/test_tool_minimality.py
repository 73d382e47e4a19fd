"""Services are there for something, and no record says what a coworker should be asked."""

import pytest

from coworkenv.worlds.synth.validators.tool_minimality import find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_has_no_tool_too_many(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_service_that_nobody_calls_is_a_warning_and_can_be_dropped() -> None:
    [finding] = await find(await case("refund", lambda data: data["services"].update(chat={"use": "chat"})))
    assert (finding.at, finding.severity) == ("/services/chat", "warning")
    assert [(edit.op, edit.path) for edit in finding.candidates] == [("drop_tool", "/services/chat")]


async def test_a_service_that_misleads_a_trap_is_there_for_something() -> None:
    def plant(data: dict) -> None:
        data["services"]["todo"] = {"use": "todo"}
        data["traps"]["dawdles"] = {"ceiling": 1, "add": [{"call": "todo.tasks.find"}]}

    assert await find(await case("refund", plant)) == []


async def test_a_field_that_always_says_what_must_be_asked_is_found_and_can_be_dropped() -> None:
    def plant(data: dict) -> None:
        for customer in data["services"]["crm"]["records"]["customers"]:
            customer["note"] = "none"
        data["services"]["crm"]["records"]["customers"][1]["note"] = "$rma"

    [finding] = await find(await case("refund", plant))
    assert finding.details == {
        "slot": "lena.rma",
        "cell": "crm.customers:C-58.note",
        "tools": ["crm.customers.find"],
    }
    assert [(edit.op, edit.path) for edit in finding.candidates] == [("drop", "/services/crm/records/customers/1/note")]


async def test_a_field_that_says_it_in_one_variant_only_is_a_candidate_like_others() -> None:
    def plant(data: dict) -> None:
        data["services"]["crm"]["records"]["customers"][1]["note"] = "RMA-7741"
        data["services"]["crm"]["records"]["customers"][0]["note"] = "RMA-8820"

    assert await find(await case("refund", plant)) == []


async def test_what_no_tool_reads_gives_nothing_away() -> None:
    def plant(data: dict) -> None:
        data["services"]["crm"]["records"]["archive"] = [{"id": "A-1", "note": "$rma"}]

    assert await find(await case("refund", plant)) == []
