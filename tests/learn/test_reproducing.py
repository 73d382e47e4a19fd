"""Numbers that a run tells follow from its logs: to the last bit, and whoever changes one is found out."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import torch
import trio

from coworkenv.engine.cli import main
from coworkenv.engine.cli.places import examples
from coworkenv.events.sqlite import SqliteLog
from coworkenv.learn.evaluating import FILE, FOLDER, write_evaluation
from coworkenv.learn.experience import Earning, figures, read_experience
from coworkenv.learn.models import load, save
from coworkenv.learn.playing import drafts_of, evaluate
from coworkenv.learn.policies import Settings, policy_in
from coworkenv.learn.reproducing import EPISODES, count, regrade, tuning
from coworkenv.learn.runs import METRICS, Run, RunError
from coworkenv.learn.splits import read_split
from tests.learn import tiny

torch.set_num_threads(1)
SETTINGS = Settings(max_tokens=6, temperature=1)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as a loop leaves it: one update of a model that knows nothing, and its evaluation."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    model = folder.parent / "model"
    save(tiny.llama(num_hidden_layers=1, max_position_embeddings=16384), tiny.tokenizer(), model)
    split = read_split(examples()[sorted(examples())[0]])
    policy = policy_in(model, "student", SETTINGS)
    rendering = load(model).rendering

    async def playing(run: Run) -> None:
        with closing(SqliteLog(str(run.log("rollouts")))) as log:
            async with log.writing():
                results = await policy.play(drafts_of(split, 2, 0), log, lambda _: None)
                ids = [result.id for result in results if result.id]
                lived = read_experience(log, ids, rendering, split.about, Earning())
                run.metric({"update": 1, EPISODES: ids, "loss": 0.5, **figures(lived)})
                found = await evaluate(policy, [split], log, seed=100)
        found = msgspec.structs.replace(found, update=1)
        write_evaluation(run.folder / FOLDER / "000001.json", found)
        run.metric({"step": 1, **tuning(found.scores)})

    with Run.create(folder, {"kind": "rl"}) as run:
        trio.run(playing, run)
        run.checkpoint(1, lambda part: shutil.copytree(model, part / "model"))
    return folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture
def cli(capfd):
    def typed(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["learn", "reproduce", *words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return typed


def test_every_number_comes_out_the_same(trained: Path) -> None:
    told: list[None] = []
    found = regrade(trained, load(trained / "checkpoints/step-000001/model").rendering, lambda: told.append(None))
    assert found.deviations == ()
    assert (found.rows, found.evaluations) == (1, 1)
    assert len(told) == found.episodes == count(trained) > 4
    row = Run.open(trained).metrics()[0]
    assert row["tokens_written"] > 0
    assert found.numbers >= len(row) - 4 + 2


def changed(run: Path, line: int, name: str, value: object) -> None:
    rows = [json.loads(text) for text in (run / METRICS).read_text().splitlines()]
    assert rows[line][name] != value
    rows[line][name] = value
    (run / METRICS).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(("line", "name"), [(0, "score"), (0, "truncated"), (0, "messages"), (1, "val/twin")])
def test_a_number_that_was_changed_is_named(run: Path, cli, line: int, name: str) -> None:
    changed(run, line, name, 0.123)
    code, out, err = cli(str(run))
    assert code == 1
    assert f"{name} was 0.123, and is" in err
    assert "1 differ" in out


def test_a_score_in_an_evaluation_that_was_changed_is_named(run: Path, cli) -> None:
    path = next((run / FOLDER).iterdir())
    kept = json.loads(path.read_text())
    kept["scores"][0]["score"] = "99/100"
    path.write_text(json.dumps(kept))
    code, out, _ = cli(str(run), "--json")
    value = json.loads(out)
    assert code == 1
    assert value["good"] is False
    assert {"name": "score", "kept": "99/100"}.items() <= value["deviations"][0].items()


def test_a_run_that_is_as_it_was_is_good(run: Path, cli) -> None:
    code, out, _ = cli(str(run))
    assert code == 0
    assert "all the same" in out


def test_a_log_that_is_missing_is_told(run: Path, cli) -> None:
    (run / "rollouts" / "rollouts.db").unlink()
    code, _, err = cli(str(run))
    assert code == 2
    assert "is in none of its 0 logs" in err


def test_a_log_that_was_changed_is_told(run: Path) -> None:
    import sqlite3

    with sqlite3.connect(run / "rollouts" / "rollouts.db") as database:
        (name,) = next(
            database.execute("select name from sqlite_master where type = 'table' and sql like '%data%digest%'")
        )
        database.execute(f"update {name} set data = replace(data, 'a', 'b') where seq = 3")
    database.close()
    rendering = load(run / "checkpoints/step-000001/model").rendering
    with pytest.raises(RunError, match="is damaged"):
        regrade(run, rendering)


def test_what_tells_of_nothing_is_told(tmp_path: Path, cli) -> None:
    Run.create(tmp_path / "empty", {}).close()
    code, _, err = cli(str(tmp_path / "empty"))
    assert code == 2
    assert "tells of no episode" in err


def test_a_folder_of_evaluate_is_graded_anew_with_its_baselines(tmp_path: Path, cli, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = sorted(examples())[0]
    assert main(["learn", "evaluate", "--final", "--set", name, "-b", "oracle", "-b", "noop"]) == 0
    code, out, _ = cli("evaluation")
    assert code == 0
    assert "2 evaluations graded anew" in out
    path = tmp_path / "evaluation" / "baselines" / "noop.json"
    path.write_text(path.read_text().replace('"score":"0"', '"score":"1"', 1))
    assert cli("evaluation")[0] == 1
    assert (tmp_path / "evaluation" / FILE).exists()
