"""`learn sft` and `learn rl` as they are typed: what they say, refuse, survive and share among processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate.utils import DistributedType

from coworkenv.engine.cli import main
from coworkenv.learn import together
from coworkenv.learn.cli import planned, running
from coworkenv.learn.models import load
from coworkenv.learn.runs import MODEL, Run
from tests.learn.breaking import outcome
from tests.learn.test_rl import break_coworkers
from tests.learn.workshop import RL, SFT, furnish, learn

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command line in a furnished folder; what it says comes on one line."""
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(["learn", *words])
        captured = capfd.readouterr()
        return code, captured.out, " ".join(captured.err.split())

    return run


def told(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


# --- what it takes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [SFT, (*RL, "--credit", "forks")], ids=["sft", "rl"])
def test_a_plan_says_what_it_takes_and_leaves_nothing(cli: Cli, words: tuple[str, ...]) -> None:
    code, out, err = cli(*words, "--val", "val.yaml", "--plan", "--out", "run")
    assert (code, err) == (0, "")
    (plan,) = told(out)
    memory = plan["memory"]
    assert memory["weights"] == memory["gradients"] == memory["optimiser"] / 2
    assert memory["total"] > memory["weights"] + memory["optimiser"]
    assert plan["tokens"]["learnt"] > 0
    assert plan["tokens"]["written"] > 0
    assert plan["speed"]["learnt"] > 0
    assert 0 < plan["hours"] < 1
    assert not Path("run").exists()


@pytest.mark.parametrize("words", [SFT, RL], ids=["sft", "rl"])
def test_speed_is_measured_where_the_model_will_learn(
    words: tuple[str, ...], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = SimpleNamespace(device=torch.device("meta"), num_processes=1, distributed_type=DistributedType.NO)
    seen: list[str] = []
    monkeypatch.setattr(together, "processes", lambda: elsewhere)
    monkeypatch.setattr(running, "planned", lambda loaded, *_: seen.append(loaded.model.device.type))
    assert cli(*words, "--plan", "--out", "run")[0] == 0
    assert seen == ["meta"]


def test_a_plan_is_a_table_for_people(cli: Cli) -> None:
    code, out, _ = cli(*SFT[:-1], "--plan", "--out", "run")
    assert code == 0
    assert {"weights", "optimiser", "activations", "total", "free", "time"} <= {
        line.split()[0] for line in out.splitlines() if line.strip()
    }
    assert "tokens to learn" in out


def test_what_takes_longer_than_it_may_is_refused(cli: Cli) -> None:
    code, _, err = cli(*RL, "--updates", "1000000", "--hours", "0.5", "--out", "run")
    assert code == 2
    assert "this takes about" in err
    assert "--hours says 0.5" in err
    assert not Path("run").exists()
    assert cli(*SFT, "--hours", "1", "--out", "run")[0] == 0


def test_a_batch_too_large_is_refused_with_the_number_that_would_fit(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "available", lambda: 60 << 20)
    code, _, err = cli(*RL, "--batch-tokens", "1048576", "--out", "run")
    assert code == 2
    assert "and 60.0 MiB are free; with --batch-tokens" in err
    assert not Path("run").exists()
    fits = err.split("--batch-tokens ")[1].split()[0]
    assert cli(*RL, "--updates", "1", "--batch-tokens", fits, "--out", "run")[0] == 0


def test_a_model_too_large_is_refused_before_its_weights_are_read(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "available", lambda: 100 << 10)
    for weights in Path("model").glob("*.safetensors"):
        weights.write_bytes(b"nothing that could be read")
    code, _, err = cli(*SFT, "--out", "run")
    assert code == 2
    assert "take a smaller model" in err


def test_a_run_that_is_older_than_an_option_goes_on(cli: Cli) -> None:
    assert cli(*SFT, "--stop", "2", "--out", "run")[0] == 130
    config = json.loads(Path("run/config.json").read_text())
    del config["only"], config["testing"]["every"], config["testing"]["settings"]["rows"]
    Path("run/config.json").write_text(json.dumps(config))
    code, _, err = cli(*SFT, "--only", "norm", "--out", "run")
    assert code == 2
    assert 'only was "", and is now "norm"' in err
    assert cli(*SFT, "--out", "run")[0] == 0


# --- what is refused -------------------------------------------------------------------------------------------


def test_a_test_set_is_not_learnt_from(cli: Cli) -> None:
    Path("train.yaml").write_text(Path("val.yaml").read_text())
    code, _, err = cli(*RL, "--out", "run")
    assert code == 2
    assert "train.yaml" in err
    assert not Path("run").exists()


@pytest.mark.parametrize("words", [("--temperature", "0"), ("--temperature", "0.0")])
def test_a_policy_that_tries_nothing_is_refused(cli: Cli, words: tuple[str, str]) -> None:
    code, _, err = cli(*RL, *words, "--out", "run")
    assert code == 2
    assert "sample above temperature 0" in err


@pytest.mark.parametrize(
    ("only", "said"), [("lora", "no weight of the model has `lora` in its name"), ("norm(", "is no regular expression")]
)
def test_weights_that_are_not_there_cannot_be_the_only_ones(cli: Cli, only: str, said: str) -> None:
    code, _, err = cli(*SFT, "--only", only, "--out", "run")
    assert code == 2
    assert said in err


def test_other_options_are_not_gone_on_with(cli: Cli) -> None:
    assert cli(*SFT, "--out", "run", "--stop", "2")[0] == 130
    code, _, err = cli(*SFT, "--lr", "1", "--out", "run")
    assert code == 2
    assert "run was begun with other options" in err


def test_demonstrations_of_which_none_is_short_enough_are_told(cli: Cli) -> None:
    code, _, err = cli(*SFT, "--length", "16", "--out", "run")
    assert code == 2
    assert "all 6 demonstrations are longer than the 16 tokens allowed" in err


# --- format-SFT ------------------------------------------------------------------------------------------------


def test_a_baseline_learns_shuffled_demonstrations_and_says_so(cli: Cli) -> None:
    demos = Path("demos/accepted.jsonl")
    told_otherwise = [line.replace("a 1", f"a {n}") for n, line in enumerate(demos.read_text().splitlines())]
    demos.write_text("\n".join(told_otherwise))
    for out, words in (("true", ()), ("format", ("--shuffled",)), ("again", ("--shuffled",))):
        assert cli(*SFT, *words, "--out", out)[0] == 0
    true, shuffled, again = (Run.open(Path(out)) for out in ("true", "format", "again"))
    assert shuffled.config["shuffled"] is True
    assert "--shuffled" in str(shuffled.config["words"])
    assert "shuffled" not in true.config
    losses = [[row["loss"] for row in run.metrics() if "loss" in row] for run in (true, shuffled, again)]
    assert losses[0] != losses[1] == losses[2]
    assert "* A baseline: in the demonstrations" in Path("format/card.md").read_text()
    assert "A baseline" not in Path("true/card.md").read_text()
    code, _, err = cli(*SFT, "--out", "format")
    assert code == 2
    assert "format was begun with other options" in err
    code, out, _ = cli("evaluate", "true", "--set", "val.yaml", "-b", "format", "--max-tokens", "8", "--json")
    assert code == 0
    assert told(out)[-1]["who"] == ["true", "format"]


def test_demonstrations_of_one_environment_cannot_be_shuffled(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(furnish(tmp_path / "one", 1))
    code, _, err = cli(*SFT, "--shuffled", "--out", "run")
    assert code == 2
    assert "all demonstrations are of one" in err


# --- what is survived ------------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_and_the_last_good_weights_are_kept(cli: Cli) -> None:
    """A learning rate at which the first step makes weights of which no loss can be computed."""
    code, out, err = cli(*SFT, "--lr", "1e37", "--save", "50", "--out", "run")
    assert code == 1
    assert "of step 2 is" in err
    assert "the weights are still those before it" in err
    assert [line["step"] for line in told(out) if line["type"] == "step"] == [1]
    run = Run.open(Path("run"))
    last = run.latest()
    assert last is not None
    assert last.step == 1
    assert load(run.path(last) / MODEL).digest == last.state["weights"]
    assert cli(*SFT, "--lr", "1e37", "--save", "50", "--out", "run")[0] == 1


def test_coworkers_that_raise_do_not_stop_a_training(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in its rollouts, and not in its tests: the twin set is left out, and counted."""
    break_coworkers(monkeypatch, lambda name: name == "office.letters/1@other")
    code, _, err = cli(*RL, "--val", "val.yaml", "--out", "run")
    assert (code, err) == (0, "")
    rows = Run.open(Path("run")).metrics()
    assert [row["val/left_out"] for row in rows if "val/twin" in row] == [1, 1]
    assert {row["failed"] for row in rows if "failed" in row} == {0, 3}
    assert all(row["tokens"] > 0 for row in rows if "failed" in row)


FULL = """
import os, sys
from coworkenv.engine.cli import main
disk, *words = sys.argv[1:]
code = main(["learn", *words])
print("code", code)
os.system(f'mount -o remount,size=64m "{disk}"')
print("code", main(["learn", *words]))
"""


def test_a_full_disk_is_told_and_costs_nothing(tmp_path: Path) -> None:
    """The run's folder is a file system of its own that has room for one checkpoint, and then for all of them."""
    furnish(tmp_path)
    assert learn(tmp_path, (*SFT, "--save", "1", "--out", "whole")).returncode == 0
    size = sum(path.stat().st_size for path in (tmp_path / "whole/checkpoints/step-000005").rglob("*")) * 5 // 2
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "fill.py").write_text(FULL)
    words = [*SFT, "--save", "1", "--out", str(disk / "run")]
    command = f'mount -t tmpfs -o size={size} none "{disk}" && "$@"; cp -r "{disk}/run" "{tmp_path}/kept"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command, "sh", sys.executable, "fill.py", str(disk), *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("this machine does not let a test mount a disk")
    codes = [line for line in done.stdout.splitlines() if line.startswith("code")]
    assert codes == ["code 2", "code 0"], done.stderr
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    kept, whole = outcome(tmp_path / "kept"), outcome(tmp_path / "whole")
    assert kept == whole


# --- several processes -----------------------------------------------------------------------------------------

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone")
TWO = (*TORCHRUN, "--no-python", str(Path(sys.executable).with_name("coworkenv")), "learn")
"""As docs/learning.md says it."""


def launched(folder: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TWO, *words], cwd=folder, capture_output=True, text=True, timeout=150)


@pytest.mark.parametrize("words", [SFT, (*RL, "--credit", "gae")], ids=["sft", "rl"])
def test_two_processes_learn_as_one_and_one_of_them_speaks_and_writes(words: tuple[str, ...], tmp_path: Path) -> None:
    furnish(tmp_path)
    more = (*words, "--val", "val.yaml")
    done = launched(tmp_path, (*more, "--out", "two"))
    assert done.returncode == 0, done.stderr
    lines = told(done.stdout)
    steps = [line["step"] for line in lines if line["type"] == "step"]
    assert steps == list(range(1, len(steps) + 1))
    assert [line["type"] for line in lines].count("summary") == 1
    alone = learn(tmp_path, (*more, "--out", "one"))
    assert alone.returncode == 0, alone.stderr
    one, two = (Run.open(tmp_path / name) for name in ("one", "two"))
    assert two.config["processes"] == 2
    for mine, theirs in zip(one.metrics(), two.metrics(), strict=True):
        for name in ("loss", "gradient", "score", "sampled", "val/twin"):
            assert mine.get(name, 0) == pytest.approx(theirs.get(name, 0), rel=1e-3, abs=1e-6)
    logs = [path.name for path in two.logs() if not path.name.startswith(("val", "hacking"))]
    assert logs == [f"{update:06d}-{place}.db" for update in range(3 if words[0] == "rl" else 0) for place in range(2)]


def test_what_is_wrong_is_said_once_by_two_processes(tmp_path: Path) -> None:
    furnish(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "something").touch()
    done = launched(tmp_path, (*SFT, "--out", "run"))
    assert done.returncode != 0
    assert done.stderr.count("there is something in run already") == 1


def test_ctrl_c_stops_both_and_the_same_command_goes_on(tmp_path: Path) -> None:
    furnish(tmp_path)
    words = (*RL, "--updates", "12")
    started = subprocess.Popen(
        [*TWO, *words, "--out", "stopped"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stdout is not None
    first = [started.stdout.readline() for _ in range(2)]
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=100)
    assert said.count("coworkenv: stopped. The same command goes on where this one was.") == 1
    assert [line["step"] for line in told("".join(first))] == [1, 2]
    assert launched(tmp_path, (*words, "--out", "stopped")).returncode == 0
    assert launched(tmp_path, (*words, "--out", "whole")).returncode == 0
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")
