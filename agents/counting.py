"""How many tokens a text is, by a named rule, where nobody who knows has said.

Knows rules that need no tokenizer: a log must mean the same wherever it is read. Does not know any model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..events.codec import to_json
from ..events.event import Json

UTF8_4 = "utf8/4"
"""A token for each four bytes of UTF-8, rounded up."""


def utf8_4(text: str) -> int:
    return (len(text.encode("utf-8", "replace")) + 3) // 4


RULES: Mapping[str, Callable[[str], int]] = MappingProxyType({UTF8_4: utf8_4})
"""Counting rules by the name under which they stand in logs and specifications."""


def as_json(value: Json) -> str:
    """The compact JSON of a value: what a rule counts where a value is no text."""
    return to_json(value).decode()
