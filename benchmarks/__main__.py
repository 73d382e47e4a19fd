"""Print how fast the hot paths are, as ratios to what this machine can do at all.

python -m benchmarks            # a minute or two
python -m benchmarks --quick    # a few seconds, for trying it out
python -m benchmarks --write    # and put the table into docs/performance.md
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

import trio

from .are import are_rate
from .limits import limits
from .profile import where_time_goes
from .rollouts import SMALL, Work, rollouts
from .synthesis import making
from .training import SHORT, Lesson, training
from .workload import rates, together

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def one_core() -> None:
    """Keep to one core, so that a writer thread beside the loop counts as well."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def measure(quick: bool) -> dict[str, object]:
    one_core()
    count, repeat, episodes, at_once = (3_000, 1, 10, 50) if quick else (30_000, 5, 100, 500)
    before = limits(count, repeat)
    found = trio.run(rates, episodes, repeat)
    after = limits(count, repeat)
    raw = {name: max(before[name], after[name]) for name in before}
    many, memory = trio.run(together, at_once)
    made = trio.run(making, 8 if quick else 60)
    wrote = rollouts(SMALL if quick else Work())
    learnt = training(SHORT if quick else Lesson())
    return {
        "limits": {name: round(value) for name, value in raw.items()},
        "episodes": {
            "events": found.shape.events,
            "mean bytes": round(found.shape.mean_bytes),
            "record events and tool results": round(found.shape.records_and_results, 2),
        },
        "floors": [
            floor("whole episodes, graded, in SQLite ÷ insert", found.run, raw["insert"], 0.15),
            floor("replay: read, decode, fold ÷ read and decode", found.replay, raw["read"], 0.5),
            floor("replay with chain verified ÷ read and decode", found.replay_checked, raw["read"], 0.3),
            floor("verify ÷ run, events/s (1 / 1.1)", found.verify, found.run, 1 / 1.1),
            row("rollouts, tokens ÷ one `generate` as long", wrote.server, wrote.to_single, 0.9),
            row("training, tokens ÷ a plain loop in torch", learnt.trainer, learnt.to_plain, 0.95),
        ],
        "beside": {
            f"episodes/s, {at_once} at once": round(many),
            "KiB a waiting episode": round(memory, 1),
            "ARE, events/s, oracle mode, in memory": are_rate(found.shape.events, repeat),
        },
        "synthesis": {
            "environments, fully validated": made.environments,
            "capabilities in one, mean": round(made.capabilities, 1),
            "environments/s": round(made.rate, 2),
            "episodes/s, played and graded": round(made.episodes),
            "episodes in the time of an environment": round(made.price),
        },
        "rollouts": {
            "tokens/s, policy server": round(wrote.server),
            "tokens/s, one `generate` of all turns' tokens": round(wrote.single),
            "tokens/s, `generate` that reads all again each turn": round(wrote.again),
            "server ÷ reading again": round(wrote.to_again, 2),
        },
        "profile": where_time_goes(episodes),
    }


def floor(name: str, rate: float, limit: float, least: float) -> dict[str, object]:
    return row(name, rate, rate / limit, least)


def row(name: str, rate: float, ratio: float, least: float) -> dict[str, object]:
    return {
        "what": name,
        "a second": round(rate),
        "ratio": round(ratio, 3),
        "floor": round(least, 3),
        "met": ratio >= least,
    }


def table(figures: dict[str, object]) -> str:
    lines = ["| what | a second | ratio | floor | |", "|---|---:|---:|---:|---|"]
    for row in figures["floors"]:  # type: ignore[attr-defined]
        mark = "met" if row["met"] else "**missed**"
        lines.append(f"| {row['what']} | {row['a second']:,} | {row['ratio']} | {row['floor']} | {mark} |")
    for part in ("episodes", "limits", "beside", "synthesis", "rollouts"):
        lines += ["", f"| {part} | |", "|---|---:|"]
        lines += [f"| {name} | {value} |" for name, value in figures[part].items()]  # type: ignore[attr-defined]
    lines += ["", "| where the time of a run goes | share |", "|---|---:|"]
    lines += [f"| {name} | {share:.0%} |" for name, share in figures["profile"].items()]  # type: ignore[attr-defined]
    return "\n".join(lines)


def write(text: str) -> None:
    page = PAGE.read_text()
    PAGE.write_text(re.sub(r"(<!-- table -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{text}\n{m[2]}", page, flags=re.S))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; the ratios mean little")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name}")
    options = parser.parse_args()
    figures = measure(options.quick)
    print(json.dumps(figures, indent=1) if options.json else table(figures))
    if options.write:
        write(table(figures))
    return 0 if options.quick or all(row["met"] for row in figures["floors"]) else 1  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
