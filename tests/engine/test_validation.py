"""Fair or not: an environment is played by its oracle, its traps and those who do nothing."""

from pathlib import Path

import msgspec
import pytest

from coworkenv.engine.validation import freeze, unused_facts, validate
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.reading import read_environment


@pytest.fixture(scope="module")
def refund() -> Environment:
    return read_environment(Path(__file__).parent / "cli" / "desk.yaml")


def errors(validation):
    return [complaint.kind for complaint in validation.complaints if complaint.severity == "error"]


def replaced(environment, **parts):
    return msgspec.structs.replace(environment, frozen=None, **parts)


async def test_a_fair_environment_has_no_errors(refund):
    validation = await validate(refund)
    assert validation.fair, validation.complaints
    variants = 1 + len(refund.twins)
    assert len(validation.played) == variants * (3 + len(refund.traps))


async def test_an_environment_without_an_oracle_is_not_fair(refund):
    assert "oracle" in errors(await validate(replaced(refund, oracle=(), traps={})))


async def test_an_oracle_that_does_not_win_everywhere_is_named_with_the_checks_it_fails(refund):
    validation = await validate(replaced(refund, oracle=refund.oracle[:3], traps={}))
    told = [complaint.message for complaint in validation.complaints if complaint.kind == "oracle"]
    assert any("in the base" in message and "refunded" in message for message in told)


async def test_a_trap_above_its_ceiling_everywhere_is_found(refund):
    harmless = msgspec.structs.replace(next(iter(refund.traps.values())), drop=(), change={}, bind={}, ceiling=0)
    validation = await validate(replaced(refund, traps={"harmless": harmless}))
    assert errors(validation) == ["trap"]
    assert "harmless scores at least 1.00" in str(validation.complaints)


async def test_a_trap_that_names_no_step_cannot_be_played(refund):
    broken = msgspec.structs.replace(next(iter(refund.traps.values())), drop=("nothing-like-it",))
    validation = await validate(replaced(refund, traps={"broken": broken}))
    assert "cannot be played" in str(validation.complaints)


async def test_a_check_that_nobody_fails_is_a_warning_not_an_error(refund):
    validation = await validate(replaced(refund, traps={}, twins={}))
    unused = [complaint for complaint in validation.complaints if complaint.kind == "unused"]
    assert unused
    assert validation.fair


async def test_freezing_gives_the_same_again_and_makes_what_it_gives_fresh(refund):
    frozen = await freeze(refund)
    environment = msgspec.structs.replace(refund, frozen=frozen)
    assert await freeze(environment) == frozen
    assert frozen.frame == ("payments.refunds:new",)
    assert frozen.scores["oracle"] == "1"
    assert [c.kind for c in (await validate(environment)).complaints if c.kind == "frame"] == []


async def test_a_change_after_freezing_is_an_error(refund):
    environment = msgspec.structs.replace(refund, frozen=await freeze(refund), title="Another title")
    assert "frame" in errors(await validate(environment))


def test_a_fact_is_used_if_it_or_a_part_or_the_whole_of_it_is_referred_to():
    data = {
        "facts": {"whole": {"a": 1, "b": 2}, "parts": {"a": 1, "b": 2}, "alone": 1, "inner": 2, "sum": "=$inner + 1"},
        "people": {"ada": {"opens": "It is ${whole}, and $$alone."}},
        "oracle": [{"say": "ada", "text": "=$parts.a"}, {"say": "ada", "text": "$sum"}],
    }
    assert unused_facts(data) == ["parts.b", "alone"]
