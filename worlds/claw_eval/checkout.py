"""Where a user's checkout of Claw-Eval keeps a task's grader, and which files that grader is.

Knows the folders of the benchmark's repository. Runs nothing: what is in a file is read to be hashed, and to find the
other graders that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..imported import files_digest
from .reading import TaskError, inside, read_text

SURFACE = Path(__file__).parent / "surface"
"""The folder that holds our `claw_eval` package."""

_PEER = re.compile(r"""load_peer_grader\(\s*["']([\w.-]+)["']""")
_FAMILIES = ("claw_eval", "graders")


class Checkout(msgspec.Struct, frozen=True):
    """The folders of a checkout."""

    tasks: Path
    """All tasks, each in a folder named by its id."""
    source: Path | None = None
    """Where the benchmark's own package `claw_eval` is; None where there are only tasks."""

    @property
    def families(self) -> Path | None:
        """The modules that several graders derive from."""
        return None if self.source is None else self.source.joinpath(*_FAMILIES)

    def folders(self) -> list[Path]:
        """Those of all tasks, in order."""
        return sorted(path.parent for path in self.tasks.glob("*/task.yaml"))

    def folder(self, task: str) -> Path:
        """The folder of a task that has a grader. Raises TaskError."""
        path = inside(self.tasks, task, self.tasks)
        if not (path / "grader.py").is_file():
            raise TaskError(path, "There is no grader.py in it. Name the checkout that the task is from.")
        return path


def find_checkout(path: Path | str) -> Checkout:
    """The checkout that a path means: the repository, its folder of tasks, or one task's. Raises TaskError."""
    path = Path(path).resolve()
    for tasks in (path / "tasks", path, *([path.parent] if (path / "task.yaml").is_file() else [])):
        if any(tasks.glob("*/task.yaml")):
            source = tasks.parent / "src"
            return Checkout(tasks, source if source.joinpath(*_FAMILIES).is_dir() else None)
    raise TaskError(path, "There are no tasks in it. Name a checkout of the benchmark, or its folder `tasks`.")


def grader_files(checkout: Checkout, task: str, own: bool = False) -> tuple[Path, ...]:
    """All files that a grade of `task` may depend on: the task's folder, the graders that its grader derives from, and
    the shared modules. With `own`, the whole package of the benchmark takes the place of our surface.

    Raises TaskError.
    """
    files = [*_below(checkout.folder(task), "*"), *_peers(checkout, task)]
    if own:
        files += _below(_own(checkout), "*.py")
    else:
        files += _below(SURFACE, "*.py")
        files += _below(checkout.families, "*.py") if checkout.families else ()
    return tuple(dict.fromkeys(files))


def code_digest(checkout: Checkout, files: tuple[Path, ...]) -> str:
    """SHA-256 of the names and contents of `files`, hexadecimal; where the checkout lies does not count."""
    roots = [checkout.tasks, SURFACE, *([checkout.source] if checkout.source else [])]
    owners = ((path, next(root for root in roots if path.is_relative_to(root))) for path in files)
    return files_digest((path.relative_to(root).as_posix(), path) for path, root in owners)


def _own(checkout: Checkout) -> Path:
    if checkout.source is None:
        raise TaskError(checkout.tasks, "The benchmark's own package is not beside it, in `src`. Use ours.")
    return checkout.source / "claw_eval"


def _below(folder: Path, pattern: str) -> Iterator[Path]:
    """Regular files, by name; what Python left behind is none."""
    return (path for path in sorted(folder.rglob(pattern)) if path.is_file() and "__pycache__" not in path.parts)


def _peers(checkout: Checkout, task: str) -> Iterator[Path]:
    """The graders that a grader derives from, and those that they do."""
    seen, waiting = {task}, [task]
    while waiting:
        for name in _PEER.findall(read_text(checkout.folder(waiting.pop()) / "grader.py")):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
                yield checkout.folder(name) / "grader.py"
