"""What every grader derives from: the shape of `grade`, and the helpers that graders call.

Knows traces and audits. Does not know any task. How a helper words its text is part of its behaviour: it goes into the
judge's prompt.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from inspect import getmembers, isclass
from pathlib import Path
from typing import Any

from ..models.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ..models.message import Message
from ..models.task import TaskDefinition
from ..models.trace import DimensionScores, MediaLoad, ToolDispatch, TraceMessage

#: Where graders look for each other. Whoever runs them sets the first entry.
TASKS: list[Path] = [Path("tasks")]


class AbstractGrader(ABC):
    """The grader of a task."""

    @abstractmethod
    def grade(
        self,
        messages: list[TraceMessage],
        dispatches: list[ToolDispatch],
        task: TaskDefinition,
        audit_data: dict[str, dict[str, Any]] | None = None,
        judge: Any | None = None,
        media_events: list[MediaLoad] | None = None,
        env_snapshot: dict[str, Any] | None = None,
    ) -> DimensionScores:
        """The scores of one run."""

    # --- what the agent said -------------------------------------------------------------------------------

    @staticmethod
    def _get_final_assistant_text(messages: list[TraceMessage]) -> str:
        """The text of the last answer, though it be empty."""
        return next((m.message.text for m in reversed(messages) if m.message.role == "assistant"), "")

    @staticmethod
    def _get_all_assistant_text(messages: list[TraceMessage]) -> str:
        return "\n".join(m.message.text for m in messages if m.message.role == "assistant")

    @staticmethod
    def format_conversation(messages: list[TraceMessage]) -> str:
        """A line for each message that has text."""
        said = [(m.message.role.upper(), m.message.text) for m in messages]
        return "\n".join(f"[{role}]: {text}" for role, text in said if text)

    @staticmethod
    def format_conversation_detailed(
        messages: list[TraceMessage],
        *,
        include_user_text: bool = True,
        include_assistant_text: bool = True,
        include_reasoning: bool = False,
        include_tool_use: bool = False,
        include_tool_result: bool = False,
        include_image: bool = False,
    ) -> str:
        """A line for each part of a message that is wanted, and that says something."""
        wanted = {
            "user": include_user_text,
            "assistant": include_assistant_text,
            "reasoning": include_reasoning,
            "tool_use": include_tool_use,
            "tool_result": include_tool_result,
            "image": include_image,
        }
        return "\n".join(line for each in messages for line in _lines(each.message, wanted))

    # --- what the agent did --------------------------------------------------------------------------------

    @staticmethod
    def compute_robustness(dispatches: list[ToolDispatch]) -> float:
        """1 without errors. Else the share of the tools that failed which later worked, or, if that is more, the share
        of all calls that worked, which counts up to one half. To two digits."""
        failed: list[str] = []
        recovered: list[str] = []
        errors = 0
        for dispatch in dispatches:
            if dispatch.response_status >= 400:
                errors += 1
                failed.append(dispatch.tool_name)
            elif dispatch.tool_name in failed:
                recovered.append(dispatch.tool_name)
        if not errors:
            return 1.0
        rate = len(set(recovered)) / len(set(failed))
        floor = round(min((len(dispatches) - errors) / len(dispatches), 0.5), 2)
        return round(max(rate, floor), 2)

    @staticmethod
    def compute_communication_substance(final_text: str, tool_entities: list[str], format_score: float) -> float:
        """Half for the form; half for naming the entities, in full from two of five on. The form alone is worth 0.7 at
        most where there is nothing to name."""
        if not tool_entities:
            return min(format_score, 0.7)
        share = sum(entity in final_text for entity in tool_entities) / len(tool_entities)
        return round(min(0.5 * min(share / 0.4, 1.0) + 0.5 * format_score, 1.0), 2)

    @staticmethod
    def get_service_actions(
        audit_data: dict[str, dict[str, Any]] | None, service: str, action_key: str
    ) -> list[dict[str, Any]]:
        """A list that a service's audit keeps beside its calls; empty where it keeps none of that name."""
        found = (audit_data or {}).get(service, {}).get(action_key, [])
        return found if isinstance(found, list) else []

    @staticmethod
    def get_audit_calls(audit_data: dict[str, dict[str, Any]] | None, service: str) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = (audit_data or {}).get(service, {}).get("calls", [])
        return calls

    @staticmethod
    def summarize_actions(audit_data: dict[str, dict[str, Any]] | None) -> str:
        """A line for each service that was called: how often, and which endpoints."""
        if not audit_data:
            return "No audit data available."
        lines = []
        for service, kept in audit_data.items():
            if calls := kept.get("calls", []):
                endpoints = ", ".join(call.get("endpoint", "?") for call in calls)
                lines.append(f"{service}: {len(calls)} calls — {endpoints}")
        return "\n".join(lines) or "No actions recorded."

    @staticmethod
    def format_audit_artifacts(
        audit_data: dict[str, dict[str, Any]] | None,
        *,
        services: list[str] | None = None,
        endpoints: list[str] | None = None,
        include_request: bool = True,
        include_response: bool = False,
        response_status_only: bool = False,
    ) -> str:
        """What was asked of services, and, if wanted, what they answered: a paragraph for each call of the audit."""
        if not audit_data:
            return "No audit data available."
        paragraphs = []
        for service, kept in audit_data.items():
            for call in kept.get("calls", []) if services is None or service in services else ():
                endpoint = call.get("endpoint", "")
                if endpoints is not None and endpoint not in endpoints:
                    continue
                lines = [f"[{service}] {endpoint}"]
                if include_request:
                    lines.append(f"  Request: {_dumps(call.get('request_body', {}))}")
                if include_response:
                    answer = call.get("response_body", {})
                    if response_status_only and isinstance(answer, dict):
                        answer = {name: answer[name] for name in ("status", "error") if name in answer}
                    lines.append(f"  Response: {_dumps(answer)}")
                paragraphs.append("\n".join(lines))
        return "\n\n".join(paragraphs) or "No matching artifacts."


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(message: Message, wanted: dict[str, bool]) -> Iterator[str]:
    """What a message says, part by part."""
    role = message.role
    if wanted["reasoning"] and role == "assistant" and message.reasoning_content:
        yield f"[ASSISTANT THINKING]: {message.reasoning_content}"
    for block in message.content:
        if isinstance(block, TextBlock):
            if wanted.get(role) and block.text.strip():
                yield f"[{role.upper()}]: {block.text}"
        elif isinstance(block, ToolUseBlock):
            if wanted["tool_use"] and role == "assistant":
                yield f"[TOOL CALL]: {block.name}({_dumps(block.input)})"
        elif isinstance(block, ToolResultBlock):
            if wanted["tool_result"]:
                tag = "TOOL RESULT ERROR" if block.is_error else "TOOL RESULT"
                yield f"[{tag}]: " + "\n".join(part.text for part in block.content)
        elif isinstance(block, ImageBlock) and wanted["image"]:
            yield f"[IMAGE]: {block.source_path or 'inline image'} ({block.mime_type})"


# --- graders from files ------------------------------------------------------------------------------------


def load_peer_grader(task_id: str, tasks_dir: str | Path | None = None) -> type[AbstractGrader]:
    """The grader class of another task, to derive from. Raises FileNotFoundError, or ValueError where it has none."""
    path = Path(tasks_dir or TASKS[0]) / task_id / "grader.py"
    _, classes = classes_of(path, f"peer_grader_{task_id}")
    if not classes:
        raise ValueError(f"{path} has no class that derives from AbstractGrader")
    return classes[0]


def classes_of(path: Path, name: str) -> tuple[str, list[type[AbstractGrader]]]:
    """Runs a file as the module `name`; gives that name, and the graders in it, by name."""
    if not path.exists():
        raise FileNotFoundError(f"there is no grader {path}")
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be run as a module")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = [found for _, found in getmembers(module, isclass)]
    return name, [found for found in classes if issubclass(found, AbstractGrader) and found is not AbstractGrader]
