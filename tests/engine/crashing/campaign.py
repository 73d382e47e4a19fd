"""Episodes that are killed and gone on with until they end, with everything checked after each death.

Knows what must be true of a log after a process died at any moment, and counts what the model's server was asked. The
deaths are real: a child process, a SQLite file, HTTP on loopback, SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import trio

from coworkenv.agents.agent import Outside, Request, Unavailable
from coworkenv.agents.answers import judge
from coworkenv.agents.chat import _body
from coworkenv.engine.effects import fingerprints, request_digest
from coworkenv.engine.episode import run_episode
from coworkenv.engine.fork import fork_episode, fork_id
from coworkenv.engine.plan import episode_id
from coworkenv.engine.replay import verify
from coworkenv.events.chain import RawEvent
from coworkenv.events.codec import decode
from coworkenv.events.errors import NotFound
from coworkenv.events.event import EffectCancelled, EffectRequested, EffectResolved, EpisodeForked, Event
from coworkenv.events.log import Log
from coworkenv.events.memory import MemoryLog
from coworkenv.events.sqlite import SqliteLog

from ...loopback import ModelServer, Reply
from .model import answer
from .worker import Command, plan

MOMENTS = {
    "before": "before `begin`",
    "between": "between `execute` and `commit`",
    "after": "after `commit`",
    "request": "between request and answer",
    "resolved": "between bound and due",
    "any": "at any moment",
}

ROOT = Path(__file__).parents[3]


@dataclass
class Life:
    """How a child process ended."""

    killed: bool
    result: dict[str, Any] | None
    asked: Counter[str]
    """Requests that reached the server meanwhile, by their digest."""


class Stage:
    """A model's server and a process whose children ask it."""

    def __init__(self, process: trio.Process) -> None:
        self.server = ModelServer(self._answer)
        self.salted = False
        """Server B: another answer each time."""
        self.asks = 0
        self._process = process
        self._unread = b""
        self._asked: Counter[str] = Counter()
        self._victim = 0
        self._kill_at = 0

    def _answer(self, request: dict[str, Any]) -> Reply | dict[str, Any]:
        self.asks += 1
        self._asked[digest_of(request)] += 1
        if self._kill_at == self._asked.total():
            os.kill(self._victim, signal.SIGKILL)
            return Reply(drop="before")
        return answer(request, f"{self.asks} {os.urandom(4).hex()}" if self.salted else "")

    async def live(
        self, command: Command, *, kill_at_request: int = 0, after: tuple[float, signal.Signals] | None = None
    ) -> Life:
        """Let a child carry out a command. `after` so many seconds it gets a signal."""
        self._asked, self._kill_at = Counter(), kill_at_request
        await self._write(msgspec.json.encode(command))
        self._victim = int(await self._line())
        await self._write(b"")
        async with trio.open_nursery() as nursery:
            if after is not None:
                nursery.start_soon(self._signal_later, *after)
            ended = json.loads(await self._line())
            nursery.cancel_scope.cancel()
        return Life(ended["signal"] == signal.SIGKILL, ended["result"], self._asked)

    async def _signal_later(self, seconds: float, what: signal.Signals) -> None:
        await trio.sleep(seconds)
        with suppress(ProcessLookupError):  # It may have ended, and not yet have been heard of.
            os.kill(self._victim, what)

    async def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        await self._process.stdin.send_all(line + b"\n")

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            more = await self._process.stdout.receive_some()
            assert more, "the worker process has ended"
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    """A stage, its worker process running and its server serving."""
    server = ModelServer(lambda request: stage._answer(request))
    async with server.serving():
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", f"{__package__}.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "COWORKENV_BASE_URL": server.url, "OPENAI_API_KEY": ""},
        )
        stage = Stage(process)
        stage.server = server
        try:
            yield stage
        finally:
            with trio.CancelScope(shield=True):
                assert process.stdin is not None
                await process.stdin.aclose()
                await process.wait()


def digest_of(request: dict[str, Any]) -> str:
    """The digest by which the log knows a request that came over the wire."""
    settings = {name: value for name, value in request.items() if name not in ("messages", "tools")}
    prompt = [{"tools": request["tools"]}] if "tools" in request else []
    prompt += request["messages"]
    return request_digest(Request("model", tuple(prompt), settings), fingerprints(prompt))


