"""What flows where in a program: written out for the worked examples, and as laws for all of them."""

from importlib.resources import files

import pytest

from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.environment import Step
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.validators.dataflow import (
    arguments,
    dependencies,
    labels,
    slots,
    sources,
    uses,
    writers,
    writes,
)
from coworkenv.worlds.world import World

NAMES = sorted(
    file.name.removesuffix(".yaml")
    for file in (files("coworkenv.worlds") / "examples").iterdir()
    if file.name.endswith(".yaml")
)


def example(name: str) -> World:
    return compile_environment(
        read_environment((files("coworkenv.worlds") / "examples" / f"{name}.yaml").read_text(encoding="utf-8"))
    )


def test_a_step_uses_the_steps_whose_values_stand_in_it_and_those_it_names() -> None:
    step = Step(
        name="paid",
        call="payments.create",
        args={"order": "@which.order", "note": "For @{=join(each(@lines as l, l.id), ', ')}", "deep": ["@a[0]"]},
        condition="@limit > 5",
        uses=("asked",),
    )
    assert uses(step) == {"which", "lines", "a", "limit", "asked"}
    assert sources(step, step.args["order"]) == {"which"}
    assert arguments(Step(call="t", args={"a": "@b.c", "d": "plain"})) == {"a": "@b.c"}


def test_an_item_comes_from_where_its_list_comes_from() -> None:
    step = Step(call="t", each="where(@low as part, part.n > @least)", args={"sku": "=it.sku"})
    assert sources(step, "=it.sku") == {"low", "least"}


def test_dependencies_are_transitive() -> None:
    world = example("refund")
    found = dependencies(world.oracle)
    assert found["who"] == frozenset()
    assert found["lamp"] == {"lines", "which", "who"}
    assert found["paid"] >= {"which", "lamp", "lines", "returned", "policy", "policies", "approval"}
    assert found["approval"] >= {"policy", "lamp", "which"}


def test_steps_without_a_name_are_called_by_their_place() -> None:
    steps = [Step(name="a", calc="1"), Step(calc="@a"), Step(name="a", calc="2")]
    assert labels(steps) == ["a", "#2", "#3"]
    assert dependencies(steps)["#2"] == {"a"}


def test_slots_are_the_fields_that_others_use() -> None:
    found = slots(example("refund").oracle)
    assert found["which"] == {"order"}
    assert found["approval"] == {"ok"}
    assert found["policies"] == frozenset()


def test_what_writes_is_what_calls_a_tool_that_may_change_records() -> None:
    world = example("refund")
    assert list(writers(world.oracle, world.routes)) == ["paid"]
    assert [step.name for step in world.oracle if writes(step, world.routes)] == ["paid"]


@pytest.mark.parametrize("name", NAMES)
def test_no_step_of_an_example_depends_on_itself_or_on_a_later_one(name: str) -> None:
    steps = example(name).oracle
    found, earlier = dependencies(steps), set[str]()
    for label in labels(steps):
        assert found[label] <= earlier
        assert all(found[other] <= found[label] for other in found[label])
        earlier.add(label)
