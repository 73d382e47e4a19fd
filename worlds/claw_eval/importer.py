"""Reads unmodified Claw-Eval task folders.

Knows `task.yaml` and how its tools, endpoints and services belong together. Does not know what services do. Nothing
in a folder is executed, nothing outside of the folder of all tasks is read, and what is wrong is a `TaskError`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec

from ...events.event import Json
from ..dates import check_bounds
from ..service import Tool
from ..values import ValueProblem
from ..world import Persona
from .clock import story_start
from .endpoint import Kind, Mode
from .fixtures import Pages, Rows, Source, load
from .kinds import KINDS, UNROUTED
from .offline import OfflineWeb
from .reading import TaskError, inside, read_bytes, read_text, read_yaml
from .service import ClawEvalService
from .task import Attachment, Task
from .web import LIVE, injection_options, offline_options

# --- the file --------------------------------------------------------------------------------------------


class _Prompt(msgspec.Struct):
    text: str
    language: str = "zh"
    attachments: list[str] | None = None


class _ToolSpec(msgspec.Struct):
    name: str
    description: str = ""
    input_schema: dict[str, Any] | None = None


class _ToolEndpoint(msgspec.Struct):
    tool_name: str
    url: str


class _ServiceSpec(msgspec.Struct):
    name: str
    command: str
    port: int
    env: dict[str, Any] | None = None


class _Environment(msgspec.Struct):
    max_turns: int = 20
    timeout_seconds: int = 300


class _UserAgent(msgspec.Struct):
    enabled: bool = False
    persona: str = ""
    max_rounds: int = 3
    system_prompt_suffix: str = ""


class _File(msgspec.Struct):
    """What is read of a `task.yaml`; other keys are none of our business."""

    task_id: str
    prompt: _Prompt
    task_name: str = ""
    tools: list[_ToolSpec] | None = None
    tool_endpoints: list[_ToolEndpoint] | None = None
    services: list[_ServiceSpec] | None = None
    environment: _Environment | None = None
    user_agent: _UserAgent | None = None


_LABELS = ("version", "category", "difficulty", "tags")
_HIDDEN = (
    "judge_rubric",
    "reference_solution",
    "scoring_components",
    "safety_checks",
    "expected_actions",
    "primary_dimensions",
)
_COMMAND = re.compile(r"mock_services/(\w+)/server\.py")
_URL = re.compile(r"https?://[^/:]+:(\d+)(/[^?#]*)\Z")


def load_task(
    folder: Path | str,
    mode: Mode = "sane",
    *,
    clock: datetime | None = None,
    error_rate: Decimal | int = 0,
    pages: Pages | None = None,
    web: OfflineWeb | None = None,
) -> Task:
    """The task in `folder`, whose parent is the folder of all tasks.

    `clock` (with an offset) sets virtual time 0, which otherwise is the story's; upstream's mode moves the dates of
    mail and calendar to it. `error_rate` is the probability of an injected error at each call. `pages` reads PDFs whose
    text is not beside them. `web` takes the place of the live web in sane mode. Raises TaskError, and
    OfflineError for what is wrong with `web`.
    """
    folder = Path(folder)
    path = folder / "task.yaml"
    raw = read_yaml(inside(folder, "task.yaml", path))
    try:
        file = msgspec.convert(raw, _File)
    except msgspec.ValidationError as error:
        raise TaskError(path, f"It is not a task: {error}.") from None
    loaded = _load_services(file, folder, path, mode, pages)
    start = _start(file, clock, {name: rows for _, _, records in loaded for name, rows in records.items()}, path)
    if web is not None and mode == "sane":
        loaded = [(spec, kind, _surfed(kind, records, folder, web)) for spec, kind, records in loaded]
    services = _services(file, path, loaded, mode, start, Decimal(error_rate))
    environment = file.environment or _Environment()
    return Task(
        id=file.task_id,
        name=file.task_name,
        prompt=file.prompt.text,
        language=file.prompt.language,
        mode=mode,
        start=start,
        services=services,
        offered=tuple(dict.fromkeys(tool.name for tool in file.tools or ())),
        max_turns=environment.max_turns,
        timeout_seconds=environment.timeout_seconds,
        attachments=tuple(_attachment(folder, path, name) for name in file.prompt.attachments or ()),
        persona=_persona(file),
        labels={name: raw[name] for name in _LABELS if name in raw},
        grading={name: raw[name] for name in _HIDDEN if name in raw},
    )


def load_tasks(
    root: Path | str,
    mode: Mode = "sane",
    *,
    clock: datetime | None = None,
    pages: Pages | None = None,
    web: OfflineWeb | None = None,
) -> tuple[list[Task], list[TaskError]]:
    """All tasks below `root`, by name, and what is wrong with those that cannot be read. Raises TaskError,
    and OfflineError for what is wrong with `web`.

    A folder without `task.yaml` only lends its fixtures to others.
    """
    root = Path(root)
    if not root.is_dir():
        raise TaskError(root, "There is no such folder.")
    tasks: list[Task] = []
    errors: list[TaskError] = []
    for folder in sorted(path for path in root.iterdir() if (path / "task.yaml").exists()):
        try:
            tasks.append(load_task(folder, mode, clock=clock, pages=pages, web=web))
        except TaskError as error:
            errors.append(error)
    return tasks, errors


# --- services and tools ----------------------------------------------------------------------------------


def _load_services(
    file: _File, folder: Path, path: Path, mode: Mode, pages: Pages | None
) -> list[tuple[_ServiceSpec, Kind, dict[str, Rows]]]:
    loaded = []
    names: list[str] = [UNROUTED.name]
    for spec in file.services or ():
        if spec.name in names:
            raise TaskError(path, f"The service name {spec.name!r} is taken; each service needs its own.")
        names.append(spec.name)
        match = _COMMAND.search(spec.command)
        kind = KINDS.get(match[1]) if match else None
        if kind is None:
            raise TaskError(
                path, f"The service {spec.name!r} runs {spec.command!r}. Known servers: {', '.join(KINDS)}."
            )
        source = Source(folder.parent, folder, path, _texts(spec.env or {}), mode, pages)
        loaded.append((spec, kind, load(kind, source)))
    return loaded


def _surfed(kind: Kind, records: dict[str, Rows], folder: Path, web: OfflineWeb) -> dict[str, Rows]:
    """With a user's pages in the place of what a task comes with."""
    rows = web.rows(folder.resolve().name) if kind.name in LIVE else None
    return records if rows is None else {**records, **rows}


