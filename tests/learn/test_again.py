"""A run's first steps, made again by its own command: the same weights, or the step from which they are others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coworkenv.engine.cli import main
from coworkenv.learn.runs import CONFIG, METRICS
from tests.learn.workshop import SFT, furnish


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["learn", *SFT, "--out", "run"]) == 0
    return Path("run")


def test_the_first_steps_of_a_run_give_the_same_weights_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["learn", "reproduce", str(run), "--again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"type": "again", "good": True, "steps": 3, "different": []}


def test_weights_that_were_others_are_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in (run / METRICS).read_text().splitlines()]
    rows[1]["weights"] = "0" * 64
    (run / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert main(["learn", "reproduce", str(run), "--again"]) == 1
    assert "the weights of step 2 are others" in " ".join(capsys.readouterr().out.split())


def test_steps_without_a_number_are_not_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / METRICS).write_text((run / METRICS).read_text().replace('"step":2', '"step":"b"'))
    capsys.readouterr()
    assert main(["learn", "reproduce", str(run), "--again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 2


def test_a_run_that_played_nothing_is_told_what_can_be_made_again(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # What learns offline tells how many episodes a step took, as a number.
    lines = [{**json.loads(line), "episodes": 2.0} for line in (run / METRICS).read_text().splitlines()]
    (run / METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["learn", "reproduce", str(run)]) == 2
    assert "--again makes its first steps again" in " ".join(capsys.readouterr().err.split())


def test_a_run_that_does_not_say_how_it_was_made_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((run / CONFIG).read_text())
    del config["words"]
    (run / CONFIG).write_text(json.dumps(config))
    assert main(["learn", "reproduce", str(run), "--again"]) == 2
    assert "does not say how it was made" in " ".join(capsys.readouterr().err.split())
