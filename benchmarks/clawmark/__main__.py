"""Prints the table. See the package's docstring."""

from __future__ import annotations

import argparse
import sys
import time
from decimal import Decimal
from pathlib import Path

import msgspec
import trio

from coworkenv.agents.agent import Actor
from coworkenv.agents.building import build_agent
from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.clawmark.grading import Verdicts, verdicts_of
from coworkenv.engine.clawmark.host import CHECKOUTS, Setup, worker
from coworkenv.engine.clawmark.loading import load_task
from coworkenv.engine.clawmark.people import StageUser
from coworkenv.engine.episode import run_episode
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.clawmark import NOTICE, Task, world_of
from coworkenv.worlds.clawmark.turns import turns
from coworkenv.worlds.clawmark.world import USER


class Row(msgspec.Struct):
    """One task."""

    task: str
    loaded: bool = False
    stages: int = 0
    ran: int = 0
    verified: bool = False
    same: bool = False
    """Graded again in another worker, from the stored log, each checker says the same."""
    verdicts: Verdicts | None = None
    error: str = ""


def nobody(task: Task) -> Actor:
    """Ends each turn at once."""
    return Script([ScriptStep(wait=USER), *(ScriptStep(ask=USER, text="Done.") for _ in task.times)])


async def play_row(row: Row, setup: Setup, scripts: Path | None) -> None:
    task = await load_task(setup, row.task)
    row.loaded, row.stages = True, len(task.times)
    script = scripts and scripts / f"{row.task.replace('/', '.')}.yaml"
    world, agent = world_of(task), build_agent(f"script:{script}") if script else nobody(task)
    log = MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world, agent, {USER: StageUser()}), log)
    row.ran = len(turns(world, episode.events))
    row.verified = (await verify(log, episode.id, foreign=True)).verdict == "identical"
    graded = []
    for events in (episode.events, list(log.read(episode.id))):
        async with worker(setup, row.task) as asked:
            graded.append(await verdicts_of(asked, setup, task, events))
    row.verdicts, row.same = graded[0], graded[0] == graded[1]


async def rows_of(setup: Setup, names: list[str], scripts: Path | None) -> list[Row]:
    rows = []
    for name in names:
        row = Row(name)
        try:
            await play_row(row, setup, scripts)
        except Exception as error:
            row.error = f"{type(error).__name__}: {error}"[:300]
        rows.append(row)
        if row.error or not (row.verified and row.same):
            print(f"{name}: {row.error or row}"[:400], file=sys.stderr, flush=True)
    return rows


def report(rows: list[Row], seconds: float) -> None:
    graded = [row.verdicts for row in rows if row.verdicts]
    checks = [check for each in graded for check in each.verdicts]
    mean = sum((each.score for each in graded), Decimal(0)) / max(1, len(graded))
    declared = sum((each.declared for each in graded), Decimal(0)) / max(1, len(graded))
    figures = {
        "tasks": len(rows),
        "loaded": sum(row.loaded for row in rows),
        "stages ran": f"{sum(row.ran for row in rows)} of {sum(row.stages for row in rows)}",
        "graded": len(graded),
        "verified": sum(row.verified for row in rows),
        "graded alike again": sum(row.same for row in rows),
        "checkers": len(checks),
        "passed": sum(check.passed for check in checks),
        "raised": sum(bool(check.raised) for check in checks),
        "score": f"{mean:.4f}",
        "declared": f"{declared:.4f}",
        "lift": f"{sum((each.lift for each in graded), Decimal(0)) / max(1, len(graded)):.4f}",
        "errors": sum(bool(row.error) for row in rows),
        "seconds": f"{seconds:.0f}",
    }
    print(f"| {' | '.join(figures)} |\n|{'---|' * len(figures)}\n| {' | '.join(map(str, figures.values()))} |")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clawmark", description="All tasks of a checkout.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", metavar="TASK", action="append", help="such as hr/task2; all, unless named")
    parser.add_argument("--scripts", type=Path, metavar="FOLDER", help="play DOMAIN.TASK.yaml of it, and no others")
    parser.add_argument("--unsafe", action="store_true", help="without a sandbox")
    options = parser.parse_args()
    print(NOTICE, file=sys.stderr)
    setup = CHECKOUTS.name(options.checkout, options.unsafe)
    names = options.only or setup.checkout.tasks()
    if options.scripts:
        names = [name for name in names if (options.scripts / f"{name.replace('/', '.')}.yaml").is_file()]
    started = time.monotonic()
    rows = trio.run(rows_of, setup, names, options.scripts)
    report(rows, time.monotonic() - started)
    return 0 if all(row.verified and row.same and not row.error for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
