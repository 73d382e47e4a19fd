"""Whoever works in another order that is as good gets as much."""

import pytest

from coworkenv.worlds.synth.programs.orders import bonds, orders
from coworkenv.worlds.synth.programs.scenes import scene
from coworkenv.worlds.synth.validators.order import MOST, find

from .planting import EXAMPLES, case, step


@pytest.mark.parametrize("name", EXAMPLES)
async def test_a_sound_environment_does_not_care_for_accidents_of_order(name: str) -> None:
    assert await find(await case(name)) == []


async def test_a_check_that_wants_one_look_before_another_is_an_error_and_may_be_relaxed() -> None:
    def plant(data: dict) -> None:
        looked = {"called": "kb.policies.find", "after": {"called": "crm.customers.find"}}
        data["checks"]["policy-second"] = {"weight": 1, "expect": looked}

    [finding] = await find(await case("refund", plant))
    assert (finding.at, finding.details["failed"]) == ("/checks/policy-second", ["policy-second"])
    assert ("relax_before", "/checks/policy-second/expect/after") in [(e.op, e.path) for e in finding.candidates]


async def test_a_step_that_says_what_it_uses_keeps_its_place() -> None:
    def plant(data: dict) -> None:
        looked = {"called": "kb.policies.find", "after": {"called": "crm.customers.find"}}
        data["checks"]["policy-second"] = {"weight": 1, "expect": looked}
        step(data, "policies")["uses"] = ["who"]

    assert await find(await case("refund", plant)) == []


@pytest.mark.parametrize("name", EXAMPLES)
async def test_orders_are_different_few_always_the_same_and_respect_what_binds_steps(name: str) -> None:
    sound = await case(name)
    known = await scene(sound)
    found = list(orders(known, sound.environment, MOST))
    assert found == list(orders(known, sound.environment, MOST))
    assert len({program.name for program in found}) == len(found) <= MOST
    assert known.steps not in [program.steps for program in found]
    for program in found:
        places = [known.steps.index(one) for one in program.steps]
        assert sorted(places) == list(range(len(known.steps)))
        for later, before in bonds(known).items():
            assert all(places.index(earlier) < places.index(later) for earlier in before)
