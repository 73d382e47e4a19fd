"""Who plays when an environment is validated, frozen or repaired: this engine, by the kernel of every episode."""

from pathlib import Path

import msgspec
import pytest

from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.engine.validation import BEFORE_FREEZING, case_of, freeze, repair, validate
from coworkenv.worlds.checks.scoring import grade
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.reading import read_environment


@pytest.fixture(scope="module")
def refund() -> Environment:
    return read_environment(Path(__file__).parent / "cli" / "desk.yaml")


def replaced(environment: Environment, **parts: object) -> Environment:
    return msgspec.structs.replace(environment, frozen=None, **parts)


async def failed(environment: Environment) -> dict[int, str]:
    """What the validators that failed have seen, by number."""
    validation = await validate(environment)
    return {finding.validator: finding.observed for finding in reversed(validation.errors)}


async def test_a_fair_environment_has_no_errors(refund: Environment) -> None:
    assert await failed(refund) == {}


async def test_an_environment_without_an_oracle_is_not_fair(refund: Environment) -> None:
    assert not (await validate(replaced(refund, oracle=(), traps={}))).fair


async def test_an_oracle_that_does_not_win_everywhere_is_named_with_the_checks_it_fails(refund: Environment) -> None:
    told = await failed(replaced(refund, oracle=refund.oracle[:3], traps={}))
    assert "in the base" in told[4]
    assert "refunded" in told[4]


async def test_a_trap_above_its_ceiling_everywhere_is_found(refund: Environment) -> None:
    harmless = msgspec.structs.replace(next(iter(refund.traps.values())), drop=(), change={}, bind={}, ceiling=0)
    assert "harmless scores at least 1.00" in (await failed(replaced(refund, traps={"harmless": harmless})))[18]


async def test_a_trap_that_names_no_step_cannot_be_played(refund: Environment) -> None:
    broken = msgspec.structs.replace(next(iter(refund.traps.values())), drop=("nothing-like-it",))
    assert "cannot be played" in (await failed(replaced(refund, traps={"broken": broken})))[18]


async def test_freezing_gives_the_same_again_and_makes_what_it_gives_fresh(refund: Environment) -> None:
    frozen = await freeze(refund)
    environment = msgspec.structs.replace(refund, frozen=frozen)
    assert await freeze(environment) == frozen
    assert frozen.frame == ("payments.refunds:new",)
    assert frozen.scores["oracle"] == "1"
    assert (await validate(environment, only=BEFORE_FREEZING)).frame == "fresh"


async def test_a_trap_that_does_not_fit_has_no_score(refund: Environment) -> None:
    broken = msgspec.structs.replace(next(iter(refund.traps.values())), drop=("nothing-like-it",))
    assert list((await freeze(replaced(refund, traps={"broken": broken}))).scores) == ["oracle"]


async def test_a_change_after_freezing_is_not_fair(refund: Environment) -> None:
    environment = msgspec.structs.replace(refund, frozen=await freeze(refund), title="Another title")
    validation = await validate(environment, only=BEFORE_FREEZING)
    assert (validation.sound, validation.fair) == (True, False)


async def test_repair_leaves_a_fair_environment_alone(refund: Environment) -> None:
    assert (await repair(refund)).mends == ()


async def test_what_validators_play_is_graded_as_every_episode_is(refund: Environment) -> None:
    case = await case_of(refund)
    for variant, world in case.worlds.items():
        for agent, program in (("oracle", case.oracle(variant)), ("trap:pays-twice", case.trap("pays-twice", variant))):
            run = await case.run(program, variant)
            episode = await play(Plan(world, build_agent(agent), build_coworkers(world)))
            assert grade(world, run.events).verdicts == run.verdicts
            assert grade(world, episode.events).score == grade(world, run.events).score
