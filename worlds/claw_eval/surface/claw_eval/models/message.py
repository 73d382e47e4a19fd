"""A message of a conversation."""

from __future__ import annotations

from typing import Literal

import msgspec

from .content import ContentBlock, TextBlock


class Message(msgspec.Struct, kw_only=True):
    role: Literal["user", "assistant", "system"]
    content: list[ContentBlock] = []
    reasoning_content: str | None = None

    @property
    def text(self) -> str:
        """Its text blocks, a line break between them. What tools returned does not count."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))
