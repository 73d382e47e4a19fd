"""What is to be known of a checkout before its tasks are played: files that it lacks, and libraries that reading takes.

Knows git's list of files, and the stand-ins that git leaves where large files were not fetched. Does not know what a
file is for: who lacks one is graded as everybody.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from ...worlds.clawmark.checkout import Checkout
from ...worlds.clawmark.task import world_id
from ..documents.kinds import named
from ..documents.reading import INSTALL, LIBRARIES

_POINTER = b"version https://git-lfs.github.com/spec/"
_SHOWN = 3
"""Names in a sentence."""
_CHECKERS = ("docx", "pptx", "openpyxl")
"""Libraries that checkers may import, by the names of their modules."""
_PATIENCE = 60
"""Seconds that git may take."""
_QUIET = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
"""Older versions know only the second. It leaves no way to fetch: a checkout may name a command for that."""


def lacking(checkout: Checkout, tasks: Sequence[str]) -> dict[str, list[str]]:
    """By task, the files that it should have, by their paths in its folder; only tasks that lack any."""
    listed = _listed(checkout.root)
    found: dict[str, list[str]] = {}
    for task in tasks:
        folder = checkout.folder(task)
        files = sorted({*_absent(folder, checkout.root, listed), *_pointers(folder)})
        found |= {task: files} if files else {}
    return found


def without_files(task: str, files: Sequence[str]) -> list[str]:
    """The sentence for a task that lacks files, if it does."""
    says = "the checkout lacks {}; nobody can read what is not there"
    return [f"{world_id(task)}: {says.format(_some(files))}"] if files else []


def without_commands(task: str, commands: Sequence[str]) -> list[str]:
    """The sentence for a task whose code asks a shell for what it does not do here, if it does."""
    says = "its code asks for commands that are not done here ({}); what they would have done is not there"
    return [f"{world_id(task)}: {says.format(_some(commands))}"] if commands else []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def libraries(checkout: Checkout, tasks: Sequence[str]) -> list[str]:
    """The sentence for libraries that reading takes and that are not installed, if there are any."""
    there = {named(path.name) for task in tasks for path in _files(checkout.folder(task))}
    taken = [LIBRARIES[kind] for kind in LIBRARIES if kind in there]
    taken += [name for name in _CHECKERS if name not in taken and _used(name, checkout, tasks)]
    absent = [name for name in taken if find_spec(name) is None]
    says = f"without {', '.join(absent)}, agents cannot read all documents, and checkers may fail; type: {INSTALL}"
    return [says] if absent else []


def _used(name: str, checkout: Checkout, tasks: Sequence[str]) -> bool:
    words = (f"import {name}".encode(), f"from {name}".encode())
    codes = ((checkout.folder(task) / "task.py").read_bytes() for task in tasks)
    return any(word in code for code in codes for word in words)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _pointers(folder: Path) -> Iterator[str]:
    """Files of which there is only the stand-in."""
    for path in _files(folder):
        if path.stat().st_size < 1024 and path.read_bytes().startswith(_POINTER):
            yield path.relative_to(folder).as_posix()


def _absent(folder: Path, root: Path, listed: Sequence[str]) -> Iterator[str]:
    start = folder.relative_to(root).as_posix() + "/"
    return (name.removeprefix(start) for name in listed if name.startswith(start) and not (root / name).exists())


def _listed(root: Path) -> tuple[str, ...]:
    """The files that the last commit has; none where that cannot be known. Nothing is fetched, and nothing is run."""
    if not (root / ".git").exists() or which("git") is None:
        return ()
    command = ["git", "-C", str(root), "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", "tasks"]
    try:
        done = subprocess.run(command, env={**os.environ, **_QUIET}, capture_output=True, timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(done.stdout.decode(errors="replace").split("\0"))
