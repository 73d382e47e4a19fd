"""Texts of models and strangers, made fit for a screen: one line, no control characters, no longer than there is room.

Knows characters and the cells that they take. Does not know what a text is about. Whatever goes from a log to a
terminal passes through here: an escape sequence in a message must be seen, not obeyed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from rich.cells import cell_len, set_cell_size

from ..events.codec import to_json
from ..events.event import Json

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_JOINS = "\u200c\u200d"
"""Characters without a shape of their own that scripts and emoji need; they move nothing on the screen."""
_PLAIN = re.compile(r"[\x20-\x7e]*")
_IN_JSON = re.compile(r"[\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def printable(text: str) -> str:
    """`text` on one line; control, direction and private characters are written as escapes, such as `\\x1b`."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(_shown, text))


def printable_lines(text: str) -> list[str]:
    """The same, keeping line breaks: one item a line. Tabs are four spaces."""
    return [printable(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def _shown(character: str) -> str:
    if character in "\n\r":
        return "⏎"
    if character == "\t":
        return " "
    if character in _JOINS or unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, cells: int) -> str:
    """`text` on one line of at most `cells` cells; what is cut is shown by an ellipsis."""
    if cells <= 0:
        return ""
    # Longer than any line: what lies beyond can neither be shown nor make what is shown differ.
    text = printable(text[: 4 * cells + 4])
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def elided(name: str, cells: int) -> str:
    """A name in at most `cells` cells. What is cut is its middle: names that begin alike often end differently."""
    name = printable(name[:1000])
    if cell_len(name) <= cells or cells < 5:
        return shortened(name, cells)
    room = cells * 3 // 5
    end = name[-room:]
    while cell_len(end) > room:  # from the front, since a joiner in it makes the cells of a text depend on its order
        end = end[1:]
    return shortened(f"{set_cell_size(name, cells - room - 1)}…{end}", cells)


def as_json(value: Json) -> str:
    """A value as JSON text that is safe on a terminal, too: what JSON leaves raw there is escaped."""
    text = to_json(value).decode("utf-8", "replace")
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def brief(value: Json, cells: int = 60) -> str:
    """A value in few words: texts as they are, objects as `name: value`, long lists as their length."""
    return shortened(_brief(value, 0, cells), cells)


def _brief(value: Json, depth: int, room: int) -> str:
    if isinstance(value, str):
        return value[: 4 * room]
    if isinstance(value, Mapping):
        if depth > 1:
            return "{…}"
        return ", ".join(
            f"{name[: 4 * room]}: {_brief(item, depth + 1, room)}" for name, item in list(value.items())[:room]
        )
    if isinstance(value, list | tuple):
        if depth > 1 or len(value) > 3:
            return f"[{len(value)} items]"
        return "[" + ", ".join(_brief(item, depth + 1, room) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
