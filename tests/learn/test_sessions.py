"""A training survives whatever happens to it, and ends where it would have ended."""

from __future__ import annotations

import signal
from pathlib import Path
from random import Random

import pytest

from coworkenv.learn.runs import Run
from tests.learn.breaking import PLACES, Broken, Job, breaking, outcome
from tests.learn.workshop import RL, SFT, furnish

COMMANDS = {"sft": (*SFT, "--val", "val.yaml", "--every", "2"), "rl": (*RL, "--credit", "gae", "--epochs", "2")}


def job(name: str, out: str, place: str = "", number: int = 0, what: int = signal.SIGKILL) -> Job:
    return Job([*COMMANDS[name], "--out", out], what if place else 0, place, number)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> dict[str, Broken]:
    """Each command, run to its end."""
    found = breaking(folder, [job(name, f"{name}-whole") for name in COMMANDS], seed=1)
    assert [each.code for each in found] == [0, 0], found
    return dict(zip(COMMANDS, found, strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_anywhere_and_begun_again_it_ends_in_the_same_bits(
    name: str, folder: Path, undisturbed: dict[str, Broken]
) -> None:
    """The other process has another hash seed, too: no bit may come from the order of a set."""
    places, random = undisturbed[name].places, Random(name)
    moments = [(place, random.randint(1, max(1, places[place] // 3))) for place in PLACES if place in places]
    random.shuffle(moments)
    jobs = [job(name, f"{name}-killed", place, number) for place, number in moments]
    found = breaking(folder, [*jobs, job(name, f"{name}-killed")], seed=2)
    assert found[-1].code == 0, found[-1].said
    assert sum(each.code == -signal.SIGKILL for each in found) >= 3
    assert outcome(folder / f"{name}-killed") == outcome(folder / f"{name}-whole")


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [("sft", "backward", 4), ("sft", "sampling", 20), ("rl", "sampling", 40), ("rl", "clipping", 2)],
    ids=["in a step", "in a test", "in rollouts", "in an update"],
)
def test_ctrl_c_keeps_what_there_is_and_the_same_command_goes_on(
    name: str, place: str, number: int, folder: Path, undisturbed: dict[str, Broken]
) -> None:
    out = f"{name}-{place}"
    stopped, again = breaking(folder, [job(name, out, place, number, signal.SIGINT), job(name, out)], seed=3)
    assert stopped.code == 130
    assert stopped.said.strip() == "coworkenv: stopped. The same command goes on where this one was."
    assert again.code == 0
    assert outcome(folder / out) == outcome(folder / f"{name}-whole")


def test_a_run_that_was_stopped_has_a_checkpoint_of_its_last_step(folder: Path) -> None:
    (stopped,) = breaking(folder, [job("sft", "stopped", "backward", 3, signal.SIGINT)], seed=4)
    run = Run.open(folder / "stopped")
    last = run.latest()
    assert (stopped.code, last is not None) == (130, True)
    assert last is not None
    assert last.step == max(row["step"] for row in run.metrics())
