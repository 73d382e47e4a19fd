"""The events of a trace that graders are given, and the scores that they give."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .message import Message


class TokenUsage(msgspec.Struct, kw_only=True):
    input_tokens: int = 0
    output_tokens: int = 0


class DimensionScores(msgspec.Struct, kw_only=True):
    """What a grader returns. Each score is from 0 to 1, by convention only."""

    completion: float = 0.0
    robustness: float = 0.0
    communication: float = 0.0
    safety: float = 1.0
    efficiency_turns: int = 0
    efficiency_tokens: int = 0
    efficiency_wall_time_s: float = 0.0


class TraceMessage(msgspec.Struct, kw_only=True):
    message: Message
    trace_id: str = ""
    usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    timestamp: str = ""


class ToolDispatch(msgspec.Struct, kw_only=True):
    tool_use_id: str
    tool_name: str
    endpoint_url: str
    trace_id: str = ""
    request_body: dict[str, Any] = {}
    response_status: int = 200
    response_body: Any = None
    latency_ms: float = 0.0
    timestamp: str = ""


class MediaLoad(msgspec.Struct, kw_only=True):
    modality: Literal["image", "audio", "video", "document"]
    source_path: str
    mime_type: str
    size_bytes: int
    sha256: str
    trace_id: str = ""
    status: Literal["loaded", "skipped", "error"] = "loaded"
    note: str = ""
    timestamp: str = ""
