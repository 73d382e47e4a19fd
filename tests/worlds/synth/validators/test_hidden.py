"""Nobody gives anything away to whoever asks for nothing."""

from typing import Any

import pytest

from coworkenv.worlds.coworker import rulebook
from coworkenv.worlds.environment import Person, Reply
from coworkenv.worlds.matching import Reading
from coworkenv.worlds.synth.validators.hidden import PROBES, find

from .planting import EXAMPLES, case, operators


def eats(*words: str) -> Any:
    """Dana tells the dish to whoever says one of these words."""
    return lambda data: data["people"]["dana"]["replies"][0].update(any=list(words))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "late-change"])
async def test_sound_coworkers_keep_to_themselves_what_nobody_asks_for(name: str) -> None:
    assert await find(await case(name)) == []


async def test_words_of_the_matter_are_good_keywords() -> None:
    assert await find(await case("late-change", eats("which", "dish", "menu"))) == []


async def test_a_word_that_stands_in_any_message_gives_the_fact_away_and_is_taken_out() -> None:
    [finding] = await find(await case("late-change", eats("dish", "thanks", "hello", "menu")))
    assert finding.at == "/people/dana/replies/0"
    assert finding.details["person"] == "dana"
    assert finding.details["gives"] == {"dish": "vegetarian"}
    [edit, _] = finding.candidates
    assert (edit.op, edit.path) == ("split_rule", "/people/dana/replies/0/any")
    assert edit.value == ["dish", "thanks", "menu"]


async def test_where_no_keyword_is_left_the_environment_is_to_be_made_anew() -> None:
    [finding] = await find(await case("late-change", eats("danke", "dank", "everything")))
    assert operators(finding)[-1] == "re_solve"


async def test_an_approval_is_no_answer_to_a_greeting() -> None:
    def plant(data: dict) -> None:
        data["people"]["tomas"]["replies"].append({"any": ["good morning"], "say": "Approved.", "mark": "approved"})

    [finding] = await find(await case("refund", plant))
    assert (finding.details["gives"], finding.details["marks"]) == ({}, ["approved"])


async def test_a_rule_of_a_twin_is_told_where_the_twin_has_it() -> None:
    def plant(data: dict) -> None:
        data["twins"]["refused"]["people"]["tomas"]["replies"][0]["any"].append("weather")

    [finding] = await find(await case("refund", plant))
    assert finding.at == "/twins/refused/people/tomas/replies/0"
    assert finding.candidates[0].value == ["$meant.order"]


async def test_what_is_said_to_anything_does_not_say_what_is_hidden() -> None:
    def plant(data: dict) -> None:
        data["people"]["lena"]["otherwise"] = "Is it about ${rma}?"

    found = await find(await case("refund", plant))
    assert {finding.at for finding in found} == {"/people/lena/otherwise"}
    assert operators(found[0]) == ["restyle"]


async def test_the_probes_ask_for_nothing_in_two_languages() -> None:
    assert len(set(PROBES)) == len(PROBES) >= 20
    task = ("order", "customer", "refund", "which", "price", "when is", "Bestellung", "Rechnung", "welche")
    person = Person(replies=(Reply(any=task),))
    [rule] = rulebook(person).rules
    assert not any(rule.is_heard_in(Reading(probe)) for probe in PROBES)
