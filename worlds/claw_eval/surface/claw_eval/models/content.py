"""The parts of a message. Graders tell them apart by their classes."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import msgspec


class TextBlock(msgspec.Struct, kw_only=True, tag_field="type", tag="text"):
    type: ClassVar[str] = "text"
    text: str


class ToolUseBlock(msgspec.Struct, kw_only=True, tag_field="type", tag="tool_use"):
    type: ClassVar[str] = "tool_use"
    id: str
    name: str
    input: dict[str, Any] = {}


class ToolResultBlock(msgspec.Struct, kw_only=True, tag_field="type", tag="tool_result"):
    type: ClassVar[str] = "tool_result"
    tool_use_id: str
    content: list[TextBlock] = []
    is_error: bool = False


class ImageBlock(msgspec.Struct, kw_only=True, tag_field="type", tag="image"):
    type: ClassVar[str] = "image"
    data: str
    """In base64, here and in the two classes below."""
    mime_type: str
    source_path: str | None = None


class AudioBlock(msgspec.Struct, kw_only=True, tag_field="type", tag="audio"):
    type: ClassVar[str] = "audio"
    data: str
    mime_type: str
    source_path: str | None = None


class VideoBlock(msgspec.Struct, kw_only=True, tag_field="type", tag="video"):
    type: ClassVar[str] = "video"
    data: str
    mime_type: str
    source_path: str | None = None


ContentBlock: TypeAlias = TextBlock | ToolUseBlock | ToolResultBlock | ImageBlock | AudioBlock | VideoBlock
