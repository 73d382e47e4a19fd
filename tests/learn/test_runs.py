"""A run survives what befalls it, and says what it cannot survive."""

import json
import multiprocessing
import os
import signal
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coworkenv.learn import runs
from coworkenv.learn.folders import NotWritten
from coworkenv.learn.runs import CHECKPOINTS, METRICS, Run, RunError, is_run, model_folder


class Options(msgspec.Struct):
    lr: float = 1e-4
    temperature: Decimal = Decimal("0.7")


CONFIG = {"kind": "rl", "options": Options(), "set": Path("train.yaml")}


def fill(text: str = "weights") -> "Fill":
    return Fill(text)


class Fill:
    """What a loop writes into a checkpoint."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, folder: Path) -> None:
        (folder / "model").mkdir()
        (folder / "model" / "weights").write_text(self.text)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "run", CONFIG)


def steps(run: Run) -> list[int]:
    return [each.step for each in run.checkpoints()]


def rows(run: Run) -> list[int]:
    return [row["step"] for row in run.metrics()]


# --- beginning ---------------------------------------------------------------------------------------------


def test_the_configuration_is_all_options_as_plain_values(run: Run) -> None:
    kept = json.loads((run.folder / "config.json").read_text())
    assert kept == {"kind": "rl", "options": {"lr": 1e-4, "temperature": "0.7"}, "set": "train.yaml"}
    assert Run.open(run.folder).config == kept


def test_a_run_never_begins_in_a_folder_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(RunError, match="something in"):
        Run.create(tmp_path, CONFIG)


def test_the_same_command_goes_on_and_another_is_refused(run: Run) -> None:
    run.checkpoint(1, fill())
    run.close()
    with Run.begin(run.folder, CONFIG) as again:
        assert again.latest() is not None
    with pytest.raises(RunError, match=r"options\.lr was 0\.0001, and is now 0\.5"):
        Run.begin(run.folder, {**CONFIG, "options": Options(lr=0.5)})


def test_of_other_options_the_one_is_named_that_is_another(run: Run) -> None:
    run.close()
    # The command's words are long, and where they differ is seldom seen.
    (run.folder / "config.json").write_text(json.dumps({"words": ["learn", "a"], "batch": 2}))
    with pytest.raises(RunError, match="batch was 2, and is now 3"):
        Run.begin(run.folder, {"words": ["learn", "b"], "batch": 3})
    with pytest.raises(RunError, match="words was"):
        Run.begin(run.folder, {"words": ["learn", "b"], "batch": 2})


def test_a_run_that_is_older_than_an_option_has_its_default(run: Run) -> None:
    run.close()
    newer = {**CONFIG, "only": "", "testing": {"rows": 8}}
    defaults = {"only": "", "testing": {"rows": 8}, "options": {"lr": 1.0}}
    with pytest.raises(RunError, match='only was null, and is now ""'):
        Run.begin(run.folder, newer)
    (run.folder / "config.json").write_text(
        json.dumps({"kind": "rl", "options": {"lr": 1e-4, "temperature": "0.7"}, "set": "train.yaml", "testing": {}})
    )
    Run.begin(run.folder, newer, defaults).close()
    with pytest.raises(RunError, match='only was "", and is now "norm"'):
        Run.begin(run.folder, {**newer, "only": "norm"}, defaults)


def _killed_at_first(folder: Path) -> None:
    def kill(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    runs.write_whole = kill  # type: ignore[assignment]
    Run.create(folder, CONFIG)


def test_a_run_that_was_killed_while_it_began_begins_again(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_killed_at_first, args=(tmp_path / "run",))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    (tmp_path / "run" / "config.json.part").write_text('{"ki')
    with Run.begin(tmp_path / "run", CONFIG) as run:
        assert run.config["kind"] == "rl"
    (tmp_path / "run" / "config.json").unlink()
    (tmp_path / "run" / METRICS).write_text("{}\n")
    with pytest.raises(RunError, match="something in"):  # More than a beginning.
        Run.create(tmp_path / "run", CONFIG)


def test_of_two_that_begin_at_once_the_second_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    first = Run.create(folder, CONFIG)
    # The second has looked before the first had written anything.
    monkeypatch.setattr(runs, "_check_free", lambda _: None)
    with pytest.raises(RunError, match="another process is writing"):
        Run.create(folder, {"kind": "sft"})
    assert Run.open(folder).config == first.config


def test_a_folder_that_is_no_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert not is_run(tmp_path)
    with pytest.raises(RunError, match="is no run"):
        Run.open(tmp_path)


def test_two_processes_never_write_to_one_run(run: Run) -> None:
    with pytest.raises(RunError, match="another process is writing"):
        Run.resume(run.folder)
    run.close()
    Run.resume(run.folder).close()


# --- metrics -----------------------------------------------------------------------------------------------


def test_a_row_is_one_object_on_one_line(run: Run) -> None:
    run.metric({"step": 1, "loss": 0.1, "score": Fraction(1, 3), "by": {"a": 1.0}, "bad": float("nan")})
    (line,) = (run.folder / METRICS).read_text().splitlines()
    kept = json.loads(line)
    assert kept.pop("seconds") >= 0
    assert kept == {"step": 1, "loss": 0.1, "score": "1/3", "by": {"a": 1.0}, "bad": None}


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_are_read_back_as_they_were(run: Run, numbers: list[float]) -> None:
    run.metric({"numbers": numbers})
    assert run.metrics()[-1]["numbers"] == numbers


def test_half_a_line_is_no_row_and_is_dropped(run: Run) -> None:
    run.metric({"step": 1})
    run.checkpoint(1, fill())
    with (run.folder / METRICS).open("ab") as file:
        file.write(b'{"step": 2, "lo')
    assert rows(run) == [1]
    run.close()
    again = Run.resume(run.folder)
    again.metric({"step": 2})
    assert rows(again) == [1, 2]


def test_a_damaged_line_is_named(run: Run) -> None:
    (run.folder / METRICS).write_text('{"step": 1}\n{"step"\n{"step": 3}\n')
    with pytest.raises(RunError, match="line 2, is damaged"):
        run.metrics()


def test_a_full_disk_costs_one_row_only(run: Run) -> None:
    run.metric({"step": 1})
    (run.folder / METRICS).rename(run.folder / "kept")
    (run.folder / METRICS).symlink_to("/dev/full")
    with pytest.raises(NotWritten, match="No space left"):
        run.metric({"step": 2})
    (run.folder / METRICS).unlink()
    (run.folder / "kept").rename(run.folder / METRICS)
    run.metric({"step": 2})
    assert rows(run) == [1, 2]


# --- checkpoints -------------------------------------------------------------------------------------------


def test_what_a_training_needs_comes_back(run: Run) -> None:
    run.checkpoint(3, fill("w3"), {"log": {"train": "abcd"}, "position": 12}, score=0.25)
    found = run.latest()
    assert found is not None
    assert (found.step, found.score, found.state) == (3, 0.25, {"log": {"train": "abcd"}, "position": 12})
    assert (run.path(found) / "model" / "weights").read_text() == "w3"
    assert run.path(found).name == "step-000003"


@given(st.lists(st.sampled_from([None, 0.1, 0.2, 0.3]), min_size=1, max_size=12), st.integers(1, 3))
@settings(max_examples=20)
def test_the_last_few_and_the_best_are_kept(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float | None], keep: int
) -> None:
    with Run.create(tmp_path_factory.mktemp("runs") / "run", {}) as run:
        for step, score in enumerate(scores):
            run.checkpoint(step, fill(), score=score, keep=keep)
        known = [(score, -step) for step, score in enumerate(scores) if score is not None]
        best = [-max(known)[1]] if known else []
        assert steps(run) == sorted({*range(max(0, len(scores) - keep), len(scores)), *best})
        found = run.best()
        assert found is not None
        assert found.step == (best or [len(scores) - 1])[0]


def test_rows_after_the_last_checkpoint_are_cut_where_it_goes_on(run: Run) -> None:
    for step in (1, 2):
        run.metric({"step": step})
        run.checkpoint(step, fill())
    run.metric({"step": 3})
    run.close()
    again = Run.resume(run.folder)
    assert rows(again) == [1, 2]


def test_without_a_checkpoint_it_begins_anew(run: Run) -> None:
    run.metric({"step": 1})
    run.close()
    again = Run.resume(run.folder)
    assert again.metrics() == []
    assert again.latest() is None


def test_a_checkpoint_that_cannot_be_written_costs_nothing(run: Run) -> None:
    run.checkpoint(1, fill("good"))

    def full(folder: Path) -> None:
        (folder / "model").mkdir()
        raise OSError(28, "No space left on device")

    with pytest.raises(NotWritten, match="No space left on device"):
        run.checkpoint(2, full)
    assert steps(run) == [1]
    assert os.listdir(run.folder / CHECKPOINTS) == ["step-000001"]
    assert run.latest() is not None


def _killed(folder: Path) -> None:
    run = Run.create(folder, {})
    run.metric({"step": 1})
    run.checkpoint(1, fill("good"))
    run.metric({"step": 2})

    def kill(part: Path) -> None:
        (part / "half").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)

    run.checkpoint(2, kill)


def test_a_kill_in_the_middle_of_a_checkpoint_leaves_the_one_before(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(tmp_path / "run",))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    run = Run.resume(tmp_path / "run")
    assert steps(run) == [1]
    assert rows(run) == [1]
    assert os.listdir(run.folder / CHECKPOINTS) == ["step-000001"]


def test_damage_is_told_with_what_to_do(run: Run) -> None:
    made = run.checkpoint(1, fill())
    (run.path(made) / "model" / "weights").write_text("other")
    with pytest.raises(RunError, match=r"model/weights is not what was written\. Remove it"):
        run.latest()
    (run.path(made) / "model" / "weights").unlink()
    with pytest.raises(RunError, match="model/weights is missing"):
        run.latest()


def test_metrics_shorter_than_at_the_checkpoint_are_told(run: Run) -> None:
    run.metric({"step": 1})
    run.checkpoint(1, fill())
    run.close()
    (run.folder / METRICS).write_bytes(b"")
    with pytest.raises(RunError, match=r"somebody has changed it\. Put it back"):
        Run.resume(run.folder)
    (run.folder / METRICS).unlink()
    with pytest.raises(RunError, match=r"somebody has changed it\. Put it back"):
        Run.resume(run.folder)
    assert not (run.folder / METRICS).exists()


def test_damaged_metrics_are_told_before_anything_is_trained(run: Run) -> None:
    run.metric({"step": 1})
    run.checkpoint(1, fill())
    run.close()
    path = run.folder / METRICS
    path.write_bytes(b"x" * (path.stat().st_size - 1) + b"\n")
    with pytest.raises(RunError, match="line 1, is damaged"):
        Run.resume(run.folder)
    path.write_bytes(b"")
    with pytest.raises(RunError, match="somebody has changed it"):  # Nobody keeps it locked.
        Run.resume(run.folder)


def test_a_folder_that_a_copy_has_lost_since_it_was_empty_is_made_again(run: Run) -> None:
    run.close()
    run.log("x").parent.rmdir()
    assert Run.resume(run.folder).log("x").parent.is_dir()


def test_the_time_a_training_took_is_added_up(run: Run) -> None:
    made = run.checkpoint(1, fill())
    run.close()
    assert Run.resume(run.folder).seconds >= made.seconds


# --- where the model is ------------------------------------------------------------------------------------


def test_the_model_of_a_run_of_a_checkpoint_and_of_a_folder(run: Run, tmp_path: Path) -> None:
    for step, score in ((1, 0.5), (2, 0.4)):
        run.checkpoint(step, fill(), score=score)
    first, second = (run.path(each) for each in run.checkpoints())
    assert model_folder(run.folder) == first / "model"
    assert model_folder(run.folder, "last") == second / "model"
    assert model_folder(second) == second / "model"
    assert model_folder(tmp_path / "other") == tmp_path / "other"


def test_a_run_without_a_checkpoint_has_no_model(run: Run) -> None:
    with pytest.raises(RunError, match="no checkpoint yet"):
        model_folder(run.folder)
