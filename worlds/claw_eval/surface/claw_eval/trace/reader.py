"""From a trace to what graders are given. A trace is a file of JSON objects, one a line, that say what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ..models.trace import MediaLoad, ToolDispatch, TraceMessage

Loaded: TypeAlias = tuple[
    dict[str, Any],
    list[TraceMessage],
    list[ToolDispatch],
    list[MediaLoad],
    dict[str, Any] | None,
    dict[str, dict[str, Any]],
]


def load_trace(path: str | Path) -> Loaded:
    """Start, messages, dispatches, media, end (None where the run broke off) and audit of a trace.

    Events of other types are passed over. Raises ValueError where a line is no event, or the first one is missing.
    """
    events = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line.strip()]
    by_type: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_type.setdefault(event.get("type", ""), []).append(event)
    if not by_type.get("trace_start"):
        raise ValueError(f"{path} has no trace_start")
    end = by_type.get("trace_end")
    return (
        by_type["trace_start"][0],
        msgspec.convert(by_type.get("message", []), list[TraceMessage]),
        msgspec.convert(by_type.get("tool_dispatch", []), list[ToolDispatch]),
        msgspec.convert(by_type.get("media_load", []), list[MediaLoad]),
        end[-1] if end else None,
        {kept["service_name"]: kept["audit_data"] for kept in by_type.get("audit_snapshot", [])},
    )
