"""The pages of the documentation, and the fenced blocks in them.

A block's first word is its language; more words say how it is run:

    ```console            each line that begins with `$ ` is run, and must succeed
    ```console checked    and what it prints is what the block shows
    ```console fails      its last command exits with 1
    ```console model      with a chat server at http://127.0.0.1:8000/v1
    ```python             is run
    ```yaml               all of a page, one after the other, are one environment
    ```python tasks       (or console) in a folder with Claw-Eval's tasks; not run where there is no checkout of it
    ```console checkouts  in a folder with small benchmarks like real ones; not run where their code cannot be confined

Anything else (```text, ```sh) is only shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    words: frozenset[str]
    text: str
    line: int
    """Of the page, counted from 1."""
    span: tuple[int, int]
    """Where `text` stands in the page."""

    def commands(self) -> list[str]:
        """The commands of a console block, each with the lines that continue it."""
        found: list[str] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append(line[2:])
            elif line.startswith("> ") and found:
                found[-1] += f"\n{line[2:]}"
        return found


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str = "") -> list[Block]:
    found = []
    for match in _BLOCK.finditer(text):
        first, *words = match["info"].split() or [""]
        if not language or first == language:
            line = text.count("\n", 0, match.start("text")) + 1
            found.append(Block(first, frozenset(words), match["text"], line, match.span("text")))
    return found


def environment(text: str, leaving_out: str = "") -> str:
    """The environment that a page's yaml blocks are together, apart from the block with `leaving_out`."""
    kept = [block.text for block in blocks(text, "yaml") if not leaving_out or leaving_out not in block.text]
    whole = "".join(kept)
    header = "environment: coworkenv/1\nid: docs.page/0001\nclock: {start: 2026-03-02T09:00}\n"
    return whole if not whole or re.search(r"^environment:", whole, re.MULTILINE) else header + whole
