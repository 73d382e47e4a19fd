"""A case under a frame: what freezing gives a world, without compiling anything again."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.engine.playing import play_program
from coworkenv.worlds.compiling import compile_environment, rebuild, variants
from coworkenv.worlds.environment import Environment, Frozen
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.freezing import framed
from coworkenv.worlds.synth.playing import Case

from .errands import errand

EXAMPLES = Path(__file__).parents[3] / "worlds" / "examples"


@pytest.fixture
def environment() -> Environment:
    return errand()


async def test_a_case_under_a_frame_has_the_worlds_that_the_frozen_environment_is_compiled_to(
    environment: Environment,
) -> None:
    case = await framed(environment, play_program)
    for variant, world in variants(case.environment).items():
        other = case.worlds[variant]
        assert other.document == world.document
        assert other.frame == world.frame is not None
        assert other.state == world.state
        assert rebuild(other.document).document == world.document


def test_a_case_under_a_frame_leaves_the_one_before_as_it_was(environment: Environment) -> None:
    case = Case(environment, play_program)
    documents = {variant: world.document for variant, world in case.worlds.items()}
    under = case.under(Frozen(digest="0" * 64, frame=("a.b:new",)))
    assert {variant: world.document for variant, world in case.worlds.items()} == documents
    assert all(world.frame == ("a.b:new",) for world in under.worlds.values())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_variants_are_those_that_are_compiled_one_by_one(path: Path) -> None:
    environment = read_environment(path)
    for variant, world in variants(environment).items():
        assert world.document == compile_environment(environment, variant or None).document