class Outsider:
    """The model's server without a server: asked in this process, it keeps count like the real one."""

    def __init__(self, *, salted: bool = False, fails_at: int = 0) -> None:
        """`salted`: server B. At ask number `fails_at` it is down."""
        self.asked: Counter[str] = Counter()
        self._salted = salted
        self._fails_at = fails_at

    async def __call__(self, request: Request) -> Outside:
        self.asked[request_digest(request, fingerprints(request.prompt))] += 1
        number = self.asked.total()
        await trio.lowlevel.checkpoint()
        if number == self._fails_at:
            raise Unavailable("the server is down")
        body, prompt = _body(request)
        salt = os.urandom(4).hex() if self._salted else ""
        outside = judge(200, {}, json.dumps(answer(json.loads(body), salt)).encode(), prompt)
        assert isinstance(outside, Outside)
        return outside


# --- what a log holds --------------------------------------------------------------------------------------


@dataclass
class Held:
    """What is durable of an episode."""

    raw: list[RawEvent] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    status: str = ""

    def requested(self) -> dict[int, EffectRequested]:
        return {event.seq: event.body for event in self.events if isinstance(event.body, EffectRequested)}

    def resolved(self) -> dict[int, Event]:
        return {event.body.effect: event for event in self.events if isinstance(event.body, EffectResolved)}

    def settled(self) -> set[int]:
        """Effects that are answered, or that nobody wants to know any more."""
        cancelled = {event.body.effect for event in self.events if isinstance(event.body, EffectCancelled)}
        return cancelled | self.resolved().keys()


def held(log: Log, stream: str) -> Held:
    try:
        row = log.row(stream)
    except NotFound:
        return Held()
    raw = list(log.read_raw(row.id))
    return Held(raw, [decode(data, log.blob) for _, data, _ in raw], row.status)


def read_file(path: Path, stream: str) -> Held:
    """What is durable in a file, if there is one."""
    if not path.exists():
        return Held()
    log = SqliteLog(path)
    try:
        return held(log, stream)
    finally:
        log.close()


def check_life(before: Held, now: Held, asked: Counter[str], inherited: Collection[int] = ()) -> None:
    """What must be true after any life, whether it was cut short or not. `inherited` are effects settled elsewhere."""
    assert now.raw[: len(before.raw)] == before.raw, "a durable event has changed"
    settled = before.settled() | set(inherited)
    requested = Counter(body.digest for body in now.requested().values())
    answered = Counter(body.digest for seq, body in now.requested().items() if seq in settled)
    for digest, count in asked.items():
        assert requested[digest], "a request left before it was durable"
        allowed = requested[digest] - answered[digest]
        assert count <= allowed, f"asked {count} times in one life, where {allowed} were to be asked"


async def check_file(path: Path, stream: str) -> None:
    """The stream is sound and executes to the same bytes, and each answer has what was observed with it."""
    log = SqliteLog(path)
    try:
        found = await verify(log, stream)
        assert found.good, found
        seen = {observation.seq for observation in log.observations(stream)}
        answers = {event.seq for event in held(log, stream).resolved().values()}
        assert answers == seen, f"observations at {sorted(seen)}, answers at {sorted(answers)}"
    finally:
        log.close()


