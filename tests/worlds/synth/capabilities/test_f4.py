"""F4: what people say becomes a code of a list, and a number in the house's unit."""

import pytest

from coworkenv.events.event import ToolReturned
from coworkenv.worlds.synth.capabilities.f4 import MEASURES, PHRASES, PLACES

from .trying import Setting, assert_fair, facts, failed, settings, tried


@pytest.mark.parametrize("setting", settings("F4"), ids=str)
async def test_fair_alone_and_with_others(setting: Setting) -> None:
    await assert_fair(setting)


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_request_has_words_and_neither_code_nor_unit(language: str) -> None:
    said = set()
    for seed in range(8):
        case = await tried("F4", language=language, seed=seed)
        request = " ".join(opening.text for opening in case.worlds[""].openings)
        assert any(level in request for level in PHRASES[language]["levels"])
        assert not any(facts(case)["f4"][place] in request for place in PLACES)
        assert not any(sign.isdecimal() for sign in request)
        said |= {m.name for m in MEASURES if any(words in request for words in m.words[language].values())}
    assert said == {measure.name for measure in MEASURES}


async def test_the_code_and_the_unit_flip() -> None:
    for seed in range(4):
        case = await tried("F4", seed=seed)
        base, codes, unit = (facts(case, variant)["f4"] for variant in ("", "f4-other-codes", "f4-other-unit"))
        assert {base[place] for place in PLACES} == {codes[place] for place in PLACES}
        assert [base[place] for place in PLACES] != [codes[place] for place in PLACES]
        assert base["unit"] != unit["unit"]


async def test_free_text_where_a_code_is_due_is_refused() -> None:
    for family in ("refunds", "leave"):
        case = await tried("F4", family=family)
        run = await case.run(case.trap("f4-writes-what-was-said"))
        assert run.score == 0
        assert any(isinstance(event.body, ToolReturned) and event.body.error for event in run.events)


async def test_the_number_as_it_was_said_is_wrong() -> None:
    for seed in range(6):
        case = await tried("F4", seed=seed)
        assert any(name.startswith("f4-") for name in await failed(case, "f4-keeps-the-unit"))
