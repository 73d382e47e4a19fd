"""What determines an episode, and what must not matter to it.

Knows the environments that are played and how a pair (environment, seed) becomes a plan. Does not play anything.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from coworkenv.agents.agent import Perform
from coworkenv.agents.building import build_agent, build_coworkers
from coworkenv.engine.plan import Plan
from coworkenv.worlds.claw_eval.task import Task
from coworkenv.worlds.claw_eval.world import world_of
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.world import Persona, World
from tests.worlds.claw_eval.playing import serving
from tests.worlds.claw_eval.samples import RECORDS

ROOT = Path(__file__).parents[3]
OWN = ROOT / "tests" / "engine" / "environments"
EXAMPLES = ROOT / "worlds" / "examples"
PERSONA = "persona"
"""A benchmark's task with a simulated user; made here, since the format has no such thing."""

_MODEL = "loopback"
_THINKING: tuple[dict[str, Any], ...] = (
    {"interruptible": True},
    {"interruptible": True, "base": "12s", "per_token": "100ms"},
    {"interruptible": True, "base": "3s", "per_token": "400ms"},
    {"base": "5s", "per_token": "50ms", "context": 4000, "result": 300},
)
"""How agents think: quickly, with a long bound, with a long tail, and with little memory."""


class Setting(msgspec.Struct, frozen=True):
    """All that may determine an episode, apart from a model that is a function of the request."""

    environment: str
    seed: int
    agent: str
    """`openai`, `oracle`, `explore` …"""
    coworkers: str
    """`model` or `rules`."""
    thinking: int = 0

    @property
    def modelled(self) -> bool:
        """Whether agent and coworkers are both behind a model."""
        return self.agent == "openai" and self.coworkers == "model"


class Conditions(msgspec.Struct, frozen=True):
    """What must not matter."""

    latency: Literal["random", "none", "uneven"] = "random"
    """Of each answer, in real time: 0 to 30 ms; nothing; mostly nothing, and sometimes 80 ms."""
    concurrency: int = 1
    log: Literal["memory", "sqlite"] = "memory"
    durability: Literal["batch", "each"] = "batch"
    wire: Literal["inside", "http"] = "inside"
    """A model in the process, or one behind HTTP on loopback."""
    hash_seed: int = 0
    python: str = sys.executable


def environments() -> list[str]:
    """Names of all environments that can be played: our own, the examples of the package, and the persona."""
    return [*(path.stem for path in _files()), PERSONA]


def _files() -> list[Path]:
    return [*sorted(OWN.glob("*.yaml")), *sorted(EXAMPLES.glob("*.yaml"))]


@cache
def world(name: str) -> World:
    """The world of an environment. `@` and the name of a twin may follow the environment's name."""
    if name == PERSONA:
        return world_of(_task())
    stem, _, twin = name.partition("@")
    [path] = [path for path in _files() if path.stem == stem]
    return compile_environment(read_environment(path), twin or None)


def _task() -> Task:
    services = (serving("todo", RECORDS["todo"]), serving("calendar", RECORDS["calendar"]))
    return Task(
        id="T901_sample",
        name="sample",
        prompt="Go through my list and tell me what is open.",
        language="en",
        mode="sane",
        start=datetime(2026, 3, 2, 8, tzinfo=UTC),
        services=services,
        offered=tuple(tool.name for service in services for tool in service.tools),
        max_turns=20,
        timeout_seconds=3000,
        persona=Persona("Somebody with many questions.", "en", 6),
    )


def settings(pairs: int) -> list[Setting]:
    """So many different settings, going round the environments; of eight rounds, six are all models."""
    return list(islice(_settings(), pairs))


def _settings() -> Any:
    names = environments()
    seed = 0
    while True:
        for place, name in enumerate(names):
            thinking = (seed + place) % len(_THINKING)
            if name == PERSONA or seed % 8 < 6:
                yield Setting(name, seed, "openai", "model", thinking)
            elif seed % 8 == 6:
                yield Setting(name, seed, "openai", "rules", thinking)
            else:
                scripted = "oracle" if world(name).oracle else "explore"
                yield Setting(name, seed, scripted, "model", thinking)
        seed += 1


def plan(setting: Setting, perform: Perform | None) -> Plan:
    """The plan of a setting. Without `perform`, models are where the environment's variables say."""
    played = world(setting.environment)
    agent: dict[str, Any] = {"kind": setting.agent}
    if setting.agent == "openai":
        agent |= {"model": _MODEL, "seed": setting.seed, **_THINKING[setting.thinking]}
    coworkers = f"model:{_MODEL}" if setting.coworkers == "model" else "rules"
    options = {"seed": setting.seed, "base": "4s", "per_token": "30ms"} if setting.coworkers == "model" else {}
    return Plan(
        world=played,
        agent=build_agent(agent, perform=perform),
        coworkers=build_coworkers(played, coworkers, options, perform=perform),
        seed=setting.seed,
    )
