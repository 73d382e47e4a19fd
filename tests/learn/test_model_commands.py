"""`learn export-model` and `learn import-model` as a researcher types them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from coworkenv.engine.cli import main
from coworkenv.learn.models import load, weights_digest, write
from coworkenv.learn.runs import Run
from tests.learn import tiny

torch.set_num_threads(1)


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def typed(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["learn", *words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return typed


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The first of two checkpoints is the better one."""
    with Run.create(tmp_path / "run", {"command": "sft", "seed": 5}) as made:
        for step, score in ((1, 0.5), (2, 0.25)):
            made.checkpoint(
                step, lambda part, seed=step: write(tiny.llama(seed), tiny.tokenizer(), part / "model"), None, score
            )
    return tmp_path / "run"


def test_the_best_model_of_a_run_is_written_with_where_it_is_from(cli, run: Path) -> None:
    code, out, err = cli("export-model", "run", "out", "--json")
    assert code == 0, err
    told = json.loads(out)
    loaded = load("out")
    assert loaded.digest == weights_digest(tiny.llama(1)) == told["weights"]
    assert loaded.about["from"] == "step-000001"
    assert loaded.about["run"] == {"command": "sft", "seed": 5}


def test_the_last_one_in_half_the_size(cli, run: Path) -> None:
    code, out, _ = cli("export-model", "run", "out", "--last", "--dtype", "bfloat16")
    assert code == 0
    assert "the model is in out" in out
    assert load("out", dtype="bfloat16").digest == weights_digest(tiny.llama(2).to(torch.bfloat16))
    size = [
        (folder / "model.safetensors").stat().st_size
        for folder in (Path("out"), Path("run/checkpoints/step-000002/model"))
    ]
    assert size[0] < 0.6 * size[1]


def test_nothing_that_is_there_is_written_over(cli, run: Path) -> None:
    Path("out").mkdir()
    Path("out/thesis.tex").write_text("precious")
    code, _, err = cli("export-model", "run", "out")
    assert code == 2
    assert "something in out already" in err
    assert [path.name for path in Path("out").iterdir()] == ["thesis.tex"]


def test_nothing_takes_the_place_of_a_file_a_pipe_or_a_device(cli, run: Path) -> None:
    os.mkfifo("pipe")
    Path("link").symlink_to(os.devnull)
    for name in ("pipe", "link"):
        code, _, err = cli("export-model", "run", name)
        assert code == 2
        assert f"something in {name} already" in err
    assert Path("pipe").is_fifo()
    assert Path("link").is_char_device()
    code, _, err = cli("pocket", "pipe", "--demos", "demos")
    assert code == 2
    assert "something in pipe already" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("export-model", "nowhere", "out"), "there is no folder nowhere"),
        (("import-model", "nowhere.gguf", "out"), "there is no file nowhere.gguf"),
        (("export-model", "run", "out", "--dtype", "int8"), "int8"),
    ],
)
def test_what_cannot_be_is_a_sentence(cli, run: Path, words: tuple[str, ...], says: str) -> None:
    code, _, err = cli(*words)
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    assert not Path("out").exists()


def test_a_run_without_a_checkpoint_is_a_sentence(cli) -> None:
    Run.create(Path("new"), {}).close()
    code, _, err = cli("export-model", "new", "out")
    assert code == 2
    assert "no checkpoint yet" in err
