"""What a path on the command line means: an environment, a folder of them, an example, or Claw-Eval tasks.

Knows files and names. Does not know how a world is played. Everything wrong with everything named is found before
anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec

from ...agents.naming import nearest
from ...worlds.claw_eval import load_task, load_tasks, world_of
from ...worlds.compiling import compile_environment, variants
from ...worlds.environment import Environment
from ...worlds.problems import InvalidEnvironment
from ...worlds.reading import read_environment
from ...worlds.world import World
from .failures import Told

SUFFIXES = (".yaml", ".yml", ".json")
_IS_ENVIRONMENT = re.compile(r"""^\s*\{?\s*["']?environment["']?\s*:\s*["']?coworkenv/""", re.MULTILINE)
TASK = "task.yaml"


class Found(msgspec.Struct):
    """Worlds in the order in which they were named, and what is wrong with tasks beside them that cannot be played."""

    worlds: list[World]
    problems: list[str]


def examples() -> dict[str, Path]:
    """The environments that come with the package, by name."""
    folder = Path(str(files("coworkenv.worlds"))) / "examples"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find(
    paths: Sequence[str], *, twins: bool = False, only: str | None = None, mode: Literal["upstream", "sane"] = "sane"
) -> Found:
    """The worlds that `paths` mean. Raises `InvalidEnvironment`, `TaskError`, or Told."""
    found = Found([], [])
    problems = []
    for path in paths:
        try:
            for world in _worlds(path, twins, mode, found.problems):
                found.worlds.append(world)
        except InvalidEnvironment as error:
            problems.append(str(error))
    if problems:
        raise Told("\n".join(problems))
    if only is not None:
        kept = [world for world in found.worlds if fnmatchcase(world.id, only)]
        if not kept:
            there = ", ".join(world.id for world in found.worlds[:8]) or "none"
            raise Told(f"nothing here is called {only!r}; there is {there}{' …' if len(found.worlds) > 8 else ''}")
        found.worlds = kept
    return found


def _worlds(name: str, twins: bool, mode: Literal["upstream", "sane"], problems: list[str]) -> Iterator[World]:
    path = Path(environment_path(name))
    if path.is_file() and path.name != TASK:
        yield from _variants(read_environment(path), twins)
    elif path.is_file():
        yield world_of(load_task(path.parent, mode))
    elif (path / TASK).exists():
        yield world_of(load_task(path, mode))
    elif any(child.exists() for child in path.glob(f"*/{TASK}")):
        tasks, errors = load_tasks(path, mode)
        problems.extend(map(str, errors))
        yield from map(world_of, tasks)
    else:
        yield from _folder(path, twins)


def _folder(path: Path, twins: bool) -> Iterator[World]:
    inside = [file for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES and file.is_file()]
    environments = [file for file in inside if _is_environment(file)]
    if not environments:
        raise Told(f"there is no environment and no task in the folder {path}")
    problems = []
    for file in environments:
        try:
            yield from _variants(read_environment(file), twins)
        except InvalidEnvironment as error:
            problems.append(str(error))
    if problems:
        raise Told("\n".join(problems))


def _is_environment(file: Path) -> bool:
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return _IS_ENVIRONMENT.search(text.read(1 << 16)) is not None
    except OSError:
        return False


def _variants(environment: Environment, twins: bool) -> list[World]:
    return list(variants(environment).values()) if twins else [compile_environment(environment)]


def environment_path(name: str) -> Path:
    """The path that a word on the command line means: that path, or the example of that name."""
    path = Path(name)
    try:
        if path.exists():
            return path
    except OSError as error:
        raise Told(f"{name}: {error.strerror}") from None
    known = examples()
    if name in known:
        return known[name]
    raise Told(f"there is no file, folder or example {name!r}{nearest(name, known)}; examples: {', '.join(known)}")


def only_one(name: str) -> Path:
    """The file of one environment."""
    path = environment_path(name)
    if path.is_dir():
        raise Told(f"{path} is a folder; name one file")
    return path
