"""Trainings that are broken off at a chosen moment, each in a process of its own that is forked after all imports.

Run as `python -m tests.learn.breaking`, with a list of jobs as JSON on standard input; prints what came of each. A job
has the words of `coworkenv learn`, and maybe a signal and the moment at which the process sends it to itself: the n-th
time that it comes to a certain place.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import transformers.models.llama.modeling_llama  # noqa: F401, or each child would have to

from coworkenv.engine.cli import main
from coworkenv.learn import folders, generating, sessions, training
from coworkenv.learn.runs import Run

CHECKOUT = Path(__file__).parents[2]
PLACES: dict[str, tuple[Any, str]] = {
    "sampling": (generating._Batch, "step"),
    "backward": (training.Trainer, "_backward"),
    "clipping": (training.Trainer, "_clipped"),
    "weights": (sessions, "write"),
    "checkpoint": (folders, "_sync"),
    "metrics": (sessions.Session, "metric"),
    "evaluation": (sessions, "write_evaluation"),
}


class Job(msgspec.Struct):
    words: list[str]
    signal: int = 0
    place: str = ""
    number: int = 0
    """Counted from 1."""


class Broken(msgspec.Struct):
    """What came of a job: its exit code, below 0 for a signal; what it said; how often it came to each place."""

    code: int
    said: str
    places: dict[str, int] = {}


def breaking(folder: Path, jobs: Sequence[Job], seed: int) -> list[Broken]:
    """Do jobs in a folder, one after the other, with a certain PYTHONHASHSEED."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.learn.breaking", str(folder)],
        input=msgspec.json.encode(jobs),
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=list[Broken])


def outcome(folder: Path) -> dict[str, Any]:
    """All that may not differ between a run that was broken off and one that was not."""
    run = Run.open(folder)
    last = run.latest()
    assert last is not None
    rows = [{name: value for name, value in row.items() if name != "seconds"} for row in run.metrics()]
    evaluations = {path.name: path.read_bytes() for path in sorted((folder / "evaluations").glob("*.json"))}
    return {"step": last.step, "state": last.state, "files": last.files, "rows": rows, "evaluations": evaluations}


# --- in the process --------------------------------------------------------------------------------------------


def _watched(job: Job, counts: Counter[str]) -> None:
    for name, (owner, function) in PLACES.items():
        setattr(owner, function, _counting(name, getattr(owner, function), job, counts))


def _counting(name: str, real: Callable[..., Any], job: Job, counts: Counter[str]) -> Callable[..., Any]:
    def counted(*args: Any, **more: Any) -> Any:
        counts[name] += 1
        if job.signal and (name, counts[name]) == (job.place, job.number):
            os.kill(os.getpid(), job.signal)
        return real(*args, **more)

    return counted


def _done(job: Job) -> Broken:
    said, told = Path(f".said-{os.getpid()}"), Path(f".told-{os.getpid()}")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        counts: Counter[str] = Counter()
        _watched(job, counts)
        code = main(["learn", *job.words])
        told.write_text(json.dumps(counts))
        os._exit(code)
    _, status = os.waitpid(child, 0)
    places = json.loads(told.read_text()) if told.exists() else {}
    told.unlink(missing_ok=True)
    return Broken(os.waitstatus_to_exitcode(status), said.read_text(), places)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = [_done(each) for each in msgspec.json.decode(sys.stdin.buffer.read(), type=list[Job])]
    sys.stdout.write(msgspec.json.encode(found).decode())
