"""Agents of other packages: found by name, imported only when asked for, verified, forked and resumed like ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from coworkenv.agents import build_agent, build_coworkers, registry
from coworkenv.agents.agent import Answer, Context, Outside, Request, Unavailable
from coworkenv.agents.naming import UnknownName
from coworkenv.agents.registry import BadSpecification, register_agent, register_coworker
from coworkenv.engine import Episode, Plan, fork_episode, resume_episode, verify
from coworkenv.engine.episode import run_episode
from coworkenv.events.memory import MemoryLog
from tests.engine.programs import world

PACKAGE = """
class Waiter:
    def __init__(self, specification):
        self.specification = specification

    async def act(self, context):
        await context.receive(timeout=60_000_000)
        return "Waited."

def build(specification):
    return Waiter(specification)
"""


class Guest:
    """Asks the outside world, and writes to whoever is there."""

    down = False

    def __init__(self, name: str = "guest") -> None:
        self.specification: dict[str, Any] = {"kind": "guest", "name": name}

    async def act(self, context: Context) -> str:
        await context.sleep(1)
        await context.effect(Request("model"), self._answer)
        await context.send("ann", f"{self.specification['name']} is here.")
        return "done"

    async def _answer(self, request: Request) -> Outside:
        await trio.lowlevel.checkpoint()
        if Guest.down:
            raise Unavailable("no connection")
        return Outside(Answer("yes"))


class Silent:
    def __init__(self, person: str, specification: dict[str, Any]) -> None:
        self.specification = specification

    async def act(self, context: Context) -> str:
        while True:
            await context.receive()


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_registered", {})
    yield
    Guest.down = False


def known() -> None:
    register_agent("guest", lambda specification: Guest(specification.get("name", "guest")))
    register_coworker("silent", Silent)


async def played(log: MemoryLog) -> Episode:
    return await run_episode(Plan(world(), Guest(), build_coworkers(world(), {"ann": {"kind": "silent"}})), log)


async def test_an_episode_of_a_registered_agent_is_verified_forked_and_resumed() -> None:
    known()
    log = MemoryLog()
    async with log.writing():
        Guest.down = True
        episode = await played(log)
        assert episode.status == "suspended"
        Guest.down = False
        episode = await resume_episode(log, episode.id)
        assert (episode.status, episode.reason) == ("ended", "finished")
        assert (await verify(log, episode.id)).verdict == "identical"
        forked = await fork_episode(log, episode.id, 2, {"agent": {"kind": "guest", "name": "other"}})
        assert (await verify(log, forked.id)).verdict == "identical"
        assert log.row(forked.id).agent == "guest:other"


async def test_where_an_agent_is_not_known_its_episode_is_sound_though_not_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known()
    log = MemoryLog()
    async with log.writing():
        episode = await played(log)
        forked = await fork_episode(log, episode.id, 2, {"seed": 3})
    monkeypatch.setattr(registry, "_registered", {("coworkenv.coworkers", "silent"): Silent})
    for stream in (episode.id, forked.id):
        found = await verify(log, stream)
        assert (found.verdict, found.good) == ("not executed", True)
        assert found.says.startswith(
            "its chain is sound; it cannot be executed again here, since there is no agent `guest`"
        )
    monkeypatch.setattr(registry, "_registered", {("coworkenv.agents", "guest"): lambda specification: Guest()})
    assert "there is no way to play coworkers `silent`" in (await verify(log, episode.id)).says


def test_ours_cannot_be_replaced() -> None:
    register_agent("oracle", lambda specification: Guest())
    assert type(build_agent("oracle")).__name__ == "Oracle"


def test_what_stands_behind_the_colon_is_the_name() -> None:
    known()
    assert build_agent("guest:anna").specification == {"kind": "guest", "name": "anna"}


def test_an_unknown_kind_and_one_that_cannot_be_made_say_so() -> None:
    with pytest.raises(UnknownName, match="there is no agent `gest`"):
        build_agent("gest")

    def breaks(specification: dict[str, Any]) -> Any:
        raise KeyError("colour")

    register_agent("breaks", breaks)
    with pytest.raises(BadSpecification, match="`breaks` cannot be made so: KeyError: 'colour'"):
        build_agent("breaks")
    register_agent("other", lambda specification: Guest())
    with pytest.raises(BadSpecification, match="has the kind 'guest'; it must be `other`"):
        build_agent("other")


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The surroundings of a process in which another package's entry points are found."""
    place = tmp_path / "site"
    about = place / "waiters-1.0.dist-info"
    about.mkdir(parents=True)
    (place / "waiters.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: waiters\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[coworkenv.agents]\nwaiter = waiters:build\nbroken = no_such_package_here:build\n"
    )
    return {**os.environ, "PYTHONPATH": str(place), "COWORKENV_LOG": str(tmp_path / "log.db")}


def coworkenv(surroundings: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from coworkenv.engine.cli import main; raise SystemExit(main())", *words]
    return subprocess.run(command, env=surroundings, capture_output=True, text=True, timeout=60)


def test_the_command_line_plays_and_verifies_an_agent_of_an_entry_point(installed: dict[str, str]) -> None:
    ran = coworkenv(installed, "run", "refund", "--agent", "waiter", "--agent", "waiter:two")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    verified = coworkenv(installed, "verify", "--all")
    assert verified.stdout.count("identical") == 2, verified.stdout
    elsewhere = coworkenv({**installed, "PYTHONPATH": ""}, "verify", "--all")
    assert elsewhere.returncode == 0
    assert elsewhere.stdout.count("there is no agent `waiter`") == 2, elsewhere.stdout


def test_an_entry_point_that_cannot_be_loaded_is_told_in_a_sentence(installed: dict[str, str]) -> None:
    ran = coworkenv(installed, "run", "refund", "--agent", "broken")
    assert ran.returncode == 2
    assert "`broken` is no_such_package_here:build, which cannot be loaded" in ran.stderr
    assert "Traceback" not in ran.stderr
