"""A process whose children play episodes and are killed: `python -m tests.engine.crashing.worker`.

Reads a command a line (JSON) and forks a child for it; writes the child's process id, and when it is answered with an
empty line lets the child go and writes how it ended. A child that is told to kills itself (SIGKILL) at the n-th
transaction: before it begins, before it is committed, or after. Everything is imported once, so that a life costs
milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import msgspec
import trio

from coworkenv.agents.agent import Perform
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.cli.interrupts import run_until_interrupted
from coworkenv.engine.episode import Episode, resume_episode, run_episode
from coworkenv.engine.fork import fork_episode
from coworkenv.engine.plan import Plan
from coworkenv.events.appender import Part
from coworkenv.events.log import Log
from coworkenv.events.sqlite import SqliteLog
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment

WORLD = compile_environment(read_environment(Path(__file__).with_name("workshop.yaml").read_text("utf-8")))


class Command(msgspec.Struct, kw_only=True):
    """What a child does."""

    do: str
    """`run`, `resume` or `fork`."""
    path: str
    durability: str = "batch"
    seed: int = 0
    stream: str = ""
    at: int = 0
    changes: dict[str, Any] = {}
    bare: bool = False
    """Ctrl-C does what it does to any Python program; otherwise what it does to the command line."""
    kill: tuple[str, int] | None = None
    """At which transaction it kills itself: `("before" | "between" | "after" | "resolved", n)`, counted from 1."""


class KillingLog(SqliteLog):
    """Kills its process at the n-th transaction, or at the n-th commit of an answer that is not due yet."""

    def __init__(self, command: Command) -> None:
        self._where, self._left = command.kill or ("", 0)
        self._transactions = self._answers = 0
        super().__init__(command.path, "each" if command.durability == "each" else "batch")

    def _at(self, where: str, count: int) -> None:
        if (where, count) == (self._where, self._left):
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        self._transactions += 1
        self._at("before", self._transactions)
        with super()._transaction() as connection:
            yield connection
            self._at("between", self._transactions)
        self._at("after", self._transactions)

    def _commit(self, parts: Sequence[Part]) -> None:
        super()._commit(parts)
        for _, data, _ in (row for part in parts for row in part.rows):
            if b'"effect.resolved"' in data:
                _, at, _, _, body = json.loads(data)
                if body["type"] == "effect.resolved" and body["due"] > at:
                    self._answers += 1
                    self._at("resolved", self._answers)


def plan(seed: int, perform: Perform | None = None) -> Plan:
    """The episode that is killed: the agent and both coworkers are models, and the agent can be interrupted."""
    options = {"seed": seed, "attempts": 1}
    agent = build_agent("openai:loop", {"interruptible": True, "per_token": "25ms", **options}, perform=perform)
    coworkers = build_coworkers(WORLD, "model:loop", {"base": "3s", "per_token": "30ms", **options}, perform=perform)
    return Plan(WORLD, agent, coworkers, seed)


async def _live(command: Command) -> dict[str, Any]:
    log = KillingLog(command)
    async with log.writing():
        episode = await _carried_out(command, log)
    return {"id": episode.id, "status": episode.status, "reason": episode.reason}


async def _carried_out(command: Command, log: Log) -> Episode:
    if command.do == "run":
        return await run_episode(plan(command.seed), log)
    if command.do == "resume":
        return await resume_episode(log, command.stream)
    return await fork_episode(log, command.stream, command.at, command.changes)


def _child(command: Command) -> bytes:
    try:
        work = partial(_live, command)
        result = trio.run(work) if command.bare else run_until_interrupted(work)
    except BaseException as error:
        result = {"error": type(error).__name__, "message": str(error)}
    return json.dumps(result).encode()


def main() -> None:
    for line in sys.stdin:
        command = msgspec.json.decode(line, type=Command)
        reads, writes = os.pipe()
        wait, go = os.pipe()
        child = os.fork()
        if not child:
            os.close(go)
            os.read(wait, 1)
            os.write(writes, _child(command))
            os._exit(0)
        os.close(writes)
        os.close(wait)
        print(child, flush=True)
        sys.stdin.readline()
        os.close(go)
        with open(reads, "rb") as result:
            text = result.read()
        _, status = os.waitpid(child, 0)
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        print(json.dumps({"signal": killed, "result": json.loads(text) if text else None}), flush=True)


if __name__ == "__main__":
    main()