# --- the campaign ------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What came of a campaign."""

    kills: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By server, durability and moment."""
    episodes: int = 0
    lives: int = 0
    events: int = 0
    effects: int = 0
    asks: int = 0
    """Requests that reached the server."""
    before_first_commit: int = 0
    """Deaths that left no event."""

    def at(self, moment: str) -> int:
        return sum(count for (_, _, found), count in self.kills.items() if found == moment)

    @property
    def total(self) -> int:
        return self.kills.total()


def moments_in_turn(draw: Random) -> Iterator[tuple[str, int]]:
    """Moments of death, in turn, each with its number."""
    most = {"before": 7, "between": 7, "after": 7, "request": 4, "resolved": 3, "any": 1}
    for moment in cycle(MOMENTS):
        yield moment, draw.randint(1, most[moment])


async def campaign(stage: Stage, folder: Path, kills: int, seed: int = 0, report: Report | None = None) -> Report:
    """Kill at least `kills` times, half of them with each server, and half of these at each durability."""
    report = report or Report()
    for number, (server, durability) in enumerate((s, d) for s in "AB" for d in ("batch", "each")):
        draw = Random(f"{seed} {server} {durability}")
        moments, quota = moments_in_turn(draw), report.total + -(-kills // 4)
        while report.total < quota:
            episode = seed + 1000 * number + report.episodes
            path = folder / f"{server}-{durability}-{episode}.db"
            await until_it_ends(stage, Play(path, server, durability, episode), moments, draw, report, quota)
            report.episodes += 1
    return report


@dataclass
class Play:
    """One episode that is to be killed again and again."""

    path: Path
    server: str
    durability: str
    seed: int


async def until_it_ends(
    stage: Stage, play: Play, moments: Iterator[tuple[str, int]], draw: Random, report: Report, quota: int
) -> Held:
    """Play an episode, killed at `moments` until there have been `quota` deaths in all. What is held in the end."""
    path, server, durability, seed = play.path, play.server, play.durability, play.seed
    stream = episode_id(plan(seed).started())
    stage.salted = server == "B"
    now = Held()
    while now.status != "ended":
        moment, number = next(moments) if report.total < quota else ("", 0)
        do = draw.choice(["run", "resume"]) if now.events else "run"
        command = Command(do=do, path=str(path), durability=durability, seed=seed, stream=stream)
        if moment in ("before", "between", "after", "resolved"):
            command.kill = moment, number
        life = await stage.live(
            command,
            kill_at_request=number if moment == "request" else 0,
            after=(draw.random() * 0.2, signal.SIGKILL) if moment == "any" else None,
        )
        before, now = now, read_file(path, stream)
        report.lives += 1
        report.asks += life.asked.total()
        check_life(before, now, life.asked)
        if now.events:
            await check_file(path, stream)
        if life.killed:
            report.kills[server, durability, moment] += 1
            report.before_first_commit += not now.events
            _check_moment(moment, now)
        else:
            assert life.result is not None
            assert life.result.get("status") == "ended", life.result
    report.events += len(now.events)
    report.effects += len(now.requested())
    if server == "A":
        assert now.raw == (await unbroken(seed)).raw, "not the events and digests of the unbroken run"
    return now


def _check_moment(moment: str, now: Held) -> None:
    """That the death was where the report says it was, as far as the log can tell."""
    if moment == "request":
        assert now.requested().keys() - now.settled()
    elif moment == "resolved":
        body = now.events[-1].body
        assert isinstance(body, EffectResolved)
        assert body.due > now.events[-1].at


async def fork_campaign(stage: Stage, folder: Path, durability: str, transactions: int) -> int:
    """Kill forks at each of their first transactions, and go on with them by forking again. The number of deaths."""
    path = folder / f"fork-{durability}.db"
    parent = await until_it_ends(stage, Play(path, "A", durability, 1), iter(()), Random(0), Report(), 0)
    # The agent's third request is on its way there. Its answer is in the parent's log, and is never asked for again.
    at = [seq for seq in parent.requested() if parent.events[seq].actor == "agent"][2]
    assert at in parent.resolved()
    inherited = {effect for effect in parent.settled() if effect <= at}
    command = Command(do="fork", path=str(path), durability=durability, at=at, stream=episode_id(plan(1).started()))
    deaths = 0
    for number in range(1, transactions + 1):
        for place, moment in enumerate(("before", "between", "after") if number == 1 else ("between", "after")):
            command.changes, command.kill = {"seed": 10 * number + place}, (moment, number)
            whole = await unbroken(1, at, command.changes)
            forked = whole.events[at + 1].body
            assert isinstance(forked, EpisodeForked)
            fork = fork_id(forked)
            first = await stage.live(command)
            between = read_file(path, fork)
            assert between.raw == whole.raw[: len(between.raw)]
            assert not between.raw or len(between.raw) > at + 1, "a prefix without its fork"
            check_life(Held(), between, first.asked, inherited)
            command.kill = None
            second = await stage.live(command)
            assert read_file(path, fork).raw == whole.raw, second.result
            check_life(between, whole, second.asked, inherited)
            await check_file(path, fork)
            deaths += first.killed
    return deaths


async def unbroken(seed: int, at: int | None = None, changes: Mapping[str, Any] | None = None) -> Held:
    """The same episode, or a fork of it, played in one go with server A."""
    log = MemoryLog()
    async with log.writing():
        episode = await run_episode(plan(seed, Outsider()), log)
        if at is not None:
            episode = await fork_episode(log, episode.id, at, changes or {}, Outsider())
    return held(log, episode.id)
