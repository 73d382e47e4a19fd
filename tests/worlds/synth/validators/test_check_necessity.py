"""Each check must be failed by somebody."""

import pytest

from coworkenv.worlds.synth.validators.check_necessity import find

from .planting import EXAMPLES, case


@pytest.mark.parametrize("name", EXAMPLES)
async def test_each_check_of_a_sound_environment_is_failed_by_somebody(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_weight_that_everybody_gets_is_an_error_and_could_be_a_gate_or_nothing() -> None:
    def plant(data: dict) -> None:
        data["checks"]["kind"] = {"weight": 1, "never": {"said": "lena", "mentions": ["idiot"]}}

    [finding] = await find(await case("refund", plant))
    assert (finding.at, finding.severity) == ("/checks/kind", "error")
    edits = [(edit.op, edit.path) for edit in finding.candidates]
    assert edits == [("to_gate", "/checks/kind"), ("drop_check", "/checks/kind")]


async def test_a_gate_that_nobody_trips_is_a_warning() -> None:
    def plant(data: dict) -> None:
        data["traps"].pop("pays-twice")

    [finding] = await find(await case("refund", plant))
    assert (finding.details["check"], finding.severity, finding.candidates) == ("only-one", "warning", ())


async def test_a_check_of_a_twin_is_told_where_the_twin_has_it() -> None:
    def plant(data: dict) -> None:
        data["twins"]["refused"]["checks"]["kind"] = {"weight": 1, "never": {"said": "lena", "mentions": ["idiot"]}}

    [finding] = await find(await case("refund", plant))
    assert finding.at == "/twins/refused/checks/kind"
