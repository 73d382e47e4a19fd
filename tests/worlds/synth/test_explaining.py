"""Why things are there: whose they are, and what would go unnoticed without them."""

import pytest

from coworkenv.engine.playing import play_program
from coworkenv.worlds.synth.explaining import CORE, Explanation, Reason, explain, owner
from coworkenv.worlds.synth.freezing import case_of

from .errands import Plant, errand, setting


async def explained(plant: Plant | None = None) -> Explanation:
    return await explain(await case_of(errand(plant), play_program))


def named(reasons: tuple[Reason, ...], name: str) -> Reason:
    return next(reason for reason in reasons if reason.name == name)


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("a1-asked", "A1"),
        ("a1_answer", "A1"),
        ("h4", "H4"),
        ("done", CORE),
        ("a10-x", CORE),
        ("i1-x", CORE),
        ("a1x", CORE),
    ],
)
def test_the_beginning_of_a_name_says_whose_it_is(name: str, capability: str) -> None:
    assert owner(name) == capability


async def test_everything_is_explained() -> None:
    found, environment = await explained(), errand()
    assert {reason.name for reason in found.checks} == set(environment.checks)
    assert {reason.name for reason in found.twins} == set(environment.twins)
    assert {reason.name for reason in found.traps} == set(environment.traps)
    assert {reason.name for reason in found.facts} == set(environment.facts)
    assert [reason.name for reason in found.steps] == [step.name for step in environment.oracle]


async def test_a_check_is_needed_for_those_who_fail_it() -> None:
    check = named((await explained()).checks, "a1-asked")
    assert check.what == "weight 2: expect gave greta.a1"
    assert check.why == "The day was asked for first."
    assert {"trap a1-guesses", "without a1_answer"} <= set(check.needed)


async def test_a_trap_says_what_it_gets_and_what_it_fails() -> None:
    trap = named((await explained()).traps, "does-it-twice")
    assert trap.what == "at most 0, gets 0.00 in the base"
    assert "once" in trap.needed


async def test_a_step_is_needed_for_what_fails_without_it() -> None:
    found = await explained()
    assert "told" in named(found.steps, "report").needed
    assert named(found.steps, "order").needed == ()  # only computes


async def test_a_fact_is_needed_where_it_is_used_and_a_twin_says_what_it_flips() -> None:
    found = await explained(setting("/facts/spare", 1))
    fact = named(found.facts, "a1")
    assert fact.what == "differs in a1-other, a1-later"
    assert {"people.greta", "checks.a1-day"} <= set(fact.needed)
    assert named(found.facts, "spare").needed == ()
    assert named(found.twins, "a1-other").what == "facts.a1.value"


async def test_a_trap_that_does_not_fit_is_said_not_to() -> None:
    found = await explained(setting("/traps/a1-guesses/drop", ["nothing"]))
    assert named(found.traps, "a1-guesses").what == "does not fit the oracle"
