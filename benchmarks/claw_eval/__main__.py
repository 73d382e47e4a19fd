"""Prints the table. See the package's docstring."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import trio

from coworkenv.agents.building import build_coworkers
from coworkenv.engine.claw_eval.scoring import Scores, Setup, grader
from coworkenv.engine.episode import run_episode
from coworkenv.engine.foreign import ForeignFailed
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import verify
from coworkenv.events.event import Json
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.claw_eval import Mode, Task, TaskError, load_task, world_of
from coworkenv.worlds.claw_eval.checkout import find_checkout
from coworkenv.worlds.claw_eval.needs import needs
from coworkenv.worlds.claw_eval.trace import trace, trace_text

from .agents import AGENTS, persona
from .stub import CHAT, score_of


class Row(msgspec.Struct):
    """One task and one agent."""

    task: str
    agent: str
    free: str = ""
    """Graded without a judge: the score, `judge` where that takes one, or what went wrong."""
    judged: str = ""
    asked: int = 0
    verified: bool = False
    """The log, executed again, has the same bytes."""
    scores: Scores | None = None
    theirs: dict[str, Any] | None = None

    @property
    def equal(self) -> bool | None:
        if self.scores is None or self.theirs is None or "error" in self.theirs:
            return None
        ours = {name: float(getattr(self.scores, name)) for name in (*self.scores.__struct_fields__, "score", "passed")}
        return ours == {name: float(self.theirs[name]) for name in ours}


class Tally:
    """The stub judge for our graders, and how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, question: Json) -> Json:
        self.asked += 1
        if question["method"] == "chat":
            return CHAT
        return {"score": Decimal(str(score_of(question))), "reasoning": "a stub"}


async def played(task: Task, agent: str, seed: int) -> tuple[str, bool]:
    """The trace of an episode, and whether its log can be verified."""
    world = world_of(task)
    coworkers = build_coworkers(world, "persona:stub", perform=persona)
    log = MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world, AGENTS[agent](task), coworkers, seed), log)
    verified = (await verify(log, episode.id)).verdict
    return trace_text(trace(task, episode.events, trace_id=episode.id, model=agent)), verified == "identical"


async def rows_of(
    setup: Setup, name: str, mode: Mode, folder: Path, agents: Sequence[str] = tuple(AGENTS)
) -> list[Row]:
    """Some agents, each on one task. Raises TaskError."""
    task = load_task(setup.checkout.folder(name), mode)
    rows, traces = [], []
    for number, agent in enumerate(agents):
        text, verified = await played(task, agent, number)
        (folder / f"{name}.{agent}.jsonl").write_text(text)
        traces.append(text)
        rows.append(Row(name, agent, verified=verified))
    tally = Tally()
    for answers in (None, tally):
        try:
            async with grader(setup, name, answers) as asked:
                for row, text in zip(rows, traces, strict=True):
                    before = tally.asked
                    try:
                        scores = await asked.grade(text)
                        said = "judge" if scores is None else str(scores.score)
                    except ForeignFailed as failure:
                        scores, said = None, f"{failure.kind}: {failure.says}"
                    if answers is None:
                        row.free = said
                    else:
                        row.scores, row.judged, row.asked = scores, said, tally.asked - before
        except ForeignFailed as failure:
            for row in rows:
                row.free = row.free or f"{failure.kind}: {failure.says}"
                row.judged = row.judged or row.free
    return rows


def compare(rows: list[Row], checkout: Path, python: str, folder: Path) -> None:
    """The same traces by upstream's package, under `python`."""
    lines = [json.dumps([row.task, str(folder / f"{row.task}.{row.agent}.jsonl")]) for row in rows]
    ran = subprocess.run(
        [python, "-m", f"{__package__}.upstream", str(checkout)],
        input="\n".join(lines) + "\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=1800,
        check=True,
    )
    for row, line in zip(rows, ran.stdout.splitlines(), strict=True):
        row.theirs = json.loads(line)


def failed(said: str) -> bool:
    return ":" in said


def report(rows: list[Row], problems: list[str], wanted: dict[str, Sequence[str]], seconds: float) -> None:
    per_task = {row.task: [each for each in rows if each.task == row.task] for row in rows}
    free = [task for task, each in per_task.items() if all(not failed(r.free) and r.free != "judge" for r in each)]
    whole = [task for task in free if "sandbox" not in wanted[task]]
    some = sum(any(r.free == "judge" for r in each) for each in per_task.values())
    judged = sum(all(r.scores is not None for r in each) for each in per_task.values())
    print(f"| loaded | {len(wanted)} |\n|---|---:|")
    print(f"| cannot be loaded | {len(problems)} |")
    print(f"| episodes verified | {sum(row.verified for row in rows)} of {len(rows)} |")
    print(f"| graded without a judge, all {len(AGENTS)} agents | {len(free)} |")
    print(f"| of these, take no sandbox either: their scores mean something here | {len(whole)} |")
    print(f"| say of some agent that they need a judge | {some} |")
    print(f"| graded with a stub judge, all agents | {judged} |")
    print(f"| graders that failed on some agent | {len(per_task) - judged} |")
    for need, count in Counter(need for each in wanted.values() for need in each).most_common():
        print(f"| need: {need} | {count} |")
    print(f"| seconds | {seconds:.0f} |")
    for agent in AGENTS:
        scores = [row.scores for row in rows if row.agent == agent and row.scores is not None]
        mean = sum(float(each.score) for each in scores) / max(1, len(scores))
        print(f"| {agent}: mean score, passed | {mean:.3f}, {sum(each.passed for each in scores)} |")
    for row in rows:
        for said in {row.free, row.judged}:
            if failed(said):
                print(f"{row.task} {row.agent}: {said[:300]}", file=sys.stderr)
    print("\n".join(problems), file=sys.stderr)


def report_parity(rows: list[Row]) -> bool:
    compared = [row for row in rows if row.theirs is not None]
    equal = sum(row.equal is True for row in compared)
    both = sum(row.scores is None and "error" in (row.theirs or {}) for row in compared)
    print(f"| compared with upstream | {len(compared)} |")
    print(f"| equal in all four scores, the score and the verdict | {equal} |")
    print(f"| fail with both | {both} |")
    for row in compared:
        if row.equal is not True and not (row.scores is None and "error" in (row.theirs or {})):
            print(f"{row.task} {row.agent}: {row.judged} {row.scores} upstream {row.theirs}", file=sys.stderr)
    return equal + both == len(compared)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claw_eval", description="All tasks of a checkout.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--parity", metavar="PYTHON", help="an interpreter that has what upstream's package needs")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="tasks whose names fit")
    parser.add_argument("--mode", choices=("sane", "upstream"), default="sane")
    parser.add_argument("--own", action="store_true", help="the checkout's own package instead of our surface")
    options = parser.parse_args()
    setup = Setup(checkout=find_checkout(options.checkout), own=options.own)
    names = [folder.name for folder in setup.checkout.folders()]
    rows, problems, wanted = [], [], dict[str, Sequence[str]]()
    started = time.monotonic()
    with TemporaryDirectory() as place:
        for name in names:
            if not fnmatchcase(name, options.only):
                continue
            try:
                rows += trio.run(rows_of, setup, name, options.mode, Path(place))
                wanted[name] = needs(setup.checkout.folder(name))
            except TaskError as error:
                problems.append(str(error))
        seconds = time.monotonic() - started
        if options.parity:
            compare(rows, options.checkout.resolve(), options.parity, Path(place))
    report(rows, problems, wanted, seconds)
    return 0 if not options.parity or report_parity(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
