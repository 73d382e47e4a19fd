"""What a task takes that is not simulated here, so that nobody mistakes a low score for a weak agent.

Knows the fields of a `task.yaml` that ask for a sandbox, for pictures, or for the live web. Does not know graders.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from .reading import TaskError, inside, read_yaml

Need: TypeAlias = Literal["sandbox", "shell", "pictures", "live web", "files"]
"""`sandbox`: the agent works on files, or its grader looks at those that it left behind, and finds none. `shell`: it
offers a shell, which answers that there is none. `pictures`: the request comes with pictures, sound or video.
`live web`: it searches it. `files`: the checkout lacks some that belong to the task."""

_SHELL = ("Bash",)
_MEDIA = ("png", "jpg", "jpeg", "gif", "webp", "wav", "mp3", "mp4")


class _Named(msgspec.Struct):
    name: str = ""
    command: str = ""


class _Prompt(msgspec.Struct):
    attachments: list[str] | None = None


class _File(msgspec.Struct):
    prompt: _Prompt
    tools: list[_Named] | None = None
    services: list[_Named] | None = None
    env_snapshot_files: list[Any] | None = None
    env_snapshot_commands: list[Any] | None = None
    local_grader_files: list[str] | None = None
    sandbox_files: list[str] | None = None


def needs(folder: Path) -> tuple[Need, ...]:
    """What the task in `folder` takes. Raises TaskError."""
    file = _read(folder)
    servers, given = _servers(file), _given(file)
    attachments = file.prompt.attachments or []
    found: dict[Need, bool] = {
        "sandbox": bool(file.env_snapshot_files or file.env_snapshot_commands or (given and not servers)),
        "shell": any(tool.name in _SHELL for tool in file.tools or ()),
        "pictures": any(name.rpartition(".")[2].lower() in _MEDIA for name in attachments),
        "live web": any("/web_real" in command for command in servers),
        "files": bool(_lacks(file, folder)),
    }
    return tuple(name for name, there in found.items() if there)


def lacks(folder: Path) -> tuple[str, ...]:
    """Files of the task in `folder` that are not there. Raises TaskError."""
    return _lacks(_read(folder), folder)


def _lacks(file: _File, folder: Path) -> tuple[str, ...]:
    theirs = [*(file.prompt.attachments or []), *(file.local_grader_files or []), *_given(file)]
    return tuple(name for name in theirs if not inside(folder, name, folder / "task.yaml").exists())


def _read(folder: Path) -> _File:
    path = folder / "task.yaml"
    try:
        return msgspec.convert(read_yaml(path), _File)
    except msgspec.ValidationError as error:
        raise TaskError(path, f"It is not a task: {error}.") from None


def _servers(file: _File) -> list[str]:
    return [service.command for service in file.services or ()]


def _given(file: _File) -> list[str]:
    """Beside services, what a sandbox would be given is their own data, which they have anyway."""
    servers = _servers(file)
    return [] if servers and not any("/documents/" in command for command in servers) else file.sandbox_files or []
