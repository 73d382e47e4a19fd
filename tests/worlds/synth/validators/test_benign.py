"""What makes no difference costs nothing."""

import pytest

from coworkenv.worlds.synth.programs.rewording import continental, dotted_dates, grouped, long_dates, with_currency
from coworkenv.worlds.synth.programs.scenes import scene
from coworkenv.worlds.synth.programs.variations import VARIATIONS
from coworkenv.worlds.synth.validators.benign import find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_does_not_mind_harmless_variations(name: str) -> None:
    assert await find(await case(name)) == []


async def test_every_variation_changes_something_in_some_example() -> None:
    scenes = [await scene(await case(name)) for name in EXAMPLES]
    for name, variation in VARIATIONS.items():
        assert any(variation(known) is not None for known in scenes), name


async def test_a_report_that_must_be_one_message_is_an_error() -> None:
    def plant(data: dict) -> None:
        data["checks"]["short"] = {"gate": True, "expect": {"said": "jo", "at_least": 2}}
        data["oracle"][-2]["text"] += " The rest is well."

    found = await find(await case("reorder", plant))
    assert [finding.details["transform"] for finding in found] == ["merges"]
    assert "short" in found[0].details["failed"]


async def test_a_number_that_must_be_written_in_one_way_is_an_error() -> None:
    def plant(data: dict) -> None:
        data["checks"]["told-lena"]["expect"] = {"said": "lena", "looks_like": "#.00"}
        for twin in data["twins"].values():
            twin.get("checks", {}).pop("told-lena", None)

    found = await find(await case("refund", plant))
    assert {"numbers-continental", "numbers-with-currency"} <= {finding.details["transform"] for finding in found}
    assert all(finding.at == "/checks/told-lena" for finding in found)


async def test_looks_that_cost_points_are_an_error() -> None:
    def plant(data: dict) -> None:
        data["limits"] = {"calls": 4}

    found = await find(await case("refund", plant))
    assert "looks-first" in {finding.details["transform"] for finding in found}


def test_forms_of_numbers_and_dates_leave_ids_times_and_dates_alone() -> None:
    text = "Paid 1234.50 for O-5512 on 2026-05-11 at 10.30:00, see v1.2.3 and 7.x"
    assert "1,234.50 for O-5512" in grouped(text)
    assert "1.234,50 € for O-5512" in continental(text)
    assert "EUR 1234.5 for" in with_currency(text)
    assert with_currency("EUR 12.00") == "EUR 12"
    assert "on 11 May 2026 at" in long_dates(text)
    assert "on 11.05.2026 at" in dotted_dates(text)
    for form in (grouped, continental, with_currency):
        assert form(text).endswith("10.30:00, see v1.2.3 and 7.x")
