"""From a task's folder to its grader."""

from __future__ import annotations

from pathlib import Path

from .base import AbstractGrader, classes_of


def get_grader(task_id: str, tasks_dir: str | Path = "tasks", task_dir: str | Path | None = None) -> AbstractGrader:
    """An instance of the first class, by name, that a task's `grader.py` defines itself and that is a grader.

    Raises FileNotFoundError, ValueError where no class is one, and whatever the file raises.
    """
    path = Path(tasks_dir) / task_id / "grader.py"
    if not path.exists() and task_dir is not None:
        path = Path(task_dir) / "grader.py"
    name, classes = classes_of(path, f"task_grader_{task_id}")
    for found in classes:
        if found.__module__ == name:
            return found()
    raise ValueError(f"{path} defines no class that derives from AbstractGrader")
