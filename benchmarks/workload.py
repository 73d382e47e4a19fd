"""The engine at work on real episodes: an oracle, a colleague who goes by rules, a timeline, checks, a log on disk."""

from __future__ import annotations

import gc
import tempfile
import time
import tracemalloc
from pathlib import Path

import msgspec
import trio

from coworkenv.agents.agent import Answer, Outside, Request
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.episode import play
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import state_after, verify
from coworkenv.engine.rollouts import rollout
from coworkenv.events import Event, SqliteLog, encode
from coworkenv.events.event import RecordChanged, RecordCreated, RecordDeleted, ToolReturned
from coworkenv.events.verify import checked_events
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.world import World

ORDERS = Path(__file__).with_name("orders.yaml")


class Shape(msgspec.Struct, frozen=True):
    """What kind of episodes are measured."""

    events: int
    mean_bytes: float
    records_and_results: float
    """Share of record events and tool results."""


class Rates(msgspec.Struct, frozen=True):
    """Events a second, unless said otherwise."""

    shape: Shape
    run: float
    """Whole episodes into SQLite, graded."""
    verify: float
    """Chain, fold and execution again."""
    replay: float
    """Read, decode and fold."""
    replay_checked: float
    """The same, with the chain verified."""


def orders() -> World:
    return compile_environment(read_environment(ORDERS))


def plans(world: World, count: int) -> list[Plan]:
    return [Plan(world, build_agent("oracle"), build_coworkers(world), seed) for seed in range(count)]


def shape(events: list[Event]) -> Shape:
    sizes = [len(encode(event).data) for event in events]
    kinds = RecordCreated | RecordChanged | RecordDeleted | ToolReturned
    told = sum(isinstance(event.body, kinds) for event in events)
    return Shape(len(events), sum(sizes) / len(sizes), told / len(events))


async def rates(episodes: int, repeat: int = 3) -> Rates:
    """Run, verify and replay so many episodes; the best of several runs of each."""
    world = orders()
    sample = list((await play(plans(world, 1)[0])).events)
    best = [0.0] * 4
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            log = SqliteLog(Path(folder) / "bench.db")
            measured = (
                await _run(log, plans(world, episodes)),
                await _verify(log),
                max(_replay(log, world, False) for _ in range(3)),
                max(_replay(log, world, True) for _ in range(3)),
            )
            best = [max(old, new) for old, new in zip(best, measured)]
            log.close()
    return Rates(shape(sample), *best)


async def _run(log: SqliteLog, todo: list[Plan]) -> float:
    async with log.writing():
        gc.collect()
        start = time.perf_counter()
        results = await rollout(todo, log, concurrency=32)
    seconds = time.perf_counter() - start
    wrong = [result for result in results if result.grade is None or result.grade.score != "1"]
    if wrong:
        raise AssertionError(f"the oracle must win every benchmark episode, but: {wrong[0]}")
    return sum(row.count for row in log.rows()) / seconds


async def _verify(log: SqliteLog) -> float:
    rows = log.rows(kind="episode")
    gc.collect()
    start = time.perf_counter()
    for row in rows:
        found = await verify(log, row.id)
        if found.verdict != "identical":
            raise AssertionError(f"a benchmark episode must verify, but: {found}")
    return sum(row.count for row in rows) / (time.perf_counter() - start)


def _replay(log: SqliteLog, world: World, checked: bool) -> float:
    rows = log.rows(kind="episode")
    gc.collect()  # what earlier measurements left is not this one's
    start = time.perf_counter()
    for row in rows:
        state_after(world, checked_events(log, row.id) if checked else log.read(row.id))
    return sum(row.count for row in rows) / (time.perf_counter() - start)


async def together(count: int) -> tuple[float, float]:
    """(Episodes a second, KiB an episode) with so many at once, each waiting for the real world at the same moment."""
    world = orders()
    arrived, gate = trio.Event(), trio.Event()
    waiting = 0

    async def perform(request: Request) -> Outside:
        nonlocal waiting
        waiting += 1
        if waiting == count:
            arrived.set()
        await gate.wait()
        return Outside(Answer({"text": "Done.", "calls": [{"name": "finish", "args": {"summary": "Done."}}]}, tokens=5))

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    start = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for seed in range(count):
            agent = build_agent("openai:none", perform=perform)
            nursery.start_soon(_play, Plan(world, agent, build_coworkers(world), seed))
        await arrived.wait()
        size = tracemalloc.get_traced_memory()[0] - before
        gate.set()
    seconds = time.perf_counter() - start
    tracemalloc.stop()
    return count / seconds, size / count / 1024


async def _play(plan: Plan) -> None:
    await play(plan)
