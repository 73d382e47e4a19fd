"""The whole campaign: `python -m tests.engine.crashing --kills 240 [--seed 0] [--json]`."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import trio

from coworkenv.events.sqlite import SqliteLog

from .campaign import MOMENTS, Report, campaign, fork_campaign, staged
from .forking import fork_everywhere

CHANGES: list[dict[str, Any]] = [{}, {"seed": 1}, {"agent": {"kind": "explore"}}]


async def _play(kills: int, seed: int) -> tuple[Report, int, int]:
    """The report, deaths of forks, and forks of one episode that had been killed."""
    with tempfile.TemporaryDirectory() as folder:
        async with staged() as stage:
            forks = [await fork_campaign(stage, Path(folder), durability, 12) for durability in ("batch", "each")]
            report = await campaign(stage, Path(folder), kills, seed)
        log = SqliteLog(sorted(Path(folder).glob("B-batch-*.db"))[0])
        async with log.writing():
            [stream] = [row.id for row in log.rows()]
            made = [await fork_everywhere(log, stream, changes) for changes in CHANGES]
        log.close()
        return report, sum(forks), sum(made)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.engine.crashing")
    parser.add_argument("--kills", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    began = time.perf_counter()
    report, forks, made = trio.run(_play, options.kills, options.seed)
    figures = {
        "kills": report.total,
        **{f"kills {text}": report.at(moment) for moment, text in MOMENTS.items()},
        "kills that left no event": report.before_first_commit,
        "kills of forks": forks,
        "forks of a killed episode": made,
        "episodes": report.episodes,
        "lives": report.lives,
        "events": report.events,
        "effects": report.effects,
        "requests to the server": report.asks,
        "seconds": round(time.perf_counter() - began, 1),
    }
    if options.json:
        print(json.dumps(figures))
        return
    groups = [(server, durability) for server in "AB" for durability in ("batch", "each")]
    print(
        f"{'killed':34}" + "".join(f"{server + ' ' + durability:>9}" for server, durability in groups) + f"{'all':>9}"
    )
    for moment, text in MOMENTS.items():
        counts = [report.kills[server, durability, moment] for server, durability in groups]
        print(f"{text:34}" + "".join(f"{count:9}" for count in [*counts, sum(counts)]))
    for name, value in figures.items():
        print(f"{name:34}{value:9}")


if __name__ == "__main__":
    main()
