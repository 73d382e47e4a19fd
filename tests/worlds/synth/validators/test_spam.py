"""Saying everything to everyone earns nothing, and neither does guessing what people listen to."""

import pytest

from coworkenv.worlds.synth.operators import apply
from coworkenv.worlds.synth.validators.spam import find

from .planting import EXAMPLES, case, operators


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_gives_nothing_to_spam(name: str) -> None:
    assert await find(await case(name)) == []


async def test_points_for_words_alone_are_an_error() -> None:
    def plant(data: dict) -> None:
        told = {"weight": 1, "expect": {"said": "yasmin", "mentions": ["$rechnung.nr"]}}
        data["checks"] = {"gebucht": data["checks"]["gebucht"], "told": told}
        rechnungen = data["services"]["buchhaltung"]["collections"]["rechnungen"]
        rechnungen["free"] = ["projekt", "betrag", "kostenstelle", "status"]  # nobody minds what is written there

    [finding] = await find(await case("kostenstelle", plant))
    assert (finding.details["agent"], finding.at) == ("spam", "/checks/told")
    stricter = next(edit for edit in finding.candidates if edit.op == "to_gate")
    assert stricter.path == "/checks/gebucht"
    assert await find(await case("kostenstelle", lambda data: (plant(data), data.update(apply(data, stricter))))) == []


async def test_people_who_tell_everything_to_one_message_are_an_error_unless_they_must_be_asked_specifically() -> None:
    def plant(tells: str) -> object:
        def change(data: dict) -> None:
            lena = data["people"]["lena"]["replies"]
            lena.append({"any": ["parcel"], "say": "DHL.", "gives": {"carrier": "DHL"}})
            for reply in lena:
                reply["tells"] = tells
            for name in ("named-both", "told-lena", "no-needless-ask", "approved-first"):
                data["checks"].pop(name)
            data["people"]["tomas"]["replies"][0]["all"] = ["refund"]
            data["twins"] = {"other-customer": data["twins"]["other-customer"]}

        return change

    [finding] = await find(await case("refund", plant("on_ask")))
    assert finding.details["agent"] == "keyword-bag"
    assert set(operators(finding)) == {"split_rule"}
    assert await find(await case("refund", plant("on_specific_ask"))) == []
