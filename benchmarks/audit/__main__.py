"""Makes the page. See the package's docstring."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import trio

from coworkenv.engine.foreign import ForeignFailed
from coworkenv.worlds.claw_eval import TaskError
from coworkenv.worlds.imported import CheckoutError

from . import claw_eval, clawmark, tau2
from .outcomes import CLAW_EVAL, CLAWMARK, TAU2, Tried
from .page import PAGE, Source, page

BENCHMARKS: dict[str, tuple[str, Callable[[Path, bool], Iterator[Tried]]]] = {
    "claw_eval": (CLAW_EVAL, claw_eval.tried),
    "clawmark": (CLAWMARK, clawmark.tried),
    "tau2": (TAU2, tau2.tried),
}


def commit(path: Path) -> str:
    """What git calls the checkout's commit, in short; `-` where it is no repository of its own."""
    asked = ["git", "-C", str(path), "rev-parse", "--short=12", "--show-toplevel", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    except OSError:
        return "-"
    lines = done.stdout.split()
    return lines[-1] if done.returncode == 0 and Path(lines[0]) == path.resolve() else "-"


def source_of(name: str, path: Path, unsafe: bool) -> Source:
    title, tried = BENCHMARKS[name]
    started = time.monotonic()
    tasks = []
    for number, task in enumerate(tried(path, unsafe), 1):
        tasks.append(task)
        print(f"\r{title}: {number} tasks", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    files = trio.run(claw_eval.examined, path) if title == CLAW_EVAL else None
    return Source(title, commit(path), time.monotonic() - started, tasks, files)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description="What doing no work is paid.")
    for name in BENCHMARKS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="CHECKOUT")
    parser.add_argument("--write", action="store_true", help="write docs/audit-benchmarks.md, instead of printing it")
    parser.add_argument("--unsafe", action="store_true", help="without a sandbox")
    options = vars(parser.parse_args(arguments))
    named = [name for name in BENCHMARKS if options[name] is not None]
    if not named:
        parser.error("name at least one checkout")
    try:
        text = page([source_of(name, options[name], options["unsafe"]) for name in named])
    except (CheckoutError, TaskError, ForeignFailed) as error:
        print(error, file=sys.stderr)
        return 1
    if options["write"]:
        PAGE.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
