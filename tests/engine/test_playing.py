"""What validation plays in memory is what would have been recorded: the same events, and the same grades."""

from __future__ import annotations

from pathlib import Path

import pytest

from coworkenv.agents.building import build_coworkers
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.playing import Programmed, play_program
from coworkenv.events import MemoryLog
from coworkenv.events.codec import encode
from coworkenv.worlds.checks.scoring import Rubric, grade
from coworkenv.worlds.environment import Step
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.freezing import case_of
from coworkenv.worlds.synth.playing import Case, Program
from coworkenv.worlds.synth.programs.mutants import mutants
from coworkenv.worlds.synth.programs.scenes import scene

EXAMPLES = Path(__file__).parents[2] / "worlds" / "examples"
MUTANTS = 20
ENVIRONMENTS = ("refund", "reschedule", "late-change")


async def programs(case: Case) -> list[tuple[str, Program]]:
    """In the base and in each twin the oracle and the traps, and some mutants of each kind; with their variants."""
    found = [(variant, case.oracle(variant)) for variant in case.worlds]
    found += [(variant, case.trap(name, variant)) for variant, world in case.worlds.items() for name in world.traps]
    base = await scene(case)
    wrong = [
        (variant, mutant.program) for variant in case.worlds for mutant in mutants(await scene(case, variant), base)
    ]
    return [*found, *wrong[:: max(1, len(wrong) // MUTANTS)]]


@pytest.mark.parametrize("name", ENVIRONMENTS)
async def test_a_program_in_memory_gives_the_events_and_the_grade_of_a_recorded_episode(name: str) -> None:
    case = await case_of(read_environment(EXAMPLES / f"{name}.yaml"), play_program)
    played = await programs(case)
    assert len(played) >= len(case.worlds) + len(case.environment.traps) + MUTANTS
    scores = set()
    for variant, program in played:
        world, log = case.worlds[variant], MemoryLog()
        async with log.writing():
            plan = Plan(world=world, agent=Programmed(program), coworkers=build_coworkers(world))
            recorded = await run_episode(plan, log)
        run, events = await case.run(program, variant), list(log.read(recorded.id))
        # The first event holds the document: a case may lend its stream to one that is only judged otherwise.
        assert [encode(event) for event in run.events][1:] == [encode(event) for event in events][1:], program.name
        graded = grade(world, events)
        assert Rubric(world).grade(run.events) == graded, program.name
        assert (str(run.passed), run.verdicts) == (str(graded.passed), graded.verdicts), program.name
        scores.add(graded.score)
    assert len(scores) > 1, "some of them must have done worse than others"


async def test_programs_that_do_the_same_are_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    async def play(world: object, program: Program) -> object:
        played.append(program.name)
        return await play_program(world, program)  # type: ignore[arg-type]

    case = Case(read_environment(EXAMPLES / "refund.yaml"), play)  # type: ignore[arg-type]
    steps = (Step(calc="1 + 1"),)
    one, other = await case.run(Program("one", steps)), await case.run(Program("other", steps))
    assert (one.events, other.program.name) == (other.events, "other")
    await case.run(Program("one with knowledge", steps, {"answer": 1}))
    assert played == ["one", "one with knowledge"]
