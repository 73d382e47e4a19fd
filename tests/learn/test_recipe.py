"""The recipe for larger models, dry: the commands of docs/gpu.md on two processes, with tiny models of its classes."""

from __future__ import annotations

import math
import os
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import torch
from accelerate.commands.config.config_args import load_config_from_file
from torch import Tensor

from coworkenv.engine.cli import main
from coworkenv.engine.cli.options import opened
from coworkenv.engine.cli.places import examples
from coworkenv.engine.cli.root import root
from coworkenv.learn import batches, sharding
from coworkenv.learn.models import load, read_rendering, save, weights_digest
from coworkenv.learn.planning import GIB, Shape, learning
from coworkenv.learn.runs import Run
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.manifest import manifest, member, write_manifest
from tests.docs.pages import ROOT, blocks
from tests.learn import tiny
from tests.learn.teaching import lessons
from tests.loopback import served

PAGE = (ROOT / "docs" / "gpu.md").read_text()
SHARDED = ROOT / "tests" / "learn" / "sharded.py"
SMALLER = {"--steps": "2", "--batch": "2", "--lr": "1e-3"}
"""What a dry run has less of than the page says."""


def commands() -> list[list[str]]:
    """What the page has its readers type, in words."""
    texts = [block.text.replace("\\\n", " ") for block in blocks(PAGE, "sh")]
    return [shlex.split(text) for block in texts for text in block.splitlines()]


def command(verb: str) -> list[str]:
    [found] = [words for words in commands() if words[:1] == ["accelerate"] and verb in words]
    return found


def configuration() -> str:
    """The page's configuration of accelerate."""
    [text] = [made for block in blocks(PAGE, "console") for made in block.commands() if "fsdp.yaml" in made]
    return "\n".join(text.splitlines()[1:-1]) + "\n"


def reduced(words: list[str], model: Path, *launching: str) -> list[str]:
    """The same command with a tiny model, and on two processors in the place of GPUs."""
    place = words.index("coworkenv")
    assert words[:place] == ["accelerate", "launch", "--config_file", "fsdp.yaml", "--no_python"]
    rest = words[place + 1 :]
    rest[2] = str(model)
    for before, value in SMALLER.items():
        rest[rest.index(before) + 1] = value
    launcher = [str(Path(sys.executable).with_name("accelerate")), "launch", "--config_file", "fsdp.yaml"]
    return [*launcher, "--num_processes", "2", "--main_process_port", "0", *launching, str(SHARDED), *rest]


def typed(words: list[str], folder: Path) -> None:
    """Raises AssertionError with what was said, unless it went well."""
    surroundings = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set, demonstrations of it, and the page's configuration."""
    made = tmp_path_factory.mktemp("recipe")
    (made / "set").mkdir()
    (made / "demos").mkdir()
    members = []
    for name in ("late-change", "refund"):
        shutil.copy(examples()[name], made / "set" / f"{name}.yaml")
        members.append(member(f"{name}.yaml", read_environment(made / "set" / f"{name}.yaml")))
    write_manifest(made / "set" / "train.yaml", manifest("train", "train", members))
    ids = {read_environment(made / "set" / f"{name}.yaml").id for name in ("late-change", "refund")}
    kept = [lesson for lesson in lessons() if lesson.environment in ids]
    lines = [msgspec.json.encode(msgspec.to_builtins(each, enc_hook=str)) + b"\n" for each in kept]
    (made / "demos" / "accepted.jsonl").write_bytes(b"".join(lines))
    (made / "fsdp.yaml").write_text(configuration())
    return made


def test_the_configuration_is_one_of_accelerates(folder: Path) -> None:
    found = load_config_from_file(str(folder / "fsdp.yaml"))
    assert (found.distributed_type, found.num_processes, found.mixed_precision) == ("FSDP", 8, "bf16")
    assert found.fsdp_config["fsdp_version"] == 2
    assert found.fsdp_config["fsdp_activation_checkpointing"] is True


def test_every_command_and_option_of_the_page_exists() -> None:
    spoken = [words[words.index("coworkenv") + 1 :] for words in commands() if "coworkenv" in words]
    assert {words[1] for words in spoken} == {"sft", "offline", "export-model", "import-model", "evaluate"}
    for words in spoken:
        group: Any = root().commands[words[0]]
        found = group.get_command(click.Context(group), words[1])
        known = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_a_model_that_is_shared_is_not_asked_to_play(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tiny.qwen3(), tiny.tokenizer(), tmp_path / "tiny")
    monkeypatch.setattr(sharding, "sharded", lambda accelerator: True)
    monkeypatch.chdir(folder)
    assert main(["learn", "rl", str(tmp_path / "tiny"), "--train", "set/train.yaml", "--out", "runs/rl"]) == 2
    assert "no process has the whole of a sharded model" in " ".join(capsys.readouterr().err.split())
    assert not Path("runs").exists()


