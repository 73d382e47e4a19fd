"""Checks find out an oracle with a mistake in it."""

import pytest

from coworkenv.worlds.synth.operators import apply
from coworkenv.worlds.synth.playing import Case
from coworkenv.worlds.synth.programs.mutants import OPERATORS, Mutant, mutants
from coworkenv.worlds.synth.programs.scenes import scene
from coworkenv.worlds.synth.validators.mutation import find, mutation

from .planting import EXAMPLES, case, operators, step

SOUND = ("kostenstelle", "quote", "refund", "tickets")
"""Examples whose checks let no mutant through."""


async def survivors(known: Case) -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in (await mutation(known)).survivors}


@pytest.mark.parametrize("name", SOUND)
async def test_strong_checks_kill_all_mutants(name: str) -> None:
    found = await mutation(await case(name))
    assert (found.killed, found.survivors) == (found.total, ())
    assert found.total >= 10
    assert await find(await case(name)) == []


async def test_every_operator_makes_mutants_of_some_example() -> None:
    made = set()
    for name in EXAMPLES:
        base = await scene(await case(name))
        made |= {mutant.operator for mutant in mutants(base, base)}
    assert made == set(OPERATORS)


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_mutant_has_one_name_and_is_another_program_than_the_oracle(name: str) -> None:
    base = await scene(await case(name))
    found = list(mutants(base, base))
    assert len({mutant.name for mutant in found}) == len(found)
    assert all(mutant.program.steps != base.steps for mutant in found)


async def test_a_field_that_nobody_looks_at_lets_mutants_through_until_it_is_demanded() -> None:
    def plant(data: dict) -> None:
        del data["checks"]["refunded"]["expect"]["where"]["amount"]
        step(data, "done")["text"] = "Refunded @{lamp.price}, reference @{returned.rma}."

    weak = await case("refund", plant)
    assert {"plus-one:paid.amount", "minus-one:paid.amount", "times-ten:paid.amount"} <= set(await survivors(weak))
    finding = next(one for one in await find(weak) if one.details["mutant"] == "plus-one:paid.amount")
    assert (finding.at, finding.severity) == ("/oracle/8/args/amount", "error")
    first = finding.candidates[0]
    assert (first.op, first.path) == ("add_where", "/checks/refunded/expect/where/amount")
    assert first.value == "$meant.lamp"


async def test_what_may_be_done_twice_survives_until_it_is_counted() -> None:
    def plant(data: dict) -> None:
        data["checks"].pop("only-one")
        del data["checks"]["refunded"]["expect"]["count"]

    weak = await case("refund", plant)
    assert "duplicate:paid" in await survivors(weak)
    finding = next(one for one in await find(weak) if one.details["mutant"] == "duplicate:paid")
    assert operators(finding) == ["add_count", "add_gate"]


async def test_a_value_that_no_check_misses_in_a_report_survives() -> None:
    def plant(data: dict) -> None:
        data["checks"]["told-lena"]["expect"]["mentions"] = ["$meant.lamp"]

    weak = await case("refund", plant)
    assert set(await survivors(weak)) == {"strip-value:done.text-2"}
    [finding] = await find(weak)
    first, *_, last = finding.candidates
    assert (first.op, first.value) == ("replace", ["$meant.lamp", "$rma"])
    assert (last.op, last.path) == ("restyle", "/oracle/9/text")


async def test_acting_before_the_answer_survives_where_no_twin_and_no_gate_speak_against_it() -> None:
    def plant(data: dict) -> None:
        data["checks"].pop("asked-not-guessed")
        data["checks"].pop("approved-first")
        data["twins"] = {}

    weak = await case("refund", plant)
    assert "early:paid.before-returned" in await survivors(weak)
    finding = next(one for one in await find(weak) if one.details["mutant"] == "early:paid.before-returned")
    assert operators(finding) == ["add_gate"]


@pytest.mark.parametrize(
    ("mutant", "op"),
    [("plus-one:paid.amount", "add_where"), ("strip-value:done.text-2", "replace")],
)
async def test_the_first_edit_proposed_kills_the_survivor(mutant: str, op: str) -> None:
    def plant(data: dict) -> None:
        del data["checks"]["refunded"]["expect"]["where"]["amount"]
        data["checks"]["told-lena"]["expect"]["mentions"] = ["$meant.lamp"]
        step(data, "done")["text"] = "Refunded @{lamp.price}, reference @{returned.rma}."

    finding = next(one for one in await find(await case("refund", plant)) if one.details["mutant"] == mutant)
    edit = finding.candidates[0]
    assert edit.op == op

    def mend(data: dict) -> None:
        plant(data)
        data.update(apply(data, edit))

    assert mutant not in await survivors(await case("refund", mend))


async def test_a_mistake_in_a_field_that_is_free_is_none() -> None:
    def plant(data: dict) -> None:
        del data["checks"]["refunded"]["expect"]["where"]["rma"]
        data["checks"]["told-lena"]["expect"]["mentions"] = ["$meant.lamp"]
        data["services"]["payments"]["collections"] = {"refunds": {"free": ["rma"]}}

    assert "sibling:paid.rma" not in await survivors(await case("refund", plant))
