"""A card says what a run was: from its folder alone, the same each time."""

from __future__ import annotations

import json
import platform
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from coworkenv.engine import wall
from coworkenv.engine.cli.failures import Told
from coworkenv.engine.cli.places import examples
from coworkenv.events.sqlite import SqliteLog
from coworkenv.learn.card import card, hardware, markdown, versions, write_card
from coworkenv.learn.evaluating import FOLDER, Evaluation, write_evaluation
from coworkenv.learn.hacking import NO_CHECKS, NO_LEXICON, Hacking, gap, worth, write_hacking
from coworkenv.learn.runs import Run
from coworkenv.learn.splits import read_split, write_opening
from tests.learn.scoring import scored

CONFIG = {
    "command": "rl",
    "mode": "lockstep",
    "seed": 3,
    "threads": 1,
    "weights": "a" * 64,
    "train": {"path": "set/train.yaml", "digest": "b" * 64},
    "odd": "a|b`c",
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A short run, as a loop leaves it."""
    run = Run.create(tmp_path / "first", CONFIG)
    for step, score in ((0, "0"), (2, "1/2")):
        scores = tuple(scored(f"env{n}", score, family="refunds" if n % 2 else "leave") for n in range(4))
        write_evaluation(
            run.folder / FOLDER / f"{step:06d}.json", Evaluation(who=f"step {step}", scores=scores, update=step)
        )
        run.metric({"step": step, "loss": 0.5})
        run.checkpoint(step, lambda part: (part / "model").mkdir(), {"sampled": 120 * step, "weights": "c" * 64})
    return run


def test_it_says_what_went_in_and_what_came_out(run: Run) -> None:
    found = card(run, tokenizer="d" * 64)
    assert (found.name, found.steps, found.sampled, found.seed, found.threads) == ("first", 2, 240, 3, 1)
    assert found.digests["weights before"] == "a" * 64
    assert found.digests["weights after"] == "c" * 64
    assert found.digests["tokenizer and chat template"] == "d" * 64
    assert found.digests["train: set/train.yaml"] == "b" * 64
    assert len(found.digests["configuration"]) == 64


@pytest.mark.parametrize(("mode", "words"), [("lockstep", "bit for bit"), ("throughput", "may give other tokens")])
def test_the_promise_is_said_in_words(tmp_path: Path, mode: str, words: str) -> None:
    assert words in markdown(card(Run.create(tmp_path / mode, {"mode": mode})))


def test_scores_stand_with_intervals_and_what_was_before(run: Run) -> None:
    page = markdown(card(run))
    assert "| before training | 0.000 (0.000 to 0.000) |" in page
    assert "| all | 0.500 (0.500 to 0.500) |" in page
    assert "| family refunds |" in page
    assert "not a claim about anything unseen" in page


def test_the_hacking_gap_is_shown_where_it_was_measured(run: Run) -> None:
    assert "Hacking gap" not in markdown(card(run))
    scores = [scored(f"env{n}", "1") for n in range(4)]
    truth = [scored(f"env{n}", "1/4") for n in range(4)]
    made = Hacking(
        notes=(NO_LEXICON,),
        weights="",
        temperature=1,
        left_out=0,
        training=worth(scores),
        held_out_checks=worth(truth),
        gap=gap(scores, truth),
        held_out_lexicon=None,
        totals={},
        furthest=(),
        sets={},
    )
    write_hacking(run.folder, made)
    page = markdown(card(run))
    assert "## Hacking gap" in page
    assert "| training grader | 1.000 (1.000 to 1.000) |" in page
    assert "| held-out checks | 0.250 (0.250 to 0.250) |" in page
    assert "| hacking gap | 0.750 (0.750 to 0.750) |" in page
    assert "other phrases |" not in page
    assert f"* {NO_LEXICON}" in page
    write_hacking(run.folder, msgspec.structs.replace(made, gap=None, held_out_checks=None, notes=(NO_CHECKS,)))
    page = markdown(card(run))
    assert "| hacking gap |" not in page
    assert f"* {NO_CHECKS}" in page


def test_openings_of_test_sets_are_counted(run: Run) -> None:
    assert "No test set was opened." in markdown(card(run))
    split = msgspec.structs.replace(read_split(examples()[sorted(examples())[0]]), ring="R3")
    for _ in range(2):
        write_opening(run.folder, split, "evaluate --final", wall.now())
    found = card(run)
    assert found.openings == {"R3": 2}
    assert "Opened: R3 2 times." in markdown(found)


def test_logs_are_there_with_a_digest_over_their_episodes(run: Run) -> None:
    with closing(SqliteLog(run.log("train"))):
        pass
    assert card(run).logs["train"]["episodes"] == 0


def test_notes_and_accelerators_are_told(run: Run) -> None:
    page = markdown(card(run, notes=["the template has no system message"], accelerators=["2 x H200"]))
    assert "* the template has no system message" in page
    assert "* 2 x H200" in page


def test_no_value_breaks_a_table(run: Run) -> None:
    page = markdown(card(run))
    rows = [line for line in page.splitlines() if line.startswith("| odd |")]
    assert rows == ['| odd | `"a\\|b\'c"` |']


def test_the_same_run_gives_the_same_card(run: Run) -> None:
    run.close()
    write_card(run, card(run))
    first = [(run.folder / name).read_bytes() for name in ("card.md", "card.json")]
    write_card(run, card(Run.open(run.folder)))
    assert [(run.folder / name).read_bytes() for name in ("card.md", "card.json")] == first
    assert json.loads(first[1])["digests"]["weights after"] == "c" * 64


def test_an_empty_run_has_a_card(tmp_path: Path) -> None:
    page = markdown(card(Run.create(tmp_path / "empty", {})))
    assert "It was not evaluated while it was trained." in page
    assert "seed unknown" in page


def test_openings_that_are_damaged_are_told(run: Run) -> None:
    (run.folder / "openings.jsonl").write_text("{\n")
    with pytest.raises(Told, match="line 1"):
        card(run)


def test_the_machine_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nmodel name\t: A Fast One @ 3 GHz\n")
    processor, memory, system = hardware(tmp_path)
    assert processor.endswith("x A Fast One @ 3 GHz")
    assert memory.endswith("of memory")
    assert platform.machine() in system
    assert versions()["python"] == platform.python_version()
    assert "torch" in versions()