def test_the_memory_that_the_page_tells_is_what_is_planned() -> None:
    """The sizes are those of Qwen3-8B, on eight GPUs, with episodes of 16,384 tokens."""
    sizes = Shape(8_190_735_360, 36, 4096, 12288, 32, 8, 128, 151936)
    pieces = batches.CHUNK / (16384 * sizes.vocabulary)
    planned = learning(sizes, 16384, 16384, written=pieces, flash=True, again=True).shared(8)
    assert f"about {planned.total / GIB:.0f} GiB" in PAGE
    assert f"{planned.lasting / GIB:.0f} GiB on each of eight GPUs" in PAGE
    assert planned.total < learning(sizes, 16384, 16384, written=pieces, flash=True).shared(8).total


def learnt(run: Run) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
    """The weights and the optimiser's state of the last checkpoint."""
    last = run.checked(run.checkpoints()[-1])
    loaded = load(run.path(last) / "model")
    assert loaded.digest == last.state["weights"]
    assert loaded.model.dtype == torch.float32
    state = torch.load(run.path(last) / "trainer.pt", weights_only=True)
    return loaded.model.state_dict(), state["optimiser"]["state"]


@pytest.mark.slow
def test_processes_that_share_a_model_learn_what_one_does_and_go_on_in_the_same_bits(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 32 bits, since what is rounded to fewer differs."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    save(tiny.qwen3(), tiny.tokenizer(), tmp_path / "tiny")
    words = reduced(command("sft"), tmp_path / "tiny", "--mixed_precision", "no")
    typed([*words, "--save", "1"], tmp_path)
    run = Run.open(tmp_path / "runs" / "sft")
    assert (run.config["processes"], run.config["precision"]) == (2, "no")
    weights, moments = learnt(run)
    assert moments["model.model.layers.0.mlp.up_proj.weight"]["exp_avg"].shape == (64, 32), "whole, not a half"

    monkeypatch.chdir(tmp_path)
    assert main([*words[words.index("learn") :], "--out", "one"]) == 0
    before, wanted = tiny.qwen3().state_dict(), learnt(Run.open(tmp_path / "one"))[0]
    assert distance(weights, wanted) <= 1e-5 * distance(before, wanted)

    last = run.checkpoints()[-1]
    shutil.rmtree(run.path(last))
    typed([*words, "--save", "1"], tmp_path)
    assert Run.open(run.folder).checkpoints()[-1].state["weights"] == last.state["weights"]


def distance(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> float:
    return math.sqrt(sum(float((one[name] - other[name]).norm()) ** 2 for name in other))


@pytest.mark.slow
def test_a_server_plays_and_processes_that_share_a_model_learn_its_tokens(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert "`Qwen3VLTextDecoderLayer` for Qwen3-VL" in PAGE
    (tmp_path / "fsdp.yaml").write_text(configuration().replace("Qwen3DecoderLayer", "Qwen3VLTextDecoderLayer"))
    model = tiny.qwen3_vl()
    save(model, tiny.tokenizer(), tmp_path / "models" / "sft", {"weights": weights_digest(model)})
    rendering = read_rendering(tmp_path / "models" / "sft")

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if request["seed"] % 3:
            ids = rendering.answer("", [{"name": "finish", "args": {"summary": "There is nothing to do."}}])
        else:
            ids = rendering.answer("Amara Okafor or Amaru Okafor, which order?", ())
        logprobs = {"token_logprobs": [-5.5] * len(ids)}
        return {"choices": [{"index": 0, "token_ids": ids, "logprobs": logprobs, "finish_reason": "stop"}]}

    [snippet] = blocks(PAGE, "py")
    monkeypatch.chdir(tmp_path)
    with served(answer) as server:
        text = snippet.text.replace("http://127.0.0.1:8000/v1", server.url).replace("range(8)", "range(2)")
        Path("play.py").write_text(text)
        runpy.run_path("play.py")
    with opened(str(tmp_path / "rollouts.db")) as log:
        assert {row.status for row in log.rows(kind="episode")} == {"ended"}

    typed(reduced(command("offline"), tmp_path / "models" / "sft"), tmp_path)
    run = Run.open(tmp_path / "runs" / "update-1")
    assert (run.config["processes"], run.config["precision"]) == (2, "bf16")
    before = model.state_dict()
    for name, weight in learnt(run)[0].items():
        assert torch.equal(weight, before[name]) == name.startswith("model.visual."), name
    spread = 32 * math.log(run.metrics()[0]["ratio_max"])
    assert spread != pytest.approx(round(spread), abs=1e-3), "of 32 bits: those of bfloat16 would be 1/32 apart"
