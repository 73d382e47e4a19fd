"""The worked examples: they keep the rules that they teach, and can be won in every twin, but not by cheating."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from importlib.resources import files
from typing import Any

import pytest

from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.events.event import Event
from coworkenv.worlds.checks.scoring import grade
from coworkenv.worlds.compiling import is_stale, variants
from coworkenv.worlds.document import parse
from coworkenv.worlds.expressions import ExpressionError, Node, references
from coworkenv.worlds.expressions import parse as parse_expression
from coworkenv.worlds.reading import problems, read_environment
from coworkenv.worlds.solutions import nodes_in
from coworkenv.worlds.world import World

TEXTS = {
    file.name.removesuffix(".yaml"): file.read_text(encoding="utf-8")
    for file in sorted((files("coworkenv.worlds") / "examples").iterdir(), key=lambda file: file.name)
    if file.name.endswith(".yaml")
}
each_example = pytest.mark.parametrize("name", TEXTS)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


async def played(world: World, agent: str) -> Sequence[Event]:
    episode = await play(Plan(world, build_agent(agent), build_coworkers(world)))
    return episode.events


async def scores(worlds: dict[str, World], agent: str) -> dict[str, Decimal]:
    return {twin: Decimal(grade(world, await played(world, agent)).score) for twin, world in worlds.items()}


@each_example
def test_nothing_is_wrong_with_it(name: str) -> None:
    assert problems(TEXTS[name]) == []


@each_example
def test_it_has_an_oracle_traps_and_twins(name: str) -> None:
    environment = read_environment(TEXTS[name])
    assert environment.oracle
    assert len(environment.traps) >= 4
    assert len(environment.twins) >= 2
    assert environment.capabilities


@each_example
def test_it_is_frozen_as_it_stands(name: str) -> None:
    environment = read_environment(TEXTS[name])
    assert environment.frozen is not None
    assert environment.frozen.frame
    assert not is_stale(environment), f"run: coworkenv env freeze worlds/examples/{name}.yaml"


@each_example
def test_no_value_is_written_twice(name: str) -> None:
    data = parse(TEXTS[name])
    facts = [
        str(leaf) for leaf in leaves(data["facts"]) if isinstance(leaf, (str, Decimal)) and str(leaf)[0] not in "=$"
    ]
    elsewhere = [str(leaf) for key, value in data.items() if key != "facts" for leaf in leaves(value)]
    assert len(set(facts)) == len(facts)
    assert not set(facts) & set(elsewhere)


@each_example
def test_the_oracle_knows_no_position(name: str) -> None:
    def expressions(step: dict[str, Any]) -> Iterator[Node]:
        yield from nodes_in(step)
        for key in ("if", "calc", "each"):
            try:
                yield parse_expression(step.get(key, "null"))
            except ExpressionError:  # pragma: no cover - the first test says so
                continue

    for step in parse(TEXTS[name])["oracle"]:
        for node in expressions(step):
            for reference in references(node):
                assert not any(isinstance(part, int) for part in reference.path), step


@each_example
async def test_the_oracle_wins_in_every_twin(name: str) -> None:
    worlds = variants(read_environment(TEXTS[name]))
    assert set((await scores(worlds, "oracle")).values()) == {Decimal(1)}


@each_example
async def test_doing_nothing_and_only_reading_earn_nothing(name: str) -> None:
    worlds = variants(read_environment(TEXTS[name]))
    for agent in ("noop", "readonly"):
        assert set((await scores(worlds, agent)).values()) == {Decimal(0)}, agent


@each_example
async def test_every_trap_stays_under_its_ceiling_in_some_twin(name: str) -> None:
    environment = read_environment(TEXTS[name])
    worlds = variants(environment)
    for trap, spec in environment.traps.items():
        assert min((await scores(worlds, f"trap:{trap}")).values()) <= spec.ceiling, trap


def test_the_examples_show_many_capabilities_and_more_than_one_language() -> None:
    shown = {capability for text in TEXTS.values() for capability in read_environment(text).capabilities}
    assert len(shown) >= 20
    assert any("故障" in text for text in TEXTS.values())
    assert any("Rechnung" in text for text in TEXTS.values())
