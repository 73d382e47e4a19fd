"""Prints the tables. See the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import trio

from coworkenv.engine.clawmark.host import CHECKOUTS, Setup
from coworkenv.worlds.clawmark import NOTICE

from . import playing, tables
from .playing import AGENTS, SCRIPTS, Agents, Row


async def rows_of(setup: Setup, names: list[str], agents: Agents | None = None) -> list[Row]:
    """All rows of some tasks, in their order; several tasks are played at once. By nobody, unless agents are named."""
    found: dict[str, list[Row]] = {}
    limit = trio.CapacityLimiter(os.cpu_count() or 1)

    async def one(name: str) -> None:
        async with limit:
            found[name] = await playing.rows_of(setup, name, agents or {"nobody": playing.nobody})
        for row in found[name]:
            if not row.good:
                print(f"{name}, {row.agent}: {row.error or row}"[:400], file=sys.stderr, flush=True)

    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(one, name)
    return [row for name in names for row in found[name]]


def agents_of(names: list[str] | None, scripts: Path) -> Agents:
    every: Agents = {**AGENTS, "scripted": playing.scripted(scripts)}
    return {name: agent for name, agent in every.items() if not names or name in names}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clawmark", description="All tasks of a checkout.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", metavar="TASK", action="append", help="such as hr/task2; all, unless named")
    parser.add_argument("--agent", choices=AGENTS, action="append", help="all, unless named")
    parser.add_argument("--scripts", type=Path, metavar="FOLDER", default=SCRIPTS, help="has DOMAIN.TASK.yaml")
    parser.add_argument("--unsafe", action="store_true", help="without a sandbox")
    options = parser.parse_args()
    print(NOTICE, file=sys.stderr)
    setup = CHECKOUTS.name(options.checkout, options.unsafe)
    names = options.only or setup.checkout.tasks()
    started = time.monotonic()
    rows = trio.run(rows_of, setup, names, agents_of(options.agent, options.scripts))
    for table in (tables.figures(rows), tables.scripts(rows), tables.kinds(rows)):
        print(table)
    for line in tables.refused(rows):
        print(f"commands that are not done here, {line}")
    print(f"{time.monotonic() - started:.0f} seconds")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
