"""Prints the table. See the package's docstring."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import trio

from coworkenv.agents.scripted import Script, ScriptStep
from coworkenv.engine.episode import run_episode
from coworkenv.engine.foreign import ForeignFailed, Worker
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import state_after, verify
from coworkenv.engine.tau2.grading import Components, components_of
from coworkenv.engine.tau2.host import CHECKOUTS, Setup, opened, worker
from coworkenv.engine.tau2.loading import load_task
from coworkenv.engine.tau2.people import ReferenceUser
from coworkenv.events.codec import to_json
from coworkenv.events.event import EffectResolved, Event, Json, ToolCalled
from coworkenv.events.memory import MemoryLog
from coworkenv.worlds.foreign import HostedCall
from coworkenv.worlds.tau2 import Task, world_of
from coworkenv.worlds.tau2.layout import database_of
from coworkenv.worlds.tau2.reference import USER, reference_actions
from coworkenv.worlds.tau2.trajectory import trajectory
from coworkenv.worlds.world import World

from .agents import AGENTS, play_by
from .stub import verdict


class Row(msgspec.Struct):
    """One task and one agent."""

    domain: str
    task: str
    agent: str
    calls: int = 0
    verified: bool = False
    driven: bool = False
    """The code, driven again, answers the same and ends with the databases that the log folds to."""
    free: Components | None = None
    judged: Components | None = None
    error: str = ""
    asked: dict[str, Any] = {}
    """The question to upstream."""
    theirs: dict[str, Any] | None = None

    @property
    def equal(self) -> bool | None:
        if self.theirs is None:
            return None
        if self.judged is None or "error" in self.theirs:
            return self.judged is None and "error" in self.theirs
        mine, theirs = self.judged, self.theirs
        parts = {name: float(mine.components[name] or 0) for name in theirs["components"]}
        return mine.reward is not None and (float(mine.reward), parts) == (theirs["reward"], theirs["components"])


class Judge:
    """The stub, as the parent of a worker answers it."""

    kind = True

    async def __call__(self, _: str, question: Json) -> Json:
        return verdict(question["messages"][1]["content"], self.kind)


async def play_row(row: Row, asked: Worker, judge: Judge, task: Task, world: World, pool: list[Any]) -> None:
    play = play_by(row.agent, task.raw, pool, 1, task.solo)
    agent = Script([ScriptStep(**msgspec.structs.asdict(step)) for step in play.steps])
    people = {} if task.solo else {USER: ReferenceUser(play.turns)}
    log = MemoryLog()
    async with log.writing():
        episode = await run_episode(Plan(world, agent, people), log)
    if episode.status != "ended":
        row.error = f"{episode.reason}"
        return
    row.calls = sum(isinstance(event.body, ToolCalled) for event in episode.events)
    row.verified = (await verify(log, episode.id)).verdict == "identical"
    row.driven = await folds_to_the_same(asked, task, world, episode.events)
    judge.kind = row.agent != "random"
    try:
        row.free = await components_of(asked, task, episode.events)
        row.judged = await components_of(asked, task, episode.events, judged=True)
    except ForeignFailed as failure:
        row.error = failure.says
    ended = row.free.ended if row.free else "user_stop"
    row.asked = {
        "domain": task.domain,
        "task": task.raw,
        "options": task.options,
        "solo": task.solo,
        "ended": ended,
        "messages": trajectory(task, episode.events),
        "kind": judge.kind,
    }


async def folds_to_the_same(asked: Worker, task: Task, world: World, events: Sequence[Event]) -> bool:
    """Whether the code, driven through an episode's calls, has the databases that the log folds to."""
    hosted = await opened(asked, world.host)
    for event in events:
        if isinstance(event.body, EffectResolved):
            call = events[events[event.body.effect].cause or 0]
            assert isinstance(call.body, ToolCalled)
            service = USER if call.actor == USER else task.domain
            answer = await hosted.call(HostedCall(call.actor, service, call.body.tool, call.body.args))
            if to_json(answer) != to_json(event.body.answer):
                return False
    state = state_after(world, events)
    live: dict[str, Json] = await asked.ask("databases")
    sides = {task.domain: task.agent, USER: task.user}
    return all(
        _sorted(database_of(state[name].plain(), sides[name].layout)) == _sorted(database)
        for name, database in live.items()
    )


