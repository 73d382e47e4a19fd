"""A task as its file has it, for graders to look into.

What the benchmark gives a default has it here; a field that nobody knows is kept, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

#: What a task has that its file leaves out.
_DEFAULTS: dict[str, Any] = {
    "task_id": "",
    "task_name": "",
    "version": "1.0",
    "category": "",
    "difficulty": "simple",
    "prompt": {"text": "", "language": "zh", "attachments": []},
    "tools": [],
    "tool_endpoints": [],
    "environment": {"timeout_seconds": 300, "max_turns": 20, "env_snapshot_timeout": 10},
    "scoring_components": [],
    "safety_checks": [],
    "services": [],
    "expected_actions": [],
    "judge_rubric": "",
    "reference_solution": "",
    "primary_dimensions": [],
    "tags": [],
    "user_agent": {"enabled": False, "persona": "", "max_rounds": 3, "system_prompt_suffix": ""},
    "sandbox_files": [],
    "sandbox_grader_files": [],
    "env_snapshot_files": [],
    "env_snapshot_commands": [],
    "local_grader_files": [],
    "task_file": None,
}


#: Objects whose keys are data, not fields.
_MAPPINGS = ("input_schema", "env")


class Part:
    """An object of the file. Its fields are attributes."""

    def __init__(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            setattr(self, name, value if name in _MAPPINGS else _part(value))

    def __getattr__(self, name: str) -> Any:
        """Only for what is not there."""
        raise AttributeError(f"the task file has no {name!r} here")


class TaskDefinition(Part):
    """A whole `task.yaml`. `task_file` is where it was read."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(_merged(_DEFAULTS, fields))

    @classmethod
    def from_yaml(cls, path: str | Path) -> TaskDefinition:
        """Raises OSError, or ValueError for a file that holds no task."""
        try:
            fields = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ValueError(f"{path} is not YAML: {error}") from None
        if not isinstance(fields, dict):
            raise ValueError(f"{path} is no task: it holds no mapping")
        return cls({**fields, "task_file": str(Path(path).resolve())})


def _merged(defaults: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """`fields` over `defaults`; one that is null says nothing."""
    given = {name: value for name, value in fields.items() if value is not None}
    nested = {
        name: _merged(value, given[name])
        for name, value in defaults.items()
        if isinstance(value, dict) and isinstance(given.get(name), dict)
    }
    return {**defaults, **given, **nested}


def _part(value: Any) -> Any:
    """Objects as parts, in lists too."""
    if isinstance(value, list):
        return [_part(item) for item in value]
    return Part(value) if isinstance(value, dict) and all(isinstance(key, str) for key in value) else value
