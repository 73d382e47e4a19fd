"""What a path on the command line means: an environment, a folder or a set of them, an example, or a benchmark's tasks.

Knows files and names. Does not know how a world is played. Everything wrong with everything named is found before
anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ...agents.naming import nearest
from ...worlds.compiling import compile_environment, digest, variants
from ...worlds.environment import Environment
from ...worlds.problems import InvalidEnvironment
from ...worlds.reading import read_environment
from ...worlds.synth.manifest import BadManifest, Manifest, read_manifest
from ...worlds.world import World
from ..importing import Importer, Wanted, importer_of
from .failures import Told
from .interrupts import run_until_interrupted

SUFFIXES = (".yaml", ".yml", ".json")
_IS_ENVIRONMENT = re.compile(r"""^\s*\{?\s*["']?environment["']?\s*:\s*["']?coworkenv/""", re.MULTILINE)
_IS_MANIFEST = re.compile(r"""^\s*\{?\s*["']?manifest["']?\s*:\s*["']?coworkenv-set/""", re.MULTILINE)
TASK = "task.yaml"


Mode: TypeAlias = Literal["upstream", "sane"]


class Found(msgspec.Struct):
    """Worlds in the order in which they were named."""

    worlds: list[World] = []
    problems: list[str] = []
    """What is wrong with tasks beside them that cannot be played."""
    notes: list[str] = []
    """What was asked for in vain, and what was passed over."""
    tasks: dict[str, str] = {}
    """Of the worlds that are a benchmark's tasks, the ids, and which benchmark's."""


def examples() -> dict[str, Path]:
    """The environments that come with the package, by name."""
    folder = Path(str(files("coworkenv.worlds"))) / "examples"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find(
    paths: Sequence[str],
    *,
    twins: bool = False,
    only: str | None = None,
    mode: Mode | None = None,
    unsafe: bool = False,
) -> Found:
    """The worlds that `paths` mean; with `unsafe`, a benchmark's code may run without a sandbox.

    Raises `InvalidEnvironment`, Told, or what an importer raises.
    """
    found = Found()
    wanted = Wanted(only=only, mode=mode, unsafe=unsafe)
    problems = []
    for path in paths:
        try:
            found.worlds.extend(_worlds(path, twins, wanted, found))
        except InvalidEnvironment as error:
            problems.append(str(error))
    if problems:
        raise Told("\n".join(problems))
    if mode is not None and "claw-eval" not in found.tasks.values():
        found.notes.append("--mode changes nothing: nothing here is a task of Claw-Eval")
    if twins and not any("@" in world.id for world in found.worlds if world.id not in found.tasks):
        found.notes.append("--twins changes nothing: nothing here has twins")
    if only is not None:
        kept = [world for world in found.worlds if fnmatchcase(world.id, only)]
        if not kept:
            there = ", ".join(world.id for world in found.worlds[:8]) or "none"
            raise Told(f"nothing here is called {only!r}; there is {there}{' …' if len(found.worlds) > 8 else ''}")
        found.worlds = kept
    return found


def _worlds(name: str, twins: bool, wanted: Wanted, found: Found) -> list[World]:
    """The worlds of one path; tasks among them are counted in `found`, with what is wrong beside them."""
    path = Path(environment_path(name))
    importer = importer_of(path) if path.is_dir() or path.name == TASK else None
    if importer is not None:
        return _imported(importer, path, wanted, found)
    if path.is_dir():
        return list(_folder(path, twins))
    if is_manifest(path):
        return [world for environment in _members(path) for world in _variants(environment, twins)]
    if path.is_file() or path.is_fifo():
        return _variants(read_environment(path), twins)
    raise Told(f"{path} is neither a file nor a folder")


def _imported(importer: Importer, path: Path, wanted: Wanted, found: Found) -> list[World]:
    """A benchmark's tasks. Raises Told if there are none that can be played."""
    imported = run_until_interrupted(partial(importer.load, path, wanted))
    if not imported.worlds and imported.problems:
        raise Told("\n".join(imported.problems))
    found.tasks.update({world.id: importer.name for world in imported.worlds})
    found.problems.extend(imported.problems)
    found.notes.extend(imported.notes)
    return imported.worlds


def environment_files(folder: Path) -> list[Path]:
    """The environments in a folder, by path. Raises Told if there is none."""
    inside = [file for file in sorted(folder.rglob("*")) if file.suffix in SUFFIXES and file.is_file()]
    environments = [file for file in inside if _is_environment(file)]
    if not environments:
        raise Told(f"there is no environment and no task in the folder {folder}")
    return environments


def _folder(path: Path, twins: bool) -> Iterator[World]:
    problems = []
    for file in environment_files(path):
        try:
            yield from _variants(read_environment(file), twins)
        except InvalidEnvironment as error:
            problems.append(str(error))
    if problems:
        raise Told("\n".join(problems))


def _is_environment(file: Path) -> bool:
    return _starts_with(file, _IS_ENVIRONMENT)


def _starts_with(file: Path, sign: re.Pattern[str]) -> bool:
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return sign.search(text.read(1 << 16)) is not None
    except OSError:
        return False


def is_manifest(path: Path) -> bool:
    """Whether a file is a set manifest."""
    return path.is_file() and _starts_with(path, _IS_MANIFEST)


def manifest_of(path: Path) -> Manifest:
    """The set manifest in a file. Raises Told."""
    try:
        return read_manifest(path)
    except BadManifest as error:
        raise Told(str(error)) from None


def _members(path: Path) -> Iterator[Environment]:
    """The environments of a manifest. Raises Told if one is not there, or not what it was any more."""
    for member in manifest_of(path).members:
        file = path.parent / member.path
        if not file.is_file():
            raise Told(f"{path}: its member {member.path} is missing")
        environment = read_environment(file)
        if digest(environment) != member.digest:
            raise Told(f"{path}: its member {member.path} was changed since the manifest was made; make it anew")
        yield environment


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