def _sorted(value: Json) -> bytes:
    return msgspec.json.encode(value, order="sorted")


async def rows_of(setup: Setup, domain: str, agents: Sequence[str], solo: bool, most: int) -> list[Row]:
    rows: list[Row] = []
    raws = setup.checkout.tasks(domain)[:most]
    pool = [action for raw in raws for action in reference_actions(raw)]
    digest = setup.checkout.digest(domain)
    judge = Judge()
    async with worker(setup, judge) as asked:
        for raw in raws:
            if solo and not raw.get("ticket"):
                continue
            try:
                task = await load_task(asked, setup, domain, raw, solo, digest)
            except ForeignFailed as failure:
                rows += (Row(domain, raw["id"], agent, error=failure.says) for agent in agents)
                continue
            world = world_of(task)
            for agent in agents:
                rows.append(Row(domain, raw["id"], agent))
                await play_row(rows[-1], asked, judge, task, world, pool)
    return rows


def compare(rows: list[Row], checkout: Path, python: str) -> None:
    """The same trajectories by upstream itself, under `python`."""
    ran = subprocess.run(
        [python, str(Path(__file__).parent / "upstream.py"), str(checkout)],
        input=b"".join(to_json(row.asked) + b"\n" for row in rows),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=3600,
        check=True,
    )
    for row, line in zip(rows, ran.stdout.splitlines(), strict=True):
        row.theirs = json.loads(line)


_COLUMNS = (
    *("domain", "agent", "loaded", "played", "calls", "verified", "driven again", "graded", "graded with a stub judge"),
    *("reward 1", "equal to upstream", "errors", "seconds"),
)


def report(domain: str, rows: list[Row], seconds: float) -> None:
    for agent in dict.fromkeys(row.agent for row in rows):
        mine = [row for row in rows if row.agent == agent]
        played = [row for row in mine if row.asked]
        figures = [
            len({row.task for row in mine}),
            len(played),
            sum(row.calls for row in played),
            sum(row.verified for row in played),
            sum(row.driven for row in played),
            sum(row.free is not None and row.free.reward is not None for row in played),
            sum(row.judged is not None and row.judged.reward is not None for row in played),
            sum(row.judged is not None and row.judged.reward == Decimal(1) for row in played),
            sum(row.equal is True for row in played) if any(row.theirs for row in played) else "-",
            sum(bool(row.error) for row in mine),
        ]
        print(f"| {domain} | {agent} | {' | '.join(map(str, figures))} | {seconds:.0f} |", flush=True)
    for row in rows:
        if row.error or row.equal is False or (row.asked and not (row.verified and row.driven)):
            ours = None if row.judged is None else (row.judged.reward, dict(row.judged.components))
            print(f"  {row.task} {row.agent}: {row.error[:200]} {ours} upstream {row.theirs}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tau2", description="All tasks of a checkout.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--parity", metavar="PYTHON", help="an interpreter that can import all of upstream")
    parser.add_argument("--only", metavar="DOMAIN", action="append", help="domains; all, unless named")
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--solo", action="store_true", help="only tasks with a ticket, by the agent alone")
    parser.add_argument("--most", type=int, default=10**6, help="tasks of each domain")
    parser.add_argument("--unsafe", action="store_true", help="without a sandbox")
    options = parser.parse_args()
    setup = CHECKOUTS.name(options.checkout, options.unsafe)
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}", flush=True)
    fine = True
    for domain in options.only or setup.checkout.domains():
        if missing := setup.checkout.missing(domain):
            print(f"{domain} lacks {', '.join(missing)}", file=sys.stderr)
            continue
        if lesser := setup.checkout.lesser(domain):
            print(lesser, file=sys.stderr)
        started = time.monotonic()
        rows = trio.run(rows_of, setup, domain, options.agents.split(","), options.solo, options.most)
        seconds = time.monotonic() - started
        if options.parity:
            compare([row for row in rows if row.asked], options.checkout.resolve(), options.parity)
        report(domain, rows, seconds)
        fine = fine and all(row.equal is not False and (not row.asked or row.driven) for row in rows)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
