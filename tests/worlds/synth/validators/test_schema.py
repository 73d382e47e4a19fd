"""Nothing in an environment is misspelt, misplaced, or there for nothing."""

from copy import deepcopy
from typing import Any

import pytest

from coworkenv.worlds.document import parse
from coworkenv.worlds.synth.findings import Edit
from coworkenv.worlds.synth.validators import references, schema

from .planting import EXAMPLES, case, data_of, operators

TEXT = """
environment: coworkenv/1
id: a/1
clock: {start: 2026-03-03T09:00}
facts: {lamp: 165}
people:
  lena: {opens: "What does the lamp cost?", replies: [{any: [colour], say: Red., gives: {colour: red}, mark: told}]}
checks:
  told: {weight: 1, expect: {said: lena, mentions: [$lamp]}}
oracle:
  - {as: colour, ask: lena, text: Which colour?}
  - {as: report, say: lena, text: "It is ${lamp}, and @{colour.colour}."}
"""


@pytest.mark.parametrize("name", EXAMPLES)
async def test_examples_have_nothing_that_never_matters(name: str) -> None:
    assert await schema.find(await case(name)) == []


async def test_a_check_that_applies_in_no_variant_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["checks"]["never"] = {"weight": 1, "if": "$limit > 10000", "expect": {"said": "lena"}}

    [found] = await schema.find(await case("refund", plant))
    assert (found.at, found.details) == ("/checks/never", {"check": "never"})
    assert operators(found) == ["drop_check"]


async def test_a_check_that_applies_in_one_twin_only_is_fine() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["checks"]["rare"] = {"weight": 1, "if": "$rma == 'RMA-8820'", "expect": {"said": "lena"}}

    assert await schema.find(await case("refund", plant)) == []


async def test_a_fault_of_a_tool_that_nobody_calls_is_found() -> None:
    def plant(data: dict[str, Any]) -> None:
        data["faults"].append({"tool": "tickets.close", "kind": "timeout"})

    [found] = await schema.find(await case("reorder", plant))
    assert found.at == "/faults/1"
    assert found.details["tool"] == "tickets.close"


@pytest.mark.parametrize(
    ("right", "wrong", "at", "edit"),
    [
        ("weight: 1", "wieght: 1", "/checks/told/wieght", Edit("closest_key", "/checks/told/wieght", "weight")),
        ("opens:", "opnes:", "/people/lena/opnes", Edit("closest_key", "/people/lena/opnes", "opens")),
        ("weight: 1", "weight: 1, qqq: 2", "/checks/told/qqq", Edit("drop", "/checks/told/qqq", cost=2)),
        ("weight: 1", "weight: one", "/checks/told/weight", None),
        ("id: a/1\n", "", "", None),
    ],
)
def test_a_slip_in_the_text_is_a_finding(right: str, wrong: str, at: str, edit: Edit | None) -> None:
    found = schema.findings(TEXT.replace(right, wrong, 1))
    assert at in [finding.at for finding in found]
    assert {finding.validator for finding in found} == {1}
    if edit is not None:
        assert edit in [candidate for finding in found for candidate in finding.candidates]


def test_a_text_that_is_no_document_is_a_finding() -> None:
    [found] = schema.findings("facts: {a: [1")
    assert (found.validator, found.at) == (1, "")


def test_sound_texts_have_none() -> None:
    assert schema.findings(TEXT) == references.findings(TEXT) == []


def test_each_problem_is_found_by_exactly_one_of_the_two() -> None:
    text = TEXT.replace("weight: 1", "wieght: 1").replace("[$lamp]", "[$lmap]").replace("say: lena", "say: leena")
    assert {finding.at for finding in schema.findings(text)} >= {"/checks/told/wieght"}
    assert {finding.at for finding in references.findings(text)} == {"/checks/told/expect/mentions/0", "/oracle/1/say"}


def test_data_is_left_alone() -> None:
    data = parse(TEXT)
    before = deepcopy(data)
    schema.findings(TEXT.replace("weight", "wieght"))
    assert data == before
    assert data_of("refund")["facts"]["rma"] == "RMA-7741"