def _texts(env: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else str(value) for name, value in env.items()}


def _services(
    file: _File,
    path: Path,
    loaded: list[tuple[_ServiceSpec, Kind, dict[str, Rows]]],
    mode: Mode,
    start: datetime,
    error_rate: Decimal,
) -> tuple[ClawEvalService, ...]:
    routes = _routes(file, path, {spec.port: spec.name for spec, _, _ in loaded})
    tools = {tool.name: tool for tool in reversed(file.tools or ())}
    services = [
        ClawEvalService(
            name=spec.name,
            kind=kind.name,
            mode=mode,
            tools=tuple(_tool(tools[name], kind, route) for name, route in routes[spec.name].items() if name in tools),
            routes=routes[spec.name],
            records=_moved(kind, records, path, start) if mode == "upstream" else records,
            options=_options(spec, path, offline="recorded" in records),
            error_rate=error_rate,
        )
        for spec, kind, records in loaded
    ]
    routed = {name for each in routes.values() for name in each}
    unrouted = tuple(_tool(tool, UNROUTED, "") for tool in tools.values() if tool.name not in routed)
    if unrouted:
        services.append(ClawEvalService(name=UNROUTED.name, kind=UNROUTED.name, mode=mode, tools=unrouted[::-1]))
    return tuple(services)


def _routes(file: _File, path: Path, ports: Mapping[int, str]) -> dict[str, dict[str, str]]:
    """`{service: {tool: path}}`: a tool leads to the service that has its endpoint's port."""
    routes: dict[str, dict[str, str]] = {name: {} for name in ports.values()}
    for endpoint in file.tool_endpoints or ():
        match = _URL.match(endpoint.url)
        service = ports.get(int(match[1])) if match else None
        if match is None or service is None:
            raise TaskError(path, f"The tool {endpoint.tool_name!r} leads to {endpoint.url!r}, where no service is.")
        routes[service][endpoint.tool_name] = match[2]
    return routes


def _tool(spec: _ToolSpec, kind: Kind, route: str) -> Tool:
    endpoint = kind.at(route)
    reads, opens = (endpoint.reads, endpoint.opens) if endpoint else (True, None)
    return Tool(spec.name, spec.description, spec.input_schema or {}, reads=reads, opens=opens)


def _start(file: _File, clock: datetime | None, fixtures: Mapping[str, Rows], path: Path) -> datetime:
    """Virtual time 0, from where the task can be played to its end."""
    seconds = (file.environment or _Environment()).timeout_seconds
    try:
        start = clock or story_start(fixtures)
        check_bounds(start.replace(tzinfo=None), timedelta(seconds=seconds))
    except OverflowError:
        raise TaskError(path, "With its dates and its time limit, it would reach the end of the calendar.") from None
    except ValueProblem as problem:
        raise TaskError(path, f"The story's start, {problem}") from None
    return start


def _moved(kind: Kind, records: dict[str, Rows], path: Path, start: datetime) -> dict[str, Rows]:
    if kind.shift is None or kind.collection is None:
        return records
    try:
        return {kind.collection: kind.shift(records[kind.collection], start)}
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise TaskError(path, f"The dates of the fixture of {kind.name!r} cannot be moved: {error!r}.") from None


def _options(spec: _ServiceSpec, path: Path, offline: bool) -> dict[str, Json]:
    env = _texts(spec.env or {})
    options = injection_options(env)
    try:
        options |= offline_options(env) if offline else {}
    except ValueError:
        raise TaskError(path, "MAX_SEARCHES and MAX_FETCHES should be whole numbers.") from None
    if "injection_rate" in options:
        try:
            options["injection_rate"] = Decimal(options["injection_rate"])
        except InvalidOperation:
            raise TaskError(path, f"INJECTION_RATE is {options['injection_rate']!r}, which is no number.") from None
    return options


# --- the request -----------------------------------------------------------------------------------------

_MEDIA_LIMIT = 8 * 1024 * 1024
_MIME = {
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "xml": "application/xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
}


def _attachment(folder: Path, path: Path, name: str) -> Attachment:
    """Texts as texts, pictures and sound in base64. What is missing or too large is named and stops nothing."""
    mime = _MIME.get(name.rpartition(".")[2].lower(), "application/octet-stream")
    file = inside(folder, name, path)
    try:
        if mime.startswith("text/") or mime in ("application/json", "application/xml"):
            return Attachment(name, mime, text=read_text(file))
        return Attachment(name, mime, base64=base64.b64encode(read_bytes(file, _MEDIA_LIMIT)).decode())
    except TaskError as error:
        return Attachment(name, mime, problem=error.problem)


def _persona(file: _File) -> Persona | None:
    user = file.user_agent
    if user is None or not user.enabled:
        return None
    return Persona(user.persona, file.prompt.language, user.max_rounds, user.system_prompt_suffix)
