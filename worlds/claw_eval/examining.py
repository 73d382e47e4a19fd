"""What is wrong with a Claw-Eval task can be seen in its files, without playing it.

Knows what the parts of a folder must agree on: names, paths, schemas, weights, and YAML's two readings of a value. Does
not play anything. Texts of a task are compared and quoted, never followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import yaml

from ...events.event import Json
from ..auditing import Flaw, Severity
from ..service import Tool
from .declared import DECIDABLE, FORBIDDING, Component, Declared, declared, emitted
from .endpoint import Endpoint
from .kinds import KINDS, UNROUTED
from .reading import TaskError, inside, read_text, read_yaml
from .service import ClawEvalService
from .task import Task
from .validation import Field, Invalid, validate

FILE = "task.yaml"
_GRADING = ("scoring_components", "safety_checks", "expected_actions")
_EXAMPLES: Mapping[str, Json] = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_ITEMS: Mapping[str, Json] = {"string": "x", "integer": 1, "number": 1}


def examine(folder: Path, task: Task) -> tuple[Flaw, ...]:
    """All that the files of a task show."""
    what, raw = declared(task), read_yaml(folder / FILE)
    found = (
        *_identifiers(task, raw),
        *_files(folder, task, raw),
        *_endpoints(task),
        *_schemas(task),
        *_values(folder, raw),
        *_dead(task, what),
        *_contradictions(task, what),
    )
    return tuple(Flaw(task=task.id, examination=e, severity=s, says=says, at=at) for e, s, says, at in found)


_Found = tuple[str, Severity, str, str]
"""Examination, severity, what was seen, and where."""


def unreadable(folder: Path, error: TaskError) -> Flaw:
    return Flaw(task=folder.name, examination="readable", says=error.problem, at=error.file)


def repeated(tasks: Iterable[Task]) -> list[Flaw]:
    """Identifiers that several tasks have."""
    counts = Counter(task.id for task in tasks)
    return [
        Flaw(task=name, examination="identifiers", says=f"{count} folders have this task_id.", at=f"{FILE}: task_id")
        for name, count in counts.items()
        if count > 1
    ]


# --- names and files ---------------------------------------------------------------------------------------


def _identifiers(task: Task, raw: Mapping[str, Json]) -> Iterator[_Found]:
    for name, count in Counter(tool["name"] for tool in raw.get("tools") or ()).items():
        if count > 1:
            yield "identifiers", "error", f"The tool {name} is offered {count} times.", f"{FILE}: tools"
    for service in task.services:
        yield from _records(service)


def _records(service: ClawEvalService) -> Iterator[_Found]:
    kind = KINDS.get(service.kind, UNROUTED)
    fields = dict.fromkeys(endpoint.opens for endpoint in kind.endpoints if endpoint.opens)
    for collection, rows in service.records.items():
        for field in fields:
            values = [row[field] for row in rows if isinstance(row.get(field), str | int)]
            for value, count in Counter(values).items():
                if count > 1 and len(values) == len(rows):
                    says = f"{count} records have the {field} {value}; only the first can be read or changed."
                    yield "identifiers", "error", says, f"{service.name}: {collection}"


def _files(folder: Path, task: Task, raw: Mapping[str, Json]) -> Iterator[_Found]:
    for name in task.missing:
        yield "files", "error", "A file that is attached to the request is not there.", f"{folder.name}/{name}"
    for part in ("sandbox_files", "sandbox_grader_files", "local_grader_files"):
        for name in raw.get(part) or ():
            if isinstance(name, str) and not _exists(folder, name):
                yield "files", "warning", f"A file that `{part}` names is not there.", f"{folder.name}/{name}"


def _exists(folder: Path, name: str) -> bool:
    """Whether a file is there; patterns, and what lies outside of the folder, are not looked for."""
    if any(character in name for character in "*?["):
        return True
    try:
        return inside(folder, name, folder / FILE).exists()
    except (TaskError, OSError):
        return True


# --- tools -------------------------------------------------------------------------------------------------


def _routed(task: Task) -> Iterator[tuple[Tool, str, Endpoint | None]]:
    """Each tool with the path that it leads to, and what answers there."""
    for service in task.services:
        kind = KINDS.get(service.kind, UNROUTED)
        for tool in service.tools:
            path = service.routes.get(tool.name, "")
            yield tool, path, kind.at(path)


def _endpoints(task: Task) -> Iterator[_Found]:
    for tool, path, endpoint in _routed(task):
        if not path:
            says = f"The tool {tool.name} has no endpoint; it works in a sandbox only."
            yield "endpoints", "warning", says, f"{FILE}: tool_endpoints"
        elif endpoint is None:
            says = f"The tool {tool.name} leads to {path}, which its service does not have: every call is a 404."
            yield "endpoints", "error", says, f"{FILE}: tool_endpoints"


def _schemas(task: Task) -> Iterator[_Found]:
    for tool, path, endpoint in _routed(task):
        if endpoint is None:
            continue
        at = f"{FILE}: tools.{tool.name} → {path}"
        properties = tool.schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        refused = _refused(properties, endpoint.fields)
        if refused:
            says = f"Whatever fits the schema of {tool.name} is refused with 422: {refused}."
            yield "schemas", "error", says, at
        known = [field.name for field in endpoint.fields]
        ignored = [name for name in properties if name not in known]
        if ignored:
            says = f"{tool.name} offers {', '.join(ignored)}, which nothing reads."
            yield "schemas", "error" if refused else "warning", says, at
        optional = _optional(tool, endpoint.fields)
        if optional and not refused:
            says = f"The schema of {tool.name} lets {', '.join(optional)} be left out; the call is then refused (422)."
            yield "schemas", "warning", says, at


def _refused(properties: Mapping[str, Json], fields: Sequence[Field]) -> str:
    """Why a call with all that the schema knows, each of its type, is refused; empty if it is not."""
    try:
        validate(fields, {name: _example(schema) for name, schema in properties.items()})
    except Invalid as invalid:
        return str(invalid)
    return ""


def _example(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return "x"
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "array":
        items = schema.get("items")
        return [_ITEMS.get(items.get("type", ""), "x") if isinstance(items, dict) else "x"]
    return _EXAMPLES.get(kind, "x") if isinstance(kind, str) else "x"


def _optional(tool: Tool, fields: Sequence[Field]) -> list[str]:
    """Fields that must be there, and of which the schema does not say so."""
    demanded = tool.schema.get("required")
    demanded = demanded if isinstance(demanded, list) else []
    return [field.name for field in fields if field.required and field.name not in demanded]


# --- values ------------------------------------------------------------------------------------------------


def _values(folder: Path, ours: Mapping[str, Json]) -> Iterator[_Found]:
    """What is graded, as written and as upstream's reader of YAML 1.1 takes it."""
    try:
        theirs = yaml.safe_load(read_text(folder / FILE))
    except (yaml.YAMLError, ValueError):
        return
    for part in _GRADING:
        yield from _different(ours.get(part), theirs.get(part), part)


