"""What is referred to is there, and what is there is referred to."""

from typing import Any

import pytest

from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators import references
from coworkenv.worlds.synth.validators.references import find, unused_facts

from .planting import EXAMPLES, case, operators
from .test_schema import TEXT


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_refer_to_nothing_in_vain(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_fact_that_nobody_uses_is_a_warning() -> None:
    [found] = await find(await case("refund", lambda data: data["facts"].update(shoe={"size": 39})))
    assert (found.severity, found.at) == ("warning", "/facts/shoe/size")
    assert found.candidates == (Edit("drop_fact", "/facts/shoe/size"),)


def test_a_fact_is_used_if_it_or_a_part_or_the_whole_of_it_is_referred_to() -> None:
    data = {
        "facts": {"whole": {"a": 1, "b": 2}, "parts": {"a": 1, "b": 2}, "alone": 1, "inner": 2, "sum": "=$inner + 1"},
        "people": {"ada": {"opens": "It is ${whole}, and $$alone."}},
        "checks": {"c": {"weight": 1, "if": "$cond > 1", "expect": {"said": "ada"}}},
        "oracle": [{"say": "ada", "text": "=$parts.a"}, {"say": "ada", "text": "$sum"}],
        "twins": {"t": {"oracle": [{"as": "x", "calc": "$twin * 2"}]}},
    }
    assert unused_facts(data) == ["parts.b", "alone"]
    data["facts"] |= {"cond": 2, "twin": 3, "dotted.name": 4}
    assert unused_facts(data) == ["parts.b", "alone", "dotted.name"]


async def test_a_record_that_names_another_in_vain_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["services"]["shop"]["records"]["lines"][3]["customer"] = "C-85"

    found = await find(await case("refund", plant))
    assert [finding.at for finding in found] == ["/services/shop/records/lines/3/customer"]
    assert found[0].details["other"] == "crm.customers"
    assert operators(found[0])[0] == "create_row"
    assert found[0].candidates[0].value["id"] == "C-85"
    assert found[0].candidates[1] == Edit("replace", "/services/shop/records/lines/3/customer", "C-58")


async def test_words_that_happen_to_be_no_ids_are_no_foreign_keys() -> None:
    def plant(data: dict[str, Any]) -> None:
        for line, colour in zip(data["services"]["shop"]["records"]["lines"], ("red", "blue", "C", "green")):
            line["colour"] = colour

    assert await find(await case("refund", plant)) == []


async def test_somebody_with_nothing_to_say_is_found() -> None:
    [found] = await find(await case("refund", lambda data: data["people"].update(otto={"role": "driver"})))
    assert (found.at, found.details) == ("/people/otto", {"person": "otto"})


async def test_a_reply_whose_milestone_waits_for_itself_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        replies = data["people"]["lena"]["replies"]
        replies.append({"any": ["warehouse"], "say": "Later.", "needs": "late"})
        replies.append({"any": ["later"], "say": "Now.", "needs": "late", "mark": "late"})

    found = await find(await case("refund", plant))
    assert [finding.at for finding in found] == [f"/people/lena/replies/{place}/needs" for place in (2, 3)]


@pytest.mark.parametrize(
    ("right", "wrong", "at", "edit"),
    [
        ("[$lamp]", "[$lmap]", "/checks/told/expect/mentions/0", "$lamp"),
        ("say: lena", "say: leena", "/oracle/1/say", "lena"),
        ("{said: lena,", "{said: lenna,", "/checks/told/expect/said", "lena"),
        ("@{colour.colour}", "@{colouur.colour}", "/oracle/1/text", "It is ${lamp}, and @{colour.colour}."),
        ("expect: {said: lena, mentions: [$lamp]}", "expect: {mark: tolld}", "/checks/told/expect/mark", "told"),
    ],
)
def test_a_reference_that_leads_nowhere_is_mended_by_the_nearest(right: str, wrong: str, at: str, edit: str) -> None:
    [found] = references.findings(TEXT.replace(right, wrong, 1))
    assert (found.validator, found.at) == (2, at)
    assert found.candidates == (Edit("replace", at, edit),)


def test_an_argument_that_a_tool_does_not_have_is_renamed() -> None:
    text = TEXT.replace("people:", "services: {kb: {use: kb}}\npeople:").replace(
        "oracle:", "oracle:\n  - {as: rules, call: kb.search, args: {qery: lamp}}"
    )
    found = [edit for finding in references.findings(text) for edit in finding.candidates]
    assert found == [Edit("closest_key", "/oracle/0/args/qery", "query")]
