"""Nobody depends on one wording."""

import pytest

from coworkenv.worlds.synth.programs.rewording import mistyped, terse
from coworkenv.worlds.synth.programs.scenes import scene
from coworkenv.worlds.synth.programs.variations import RESTYLED
from coworkenv.worlds.synth.validators.paraphrase import find

from .planting import EXAMPLES, case, operators, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_understands_every_style(name: str) -> None:
    assert await find(await case(name)) == []


async def test_every_style_changes_something() -> None:
    known = await scene(await case("refund"))
    assert all(style(known) is not None for style in RESTYLED.values())


async def test_a_coworker_who_listens_for_punctuation_is_an_error() -> None:
    def plant(data: dict) -> None:
        data["people"]["lena"]["replies"][1]["any"] = ["RMA number?"]
        step(data, "returned")["text"] = "And what is the RMA number?"

    found = await find(await case("refund", plant))
    assert [finding.details["realisation"] for finding in found] == ["terse"]
    assert found[0].details["missed"] == ["lena"]
    assert "widen_keywords" in operators(found[0])


def test_a_slip_of_the_pen_spares_what_counts() -> None:
    assert mistyped("please refund order number O-5512", {"refund"}) == "plaese refund order nubmer O-5512"
    assert mistyped("Tomas wrote anna@example.org", set()) == "Tomas wrtoe anna@example.org"


def test_terse_texts_keep_their_numbers() -> None:
    assert terse("Yes, 1,234.50 on O-1.") == "Yes 1,234.50 on O-1"
