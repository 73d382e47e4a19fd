"""Plausible bad agents stay under their ceilings."""

import pytest

from coworkenv.worlds.synth.validators.trap_ceiling import find

from .planting import EXAMPLES, case, operators


@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_traps_of_a_sound_environment_hold(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_trap_that_gets_more_than_its_ceiling_in_all_variants_is_an_error() -> None:
    def plant(data: dict) -> None:
        data["checks"]["approved-first"] = {"weight": 1, "expect": {"mark": "approved"}}

    found = {finding.details["agent"]: finding for finding in await find(await case("refund", plant))}
    finding = found["trap:no-approval"]
    assert (finding.at, finding.severity) == ("/traps/no-approval", "error")
    assert "/checks/approved-first" in [edit.path for edit in finding.candidates if edit.op == "to_gate"]
    assert operators(finding)[-1] == "drop_trap"


async def test_a_trap_that_does_not_fit_the_oracle_is_an_error() -> None:
    def plant(data: dict) -> None:
        data["traps"]["lost"] = {"ceiling": 0, "drop": ["nowhere"]}

    [finding] = await find(await case("refund", plant))
    assert "cannot be played" in finding.observed


async def test_few_traps_are_a_warning() -> None:
    def plant(data: dict) -> None:
        data["traps"] = {"pays-twice": data["traps"]["pays-twice"]}

    [finding] = await find(await case("refund", plant))
    assert (finding.severity, finding.at) == ("warning", "/traps")
