"""A user's checkout of τ²-bench: which domains and tasks it has, which files are missing, and what code it is.

Knows the folders of the benchmark's repository, and its task files as data. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ...events.codec import BAD_JSON, from_json
from ...events.event import Json
from ..imported import CheckoutError, files_digest

WORKFLOW = "telecom-workflow"
"""The domain of telecom with another policy: the same code, tasks and data."""

_DATABASES = ("db.json", "db.toml")
_TASKS = ("tasks.json", "tasks_small.json")
_LEFT_ALONE = re.compile(r"(_voice|audio_difficulty|split_).*\.json\Z")
_SHARED = ("config.py", "data_model", "environment", "evaluator", "utils", "agent", "user", "orchestrator/modes.py")


class Checkout(msgspec.Struct, frozen=True):
    """The folder of the repository."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "src" / "tau2"

    @property
    def data(self) -> Path:
        return self.root / "data"

    def folder(self, domain: str) -> Path:
        return self.data / "tau2" / "domains" / package(domain)

    def domains(self) -> list[str]:
        """All domains that have code and data, by name."""
        names = [path.parent.name for path in sorted(self.source.glob("domains/*/environment.py"))]
        found = [name for name in names if self.folder(name).is_dir()]
        return [*found, WORKFLOW] if "telecom" in found else found

    def missing(self, domain: str) -> list[str]:
        """Files that the domain cannot be played without, and that are not there, as paths below the checkout."""
        folder = self.folder(domain)
        lacking = []
        if not any((folder / name).is_file() for name in _DATABASES):
            lacking.append(folder / "db.json")
        if not self._task_files(domain):
            lacking.append(folder / _TASKS[0])
        return [str(path.relative_to(self.root)) for path in lacking]

    def lesser(self, domain: str) -> str | None:
        """What is said of a domain whose whole set of tasks is missing, but not a smaller one."""
        files = self._task_files(domain)
        if len(files) == 1 and files[0].name == _TASKS[1]:
            return f"{domain}: tasks.json is missing; only the tasks of {files[0].name} are there"
        return None

    def _task_files(self, domain: str) -> list[Path]:
        folder = self.folder(domain)
        single = sorted((folder / "tasks").glob("task_*.json"))
        return single or [path for path in (folder / name for name in _TASKS) if path.is_file()][:1]

    def tasks(self, domain: str, split: str | None = None) -> list[dict[str, Json]]:
        """The domain's tasks as its files have them; of a split, those. Raises CheckoutError."""
        if domain not in self.domains():
            raise CheckoutError(f"{self.root} has no domain {domain!r}; there are {', '.join(self.domains())}")
        tasks: list[dict[str, Json]] = []
        for path in self._task_files(domain):
            content = _read(path)
            content = content.get("tasks", content) if isinstance(content, dict) else content
            tasks += content if isinstance(content, list) else [content]
        if not all(isinstance(task, dict) and isinstance(task.get("id"), str) for task in tasks):
            raise CheckoutError(f"{self.folder(domain)} has tasks without an id")
        if split is None:
            return tasks
        chosen = self.splits(domain).get(split)
        if chosen is None:
            raise CheckoutError(
                f"{domain} has no split {split!r}; there are {', '.join(self.splits(domain)) or 'none'}"
            )
        return [task for task in tasks if task["id"] in chosen]

    def splits(self, domain: str) -> dict[str, list[str]]:
        path = self.folder(domain) / "split_tasks.json"
        return _read(path) if path.is_file() else {}

    def digest(self, domain: str) -> str:
        """SHA-256 of the names and contents of all that a domain's answers and grades may depend on, hexadecimal:
        the code, and the domain's data except for its tasks, of which each is in its world. Where it lies does not
        count."""
        return files_digest((path.relative_to(self.root).as_posix(), path) for path in self._files(domain))

    def _files(self, domain: str) -> Iterator[Path]:
        for name in (*_SHARED, f"domains/{package(domain)}"):
            path = self.source / name
            yield from [path] if path.is_file() else sorted(path.rglob("*.py"))
        for path in sorted(self.folder(domain).rglob("*")):
            aside = path.name in _TASKS or path.parent.name == "tasks" or _LEFT_ALONE.search(path.name)
            if path.is_file() and not aside and path.suffix in (".json", ".toml", ".md"):
                yield path


def package(domain: str) -> str:
    """The name of a domain's folders."""
    return "telecom" if domain == WORKFLOW else domain


def find_checkout(path: Path | str) -> Checkout:
    """The checkout that a path means. Raises CheckoutError."""
    root = Path(path).resolve()
    checkout = Checkout(root)
    if not (checkout.source / "environment" / "environment.py").is_file() or not checkout.domains():
        raise CheckoutError(f"{root} is no checkout of τ²-bench: it has no src/tau2, or no data/tau2/domains")
    return checkout


def _read(path: Path) -> Any:
    try:
        return from_json(path.read_bytes())
    except (OSError, *BAD_JSON) as error:
        raise CheckoutError(f"{path} cannot be read: {error}") from None
