"""`learn offline`: which episodes of a log are learnt from, by every method."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from coworkenv.engine.cli import main
from coworkenv.engine.cli.options import opened
from coworkenv.learn.chats import logs_of
from coworkenv.learn.cli.offline import METHODS
from coworkenv.learn.runs import Run
from tests.learn.test_rl import break_coworkers
from tests.learn.workshop import RL, SHARED, furnish

OFFLINE = ("offline", "model", "--steps", "2", "--batch", "2", "--batch-tokens", "256", *SHARED)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learnt from rollouts and their continuations, was tested, and had its hacking gap measured."""
    folder = furnish(tmp_path_factory.mktemp("workshop"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = ("--updates", "1", "--credit", "forks", "--forks", "1", "--val", "val.yaml", "--out", "run")
        assert main(["learn", *RL, *words]) == 0
    return folder


@pytest.fixture
def cli(furnished: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(furnished)

    def typed(*words: str) -> tuple[int, list[dict[str, Any]], str]:
        capfd.readouterr()
        code = main(["learn", *words])
        captured = capfd.readouterr()
        return code, [json.loads(line) for line in captured.out.splitlines()], " ".join(captured.err.split())

    return typed


@pytest.mark.parametrize("given", ["run", "run/rollouts"])
def test_tests_the_hacking_gap_and_forks_are_not_learnt_from(given: str, cli: Any, tmp_path: Path) -> None:
    assert {path.name for path in Run.open(Path("run")).logs()} > {"hacking.db", "000000-0.db"}
    [path] = logs_of(Path(given))
    assert path.name == "000000-0.db"
    with opened(str(path)) as log:
        forks = sum(bool(row.parent) for row in log.rows(kind="episode", status="ended"))
    assert forks > 0
    code, _, err = cli(*OFFLINE, "--logs", given, "--out", str(tmp_path / "out"))
    assert code == 0, err
    assert f"left out: {forks} that are forks" in err
    assert Run.open(tmp_path / "out").config["logs"] == [str(path)]


def test_what_a_coworker_has_spoilt_is_not_learnt_from(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(tmp_path / "run")
    with monkeypatch.context() as patch:
        break_coworkers(patch, lambda name: name == "office.letters/1@other")
        assert cli(*RL, "--out", run)[0] == 0
    broken = 0
    for path in logs_of(Path(run)):
        with opened(str(path)) as log:
            broken += sum(row.reason == "failed" for row in log.rows(kind="episode", status="ended"))
    assert broken > 0
    code, _, err = cli(*OFFLINE, "--logs", run, "--out", str(tmp_path / "out"))
    assert code == 0, err
    assert f"left out: {broken} that say nothing of the agent: a coworker failed" in err


def test_episodes_that_have_not_ended_are_not_learnt_from_and_counted(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree("run", tmp_path / "other")
    log = sorted((tmp_path / "other" / "rollouts").glob("0*.db"))[0]
    with sqlite3.connect(log) as file:
        first = "kind = 'episode' and parent is null and trial = 0"
        changed = file.execute(f"update stream set status = 'suspended' where {first}").rowcount
    code, _, err = cli(*OFFLINE, "--logs", str(tmp_path / "other"), "--out", str(tmp_path / "out"))
    assert code == 0, err
    assert changed > 0
    assert f"left out: {changed} that have not ended" in " ".join(err.split())


def test_what_is_no_run_may_name_its_logs_as_it_likes(tmp_path: Path) -> None:
    names = ["hacking.db", "val-1.db"]
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in logs_of(tmp_path)] == names


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_from_the_rollouts_of_a_run(method: str, cli: Any, tmp_path: Path) -> None:
    code, lines, err = cli(*OFFLINE, "--method", method, "--logs", "run", "--out", str(tmp_path / "out"))
    assert code == 0, err
    assert [line["step"] for line in lines if line["type"] == "step"] == [1, 2]
    code, _, err = cli("reproduce", str(tmp_path / "out"))
    assert code == 2
    assert "tells of no episode" in err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--steps", "0"),
        ("--steps", "-3"),
        ("--batch", "0"),
        ("--beta", "0"),
        ("--beta", "nan"),
        ("--beta", "inf"),
        ("--beta", "much"),
    ],
)
def test_numbers_of_which_nothing_can_come_are_refused(option: str, value: str, cli: Any, tmp_path: Path) -> None:
    code, _, err = cli(*OFFLINE, "--logs", "run", option, value, "--out", str(tmp_path / "out"))
    assert code == 2
    assert option in err
    assert value in err
    assert not (tmp_path / "out").exists()


def test_forks_are_not_exported_and_counted(cli: Any, tmp_path: Path) -> None:
    words = ("--format", "trajectories", "--train", "train.yaml", "--out", str(tmp_path / "rows"), "--json")
    code, [told], err = cli("export", "run", *words)
    assert code == 0, err
    [(reason, count)] = told["left_out"].items()
    assert reason.startswith("are forks")
    assert told["rows"] == 12
    assert count > 0
