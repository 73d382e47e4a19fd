"""A user's checkout of ClawMark: which tasks it has, and what code and data they are.

Knows the folders of the benchmark's repository. Runs nothing.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ..imported import CheckoutError, files_digest

NOTICE = (
    "ClawMark's tasks are licensed CC BY-NC 4.0 by their authors (github.com/evolvent-ai/ClawMark): "
    "attribution, and no commercial use. Logs of episodes quote them."
)


class Checkout(msgspec.Struct, frozen=True):
    """The folder of the repository."""

    root: Path

    def tasks(self) -> list[str]:
        """All tasks, such as `hr/task2`, by domain and number."""
        found = [path.parent.relative_to(self.root / "tasks") for path in (self.root / "tasks").glob("*/*/task.py")]
        return sorted(map(str, found), key=lambda name: (name.rpartition("/")[0], len(name), name))

    def folder(self, task: str) -> Path:
        """Raises CheckoutError."""
        if task not in self.tasks():
            raise CheckoutError(f"{self.root} has no task {task[:80]!r}")
        return self.root / "tasks" / task

    def digest(self, task: str) -> str:
        """SHA-256 of the names and contents of all files of a task, hexadecimal. Raises CheckoutError."""
        folder = self.folder(task)
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
        return files_digest((path.relative_to(folder).as_posix(), path) for path in files)


def find_checkout(path: Path | str) -> Checkout:
    """The checkout that a path means. Raises CheckoutError."""
    root = Path(path).resolve()
    checkout = Checkout(root)
    if not checkout.tasks():
        raise CheckoutError(f"{root} is no checkout of ClawMark: there is no tasks/DOMAIN/TASK/task.py in it")
    return checkout
