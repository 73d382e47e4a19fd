"""There is time enough, at half the speed too, and what the timeline holds happens."""

import pytest

from coworkenv.worlds.durations import microseconds
from coworkenv.worlds.synth.validators.timing import find, slowed

from .planting import EXAMPLES, case, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_leaves_time_enough(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_deadline_that_is_too_near_is_moved_so_that_it_suffices() -> None:
    def plant(deadline: str) -> object:
        return lambda data: data["clock"].update(deadline=deadline)

    found = await find(await case("refund", plant("80m")))
    [finding] = [finding for finding in found if finding.at == "/clock/deadline"]
    [edit] = finding.candidates
    assert microseconds(edit.value) * 7 >= microseconds(finding.details["done"]) * 10
    assert await find(await case("refund", plant(edit.value))) == []


async def test_a_solution_that_only_works_at_full_speed_is_found_and_could_be_more_patient() -> None:
    def plant(data: dict) -> None:
        data["clock"]["message"] = "1m"
        step(data, "which")["limit"] = "7m"

    [finding] = await find(await case("refund", plant))
    assert finding.severity == "error"
    assert "refunded" in finding.details["failing"]
    edits = [(edit.op, edit.path, edit.value) for edit in finding.candidates]
    assert edits == [("shift_event", "/oracle/1/limit", "14m")]


async def test_where_only_an_order_of_times_suffers_it_is_a_warning() -> None:
    def plant(data: dict) -> None:
        data["timeline"] = [{"name": "call", "at": "500s"}]
        claim = {"said": "tomas", "before": {"fired": "call"}}
        data["checks"]["early"] = {"weight": 1, "if": "$meant.lamp > $limit", "expect": claim}

    [finding] = await find(await case("refund", plant))
    assert (finding.severity, finding.details["failing"]) == ("warning", ["early"])


async def test_everything_takes_twice_as_long_in_a_slower_world() -> None:
    world = (await case("escalation")).worlds[""]
    assert slowed(world).call == 2 * world.call
    assert slowed(world).message == 2 * world.message


@pytest.mark.parametrize(
    ("entry", "operator"),
    [
        ({"name": "late", "at": "3h"}, "shift_event"),
        ({"name": "late", "when": {"said": "lena"}, "after": "5h"}, "shift_event"),
        ({"name": "late", "when": {"called": "payments.refunds.create", "args": {"amount": 1}}}, "re_anchor"),
    ],
)
async def test_what_never_happens_is_found_and_brought_into_the_work(entry: dict, operator: str) -> None:
    [finding] = await find(await case("refund", lambda data: data.update(timeline=[entry])))
    assert (finding.at, finding.details) == ("/timeline/0", {"event": "late"})
    edit = finding.candidates[0]
    assert edit.op == operator
    key = edit.path.rpartition("/")[2]
    mended = {**entry, key: edit.value}
    assert await find(await case("refund", lambda data: data.update(timeline=[mended]))) == []


async def test_it_is_enough_if_a_trap_makes_it_happen() -> None:
    entry = {"name": "paid", "when": {"called": "payments.refunds.create"}}  # the oracle is done at that moment

    def plant(data: dict) -> None:
        data["timeline"] = [entry]

    def plant_without_the_trap(data: dict) -> None:
        plant(data)
        data["traps"].pop("pays-twice")

    assert await find(await case("refund", plant)) == []
    assert await find(await case("refund", plant_without_the_trap))
