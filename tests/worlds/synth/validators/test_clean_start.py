"""What earns points must not be there at the start."""

import pytest

from coworkenv.worlds.synth.validators.clean_start import find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_starts_with_nothing_done(name: str) -> None:
    assert await find(await case(name)) == []


async def test_an_assigned_ticket_need_not_be_assigned() -> None:
    def plant(data: dict) -> None:
        data["services"]["tickets"]["records"]["tickets"][1]["assignee"] = "$second.person"

    found = await find(await case("escalation", plant))
    finding = found[0]
    assert finding.details == {"check": "assigned", "row": "tickets.tickets:T-610", "field": "assignee"}
    edit = finding.candidates[0]
    assert (edit.op, edit.path) == ("perturb", "/services/tickets/records/tickets/1/assignee")
    assert edit.value != "omar"


async def test_a_meeting_that_is_where_it_should_be_is_moved_by_a_day() -> None:
    def plant(data: dict) -> None:
        data["services"]["calendar"]["records"]["events"][0]["start"] = "$wanted.free"

    finding = (await find(await case("reschedule", plant)))[0]
    assert finding.details["field"] == "start"
    assert finding.candidates[0].value == "2026-03-14T08:00"


async def test_a_status_gets_another_one_of_its_choices() -> None:
    def plant(data: dict) -> None:
        data["services"]["buchhaltung"]["records"]["rechnungen"][1].update(kostenstelle="$richtig", status="gebucht")
        data["checks"]["gebucht"]["expect"]["where"].pop("kostenstelle")

    finding = (await find(await case("kostenstelle", plant)))[0]
    assert (finding.details["field"], finding.candidates[0].value) == ("status", "offen")


async def test_an_expected_absence_may_hold_at_the_start() -> None:
    def plant(data: dict) -> None:
        data["checks"]["few"] = {"weight": 1, "expect": {"record": "payments.refunds", "count": 0}}

    assert await find(await case("refund", plant)) == []


async def test_a_gate_may_hold_at_the_start() -> None:
    def plant(data: dict) -> None:
        data["checks"]["lines"] = {"gate": True, "expect": {"record": "shop.lines", "where": {"item": "lamp"}}}

    assert await find(await case("refund", plant)) == []
