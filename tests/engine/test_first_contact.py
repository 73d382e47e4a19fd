"""The held-out operators make mutants, and what becomes of those is counted as the mutation validator counts."""

from collections import Counter
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from click.testing import CliRunner

from coworkenv.engine.playing import play_program
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.freezing import case_of
from coworkenv.worlds.synth.programs.held_out import HELD_OUT, STANDS_FOR
from coworkenv.worlds.synth.programs.mutants import Mutant, mutants
from coworkenv.worlds.synth.programs.scenes import Scene, scene

from .first_contact.__main__ import main
from .first_contact.meeting import files as found_in
from .first_contact.meeting import meet

CAPABILITIES = {f"{group}{number}" for group in "ABCDEFGH" for number in range(1, 5)}
RARE = {
    "interrogates-the-coworker",
    "uses-the-first-reading",
    "pastes-a-secret",
    "counts-weekends",
    "rounds-before-summing",
}
"""What no example has an occasion for."""


@pytest.fixture(scope="module")
def examples() -> Iterator[Path]:
    with as_file(files("coworkenv.worlds") / "examples") as folder:
        yield folder


async def made(path: Path) -> list[Mutant]:
    """The mutants of all variants."""
    case = await case_of(read_environment(path), play_program)
    base = await scene(case)
    return [each for variant in case.worlds for each in mutants(await scene(case, variant), base, HELD_OUT)]


def test_every_capability_has_an_operator_for_its_failure() -> None:
    assert set(STANDS_FOR.values()) == CAPABILITIES


async def test_operators_make_mutants_under_their_own_names(examples: Path) -> None:
    counts = Counter([mutant.operator for path in found_in(examples) for mutant in await made(path)])
    assert set(counts) == set(HELD_OUT) - RARE


async def test_a_mutant_is_another_program_than_the_oracle_and_has_one_name(examples: Path) -> None:
    for path in found_in(examples):
        case = await case_of(read_environment(path), play_program)
        base = await scene(case)
        for variant in case.worlds:
            known = await scene(case, variant)
            programs = list(mutants(known, base, HELD_OUT))
            assert len({mutant.name for mutant in programs}) == len(programs)
            assert all(mutant.program.steps != known.steps or mutant.program.seen for mutant in programs)


async def test_what_is_killed_and_what_survives_is_all_that_counts(examples: Path) -> None:
    meeting = await meet(examples / "refund.yaml")
    assert meeting.broken == ()
    assert sum(count.total for count in meeting.counts.values()) >= 20
    assert sum(count.total - count.killed for count in meeting.counts.values()) == len(meeting.survivors)
    assert all(count.stopped <= count.killed <= count.total for count in meeting.counts.values())


async def test_an_operator_that_fails_is_named_and_the_others_count(examples: Path) -> None:
    def fails(scene: Scene, base: Scene) -> Iterator[Mutant]:
        raise LookupError("nothing there")

    meeting = await meet(examples / "refund.yaml", {"fails": fails, "stops-work": HELD_OUT["stops-work"]})
    assert meeting.broken == ("fails: LookupError: nothing there",)
    assert meeting.counts["fails"].total == 0 < meeting.counts["stops-work"].total


def test_the_command_samples_and_sums_up(examples: Path) -> None:
    shown = CliRunner().invoke(main, [str(examples), "--sample", "1"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("1 environments")


def test_the_command_says_that_a_folder_is_empty(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, [str(tmp_path)])
    assert shown.exit_code == 1
    assert "synth make" in shown.output
