"""One table of all foreign benchmarks: what of their tasks is loaded, played, verified and graded here.

    python -m benchmarks.foreign --claw-eval PATH --clawmark PATH --tau2 PATH

Each task is played by an agent that does nothing, or, in tau2-bench, what the task says is right. Judges are stubs in
this process. Nothing of a checkout is shown but counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import trio

from coworkenv.engine.claw_eval.scoring import Setup
from coworkenv.engine.clawmark.host import CHECKOUTS as CLAWMARK
from coworkenv.engine.tau2.host import CHECKOUTS as TAU2
from coworkenv.worlds.claw_eval import TaskError
from coworkenv.worlds.claw_eval.checkout import find_checkout

from .claw_eval.__main__ import failed
from .claw_eval.__main__ import rows_of as claw_eval_rows
from .clawmark.__main__ import rows_of as clawmark_rows
from .tau2.__main__ import rows_of as tau2_rows


class Counts(msgspec.Struct):
    """Of the tasks of one benchmark, or of one domain of it."""

    name: str
    tasks: int = 0
    loaded: int = 0
    played: int = 0
    verified: int = 0
    free: int = 0
    """Graded without a judge."""
    judged: int = 0
    """Graded with a stub judge."""
    errors: int = 0
    seconds: float = 0.0


def claw_eval(path: Path) -> Iterator[Counts]:
    setup = Setup(checkout=find_checkout(path))
    counts = Counts("Claw-Eval")
    with TemporaryDirectory() as place:
        for task in (each.name for each in setup.checkout.folders()):
            counts.tasks += 1
            try:
                row = trio.run(claw_eval_rows, setup, task, "sane", Path(place), ("none",))[0]
            except TaskError as error:
                print(error, file=sys.stderr)
                counts.errors += 1
                continue
            counts.loaded += 1
            counts.played += 1
            counts.verified += row.verified
            counts.free += not failed(row.free) and row.free != "judge"
            counts.judged += row.scores is not None
            counts.errors += row.scores is None
    yield counts


def clawmark(path: Path) -> Iterator[Counts]:
    setup = CLAWMARK.name(path)
    rows = trio.run(clawmark_rows, setup, setup.checkout.tasks(), None)
    graded = sum(row.verdicts is not None for row in rows)
    yield Counts(
        "ClawMark",
        tasks=len(rows),
        loaded=sum(row.loaded for row in rows),
        played=sum(row.ran == row.stages > 0 for row in rows),
        verified=sum(row.verified for row in rows),
        free=graded,
        judged=graded,
        errors=sum(bool(row.error) for row in rows),
    )


def tau2(path: Path) -> Iterator[Counts]:
    setup = TAU2.name(path)
    for domain in setup.checkout.domains():
        if missing := setup.checkout.missing(domain):
            print(f"tau2-bench, {domain}: the checkout lacks {', '.join(missing)}", file=sys.stderr)
            continue
        rows = trio.run(tau2_rows, setup, domain, ["reference"], False, sys.maxsize)
        played = [row for row in rows if row.asked]
        yield Counts(
            f"tau2-bench, {domain}",
            tasks=len(rows),
            loaded=len(played),
            played=len(played),
            verified=sum(row.verified for row in played),
            free=sum(row.free is not None and row.free.reward is not None for row in played),
            judged=sum(row.judged is not None and row.judged.reward is not None for row in played),
            errors=sum(bool(row.error) for row in rows),
        )


BENCHMARKS: dict[str, Callable[[Path], Iterator[Counts]]] = {
    "claw_eval": claw_eval,
    "clawmark": clawmark,
    "tau2": tau2,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign", description="All foreign benchmarks.")
    for name in BENCHMARKS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="CHECKOUT")
    options = vars(parser.parse_args())
    print("| | tasks | loaded | played | verified | graded without a judge | with a stub judge | errors | seconds |")
    print("|---|" + "---:|" * 8, flush=True)
    fine = True
    for name, count in BENCHMARKS.items():
        if options[name] is None:
            continue
        started = time.monotonic()
        for counts in count(options[name]):
            counts.seconds, started = time.monotonic() - started, time.monotonic()
            *figures, seconds = msgspec.structs.astuple(counts)
            print(f"| {' | '.join(map(str, figures))} | {seconds:.0f} |", flush=True)
            fine = fine and counts.verified == counts.played == counts.tasks and not counts.errors
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