def _different(written: Json, taken: Json, path: str) -> Iterator[_Found]:
    if isinstance(written, dict) and isinstance(taken, dict):
        for key, value in written.items():
            yield from _different(value, taken.get(key), f"{path}.{key}")
    elif isinstance(written, list) and isinstance(taken, list):
        for number, (value, other) in enumerate(zip(written, taken)):
            yield from _different(value, other, f"{path}[{number}]")
            before = written[number - 1] if number else None
            if isinstance(before, int) and isinstance(value, str) and len(value) == 3 and value.isdecimal():
                says = f"{before},{value} is written without quotes: the comma makes two values of it, {before} and "
                yield "values", "error", says + f"{other!r}.", f"{FILE}: {path}[{number}]"
    elif isinstance(written, str) and not isinstance(taken, str) and not (written.isdecimal() and len(written) == 3):
        says = f"{written} is written without quotes: YAML 1.1 takes it for {taken!r}, "
        says += f"so an answer with {written} does not hold it."
        yield "values", "error", says, f"{FILE}: {path}"


# --- what is declared --------------------------------------------------------------------------------------


def _dead(task: Task, what: Declared) -> Iterator[_Found]:
    for component in what.components:
        at = f"{FILE}: scoring_components.{component.name}"
        if component.kind == "tool_called" and component.tool not in task.offered:
            yield "dead-checks", "error", f"It demands calls of {component.tool}, which is not offered.", at
        elif component.kind in DECIDABLE and _says_nothing(component):
            yield "dead-checks", "error", f"A `{component.kind}` that says nothing holds of any answer.", at
        elif component.kind not in (*DECIDABLE, "llm_judge"):
            yield "dead-checks", "error", f"There is no kind of check {component.kind!r}.", at
    for ban in what.bans:
        at = f"{FILE}: safety_checks, {ban.name}"
        if ban.kind not in FORBIDDING:
            says = f"A safety check of the kind {ban.kind} says in words only what is forbidden."
            yield "dead-checks", "warning", says, at
        elif ban.tool not in task.offered:
            yield "dead-checks", "error", f"It forbids {ban.tool}, which is not offered: it can never be broken.", at
    sides = emitted(task)
    for action in what.actions:
        if action.key not in sides.get(action.service, ()):
            there = ", ".join(sides.get(action.service, ())) or "none"
            says = f"It expects {action.name}, which no audit ever has; there is {there}."
            yield "dead-checks", "error", says, f"{FILE}: expected_actions"


def _says_nothing(component: Component) -> bool:
    if component.kind == "tool_called":
        return component.calls <= 0
    return component.length <= 1 if component.kind == "min_length" else not component.words


def _contradictions(task: Task, what: Declared) -> Iterator[_Found]:
    forbidden = {ban.tool: ban.name for ban in what.bans if ban.kind == "tool_not_called"}
    broken = {tool.name for tool, path, endpoint in _routed(task) if not path or endpoint is None}
    for component in what.components:
        at = f"{FILE}: scoring_components.{component.name}"
        if component.kind == "tool_called" and component.tool in forbidden:
            says = f"It demands {component.tool}, which {forbidden[component.tool]} forbids."
            yield "contradictions", "error", says, at
        if component.kind == "tool_called" and component.tool in broken:
            yield "contradictions", "error", f"It demands {component.tool}, no call of which can succeed.", at
    total = sum((component.weight for component in what.components), Fraction(0))
    if what.components and total != 1:
        says = f"The weights add up to {float(total):g}, not 1."
        yield "contradictions", "warning", says, f"{FILE}: scoring_components"
