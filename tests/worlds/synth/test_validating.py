"""All validators over one environment: what is asked, in which order, and when the rest makes no sense."""

from pathlib import Path

import msgspec
import pytest

from coworkenv.engine.playing import play_program
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.freezing import case_of, freeze
from coworkenv.worlds.synth.validating import validate
from coworkenv.worlds.synth.validators.registry import FOUNDATIONS, VALIDATORS, affected, chosen

from .errands import PATH, errand, setting
from .validators.planting import EXAMPLES, data_of


def test_there_are_26_validators_each_once_with_a_module_of_its_own() -> None:
    assert sorted(validator.number for validator in VALIDATORS) == list(range(1, 27))
    for validator in VALIDATORS:
        name = validator.find.__module__.rpartition(".")[2]
        assert name.replace("_", "-") in (validator.name, f"{validator.name}-score")


def test_those_that_play_nothing_come_first() -> None:
    levels = [validator.level for validator in VALIDATORS]
    assert levels == sorted(levels, reverse=True)


async def test_static_validators_play_nothing() -> None:
    async def play(world: object, program: object) -> None:
        raise AssertionError("a static validator played something")

    validation = await validate(errand(), play, quick=True)  # type: ignore[arg-type]
    assert {outcome.number for outcome in validation.outcomes} == {v.number for v in VALIDATORS if v.level == "static"}


async def test_a_sound_environment_passes_all() -> None:
    validation = await validate(errand(), play_program)
    assert [outcome.verdict for outcome in validation.outcomes] == ["passed"] * 26
    assert (validation.sound, validation.fair, validation.frame) == (True, True, "missing")
    assert validation.environment.frozen is not None


async def test_where_nobody_can_win_the_rest_is_not_asked() -> None:
    validation = await validate(errand(setting("/oracle/3/args/order", "O-1")), play_program)
    verdicts = {outcome.number: outcome.verdict for outcome in validation.outcomes}
    assert verdicts[4] == "failed"
    after = [v.number for v in VALIDATORS][[v.number for v in VALIDATORS].index(4) + 1 :]
    assert {verdicts[number] for number in after} == {"skipped"}
    assert not validation.sound


async def test_what_cannot_be_compiled_is_told_by_references() -> None:
    validation = await validate(errand(setting("/checks/told/expect/mentions", ["$t1.nothing"])), play_program)
    [first, *rest] = validation.outcomes
    assert (first.number, first.verdict) == (2, "failed")
    assert first.findings[0].at == "/checks/told/expect/mentions/0"
    assert {outcome.verdict for outcome in rest} == {"skipped"}
    assert validation.case is None


async def test_a_change_after_freezing_is_not_fair_though_it_may_be_sound() -> None:
    frozen = msgspec.structs.replace(errand(), frozen=await freeze(errand(), play_program))
    assert (await validate(frozen, play_program)).frame == "fresh"
    changed = await validate(msgspec.structs.replace(frozen, title="Another title"), play_program)
    assert (changed.frame, changed.sound, changed.fair) == ("stale", True, False)


async def test_progress_is_told_before_each() -> None:
    told: list[tuple[int, int, int]] = []
    await validate(errand(), play_program, progress=lambda v, done, total: told.append((v.number, done, total)))
    assert told == [(validator.number, place, 26) for place, validator in enumerate(VALIDATORS)]


async def test_only_some_may_be_asked() -> None:
    validation = await validate(errand(), play_program, only={4, 17})
    assert [outcome.number for outcome in validation.outcomes] == [4, 17]
    with pytest.raises(ValueError, match="no validator 27"):
        chosen({27})


def test_an_edit_anywhere_but_in_what_is_only_read_may_change_anything() -> None:
    assert affected("/facts/a") == affected("") == VALIDATORS
    assert {v.number for v in affected("/traps/x/drop")} >= {3, 9, 18, 25}
    assert {v.number for v in affected("/checks/x")} >= FOUNDATIONS
    assert 13 not in {v.number for v in affected("/checks/x")}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_freezing_an_example_gives_what_is_in_it(name: str) -> None:
    environment = msgspec.convert(data_of(name), type(errand()))
    assert await freeze(environment, play_program) == environment.frozen


async def test_an_environment_that_was_changed_is_looked_at_with_the_frame_that_it_would_have() -> None:
    environment = read_environment(Path(PATH))
    case = await case_of(environment, play_program)
    assert case.environment.frozen is not None
    assert case.environment.frozen.frame == ("payments.payouts:new",)
    assert all(world.frame == ("payments.payouts:new",) for world in case.worlds.values())


async def test_a_case_plays_nothing_again_that_is_only_judged_otherwise() -> None:
    played: list[str] = []

    async def play(world, program):  # type: ignore[no-untyped-def]
        played.append(program.name)
        return await play_program(world, program)

    first = await case_of(errand(), play)
    await first.run(first.oracle())
    del played[:]
    other = await case_of(errand(setting("/checks/told/weight", 3)), play)
    assert "oracle@" in played  # a case of its own plays
    del played[:]
    again = type(first)(other.environment, play, before=first)
    run = await again.run(again.oracle())
    assert (played, run.score) == ([], 1)
    facts = type(first)(errand(setting("/facts/t1/amount", 12)), play, before=first)
    await facts.run(facts.oracle())
    assert played == ["oracle@"]
