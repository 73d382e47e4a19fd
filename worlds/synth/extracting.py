"""The document in what a model answered: without its thinking, the fence around it and the words beside it.

Knows how models write. Does not know what the document means, nor whether it can be read. Answers are untrusted and may
be long: nothing here takes more than a few passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

LONGEST = 400_000
"""Characters of an answer that are looked at."""


class Extract(msgspec.Struct, frozen=True):
    """What was found in an answer."""

    text: str
    cut: bool = False
    """The answer ended within it: it is not whole."""


_FENCE = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]{0,20})[^\n`]*$", re.MULTILINE)
_THINKING = ("think", "thinking", "reasoning", "thought")
_OUTER_KEY = re.compile(r"^(?:environment|\"environment\")\s*:", re.MULTILINE)
_BARE_START = re.compile(r"^(?:(?:environment|id|title|clock|facts|people)[ \t]*:|\{)", re.MULTILINE)
_OUTSIDE = re.compile(r"^(?![\w\"'-][\w\"' -]{0,60}:(?:\s|$)|- |[#\]}\s]|$).*$", re.MULTILINE)


def document_in(answer: str) -> Extract | None:
    """The YAML or JSON document in an answer: of fenced blocks the one that looks most like an environment, else what
    begins with one of its keys or a bracket. None where there is nothing of the kind."""
    text = _without_thinking(answer[:LONGEST])
    blocks = list(_blocks(text))
    if blocks:
        return max(blocks, key=lambda block: (bool(_OUTER_KEY.search(block.text)), len(block.text)))
    return _bare(text, len(answer) > LONGEST)


def object_in(answer: str) -> Extract | None:
    """The JSON object in an answer: in a fenced block, or from the first bracket to the last."""
    text = _without_thinking(answer[:LONGEST])
    inner = next((block.text for block in _blocks(text) if "{" in block.text), text)
    start, end = inner.find("{"), inner.rfind("}")
    return Extract(inner[start : end + 1]) if 0 <= start < end else None


def _without_thinking(text: str) -> str:
    """Without what stands between `<think>` and `</think>`; of thinking that never ends, nothing is left."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    for name in _THINKING:
        end = text.rfind(f"</{name}>")
        if end >= 0:
            text = text[end + len(name) + 3 :]
        elif text.lstrip().startswith(f"<{name}>"):
            return ""
    return text


def _blocks(text: str) -> Iterator[Extract]:
    """Fenced blocks; the last may be open, where the answer was cut."""
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opening is None:
            opening = match
        elif match["fence"].startswith(opening["fence"]) and not match["language"]:
            yield Extract(text[opening.end() + 1 : match.start()])
            opening = None
    if opening is not None:
        yield Extract(text[opening.end() + 1 :], True)


def _bare(text: str, cut: bool) -> Extract | None:
    start = _BARE_START.search(text)
    if start is None:
        return None
    rest = text[start.start() :]
    if rest.startswith("{"):
        end = rest.rfind("}")
        return Extract(rest[: end + 1] if end > 0 else rest, cut)
    outside = _OUTSIDE.search(rest)
    return Extract(rest[: outside.start()] if outside else rest, cut)
