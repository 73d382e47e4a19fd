"""How many episodes a second: upstream's loop over its HTTP servers, and ours in one process, with the same script.

python -m benchmarks.claw_eval.speed CHECKOUT [--python PYTHON]

PYTHON is an interpreter that has what upstream's loop and servers need. Both sides are processes of their own and take
turns, task by task; a round is so many episodes of each, and the median of the rounds counts. What they do: a call a
turn, a text at the end, the audits fetched, a trace written to a file; upstream resets its servers before each episode,
ours writes a log that can be verified. How long it takes to start the servers and to read the task's files is told
apart. Nothing of a task is printed but its name.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import ExitStack
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import trio

from coworkenv.agents.building import build_agent
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.events.codec import from_json, to_json
from coworkenv.events.event import Json, ToolCalled
from coworkenv.worlds.claw_eval import load_task, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.needs import needs


class Side:
    """One of the two, in a process of its own."""

    def __init__(self, python: str, name: str, checkout: Path, stack: ExitStack) -> None:
        command = [python, "-m", f"{__package__}.{name}", str(checkout)]
        self._process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        )

    def ask(self, **question: Json) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(to_json(question) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args!r} has ended; run it by itself to see why.")
        return from_json(line)  # type: ignore[no-any-return]


class Measured(msgspec.Struct, frozen=True):
    """Of one task and one side. Seconds an episode, the median of the rounds."""

    start: float
    wall: float
    cpu: float
    memory: float
    """MiB, the most at once."""
    statuses: list[int]


def measured(
    sides: list[Side], task: str, script: list[list[Json]], episodes: list[int], rounds: int
) -> list[Measured]:
    starts = [float(side.ask(open=task)["seconds"]) for side in sides]
    for side in sides:
        side.ask(script=script, episodes=1)
    rows = [[side.ask(script=script, episodes=count) for side, count in zip(sides, episodes)] for _ in range(rounds)]
    for side in sides:
        side.ask(close=True)
    return [
        Measured(
            start,
            median(float(row[index]["seconds"]) / episodes[index] for row in rows),
            median(float(row[index]["cpu"]) / episodes[index] for row in rows),
            float(rows[-1][index]["memory"]),
            rows[-1][index]["statuses"],
        )
        for index, start in enumerate(starts)
    ]


def script_of(folder: Path) -> list[list[Json]]:
    """What the exploring agent does there, as far as upstream's limit of turns lets it."""
    task = load_task(folder, "upstream")
    episode = trio.run(play, Plan(world_of(task), build_agent("explore")))
    calls = [[event.body.tool, event.body.args] for event in episode.events if isinstance(event.body, ToolCalled)]
    return calls[: task.max_turns - 1]


def names(checkout: Path, pattern: str, count: int) -> list[str]:
    """So many of the tasks that have servers, and need nothing beside, evenly chosen."""
    fitting = [
        folder.name
        for folder in find_checkout(checkout).folders()
        if fnmatchcase(folder.name, pattern) and not needs(folder) and load_task(folder).services
    ]
    return [fitting[index * len(fitting) // count] for index in range(min(count, len(fitting)))]


def report(found: dict[str, list[Measured]]) -> float:
    print("| task | calls | start, s | | ms an episode | | factor | CPU ms | | MiB | | statuses equal |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for task, (theirs, ours) in found.items():
        starts = f"{theirs.start:.2f} | {ours.start:.2f}"
        walls = f"{theirs.wall * 1e3:.1f} | {ours.wall * 1e3:.1f} | {theirs.wall / ours.wall:.1f}"
        cpus = f"{theirs.cpu * 1e3:.1f} | {ours.cpu * 1e3:.1f}"
        equal = "yes" if theirs.statuses == ours.statuses else "no"
        print(
            f"| {task.partition('_')[0]} | {len(ours.statuses)} | {starts} | {walls} | {cpus} "
            f"| {theirs.memory:.0f} | {ours.memory:.0f} | {equal} |"
        )
    wall = [sum(each[side].wall for each in found.values()) for side in (0, 1)]
    work = [sum(each[side].cpu for each in found.values()) for side in (0, 1)]
    most = [max(each[side].memory for each in found.values()) for side in (0, 1)]
    rates = f"{len(found) / wall[0]:.1f} and {len(found) / wall[1]:.1f} episodes/s, {wall[0] / wall[1]:.1f} times"
    by_cpu = f"{work[0] / work[1]:.1f} times by CPU"
    print(f"\nUpstream, then ours: {rates}; {by_cpu}; at most {most[0]:.0f} and {most[1]:.0f} MiB.")
    return wall[0] / wall[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claw_eval.speed", description="Episodes a second.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has what upstream needs")
    parser.add_argument("--tasks", type=int, default=10, help="how many")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="tasks whose names fit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=2, help="of upstream in a round; of ours, ten times as many")
    options = parser.parse_args()
    found: dict[str, list[Measured]] = {}
    with ExitStack() as stack:
        checkout = options.checkout.resolve()
        sides = [Side(options.python, "theirs", checkout, stack), Side(sys.executable, "ours", checkout, stack)]
        for name in names(checkout, options.only, options.tasks):
            script = script_of(find_checkout(checkout).tasks / name)
            episodes = [options.episodes, 10 * options.episodes]
            found[name] = measured(sides, name, script, episodes, options.rounds)
    return 0 if report(found) >= 10 else 1


if __name__ == "__main__":
    sys.exit(main())
