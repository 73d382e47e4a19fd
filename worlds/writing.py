"""Writing an environment as a file that people like to read, and freezing one without touching the rest of it.

Knows YAML as `document` reads it, and how wide a line may be. Does not know what an environment means. What is short
stands on one line in brackets, what is long is spread over lines; keys stay in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from ..events.event import Json
from .compiling import plain
from .document import Document, DocumentError, load, parse
from .environment import Environment, Frozen

WIDTH = 120

_PLAIN = re.compile(r"[\w$=/(](?:[^\n,\[\]{}#&*!|>'\"%@`:]|:(?=[^\s,\[\]{}])|(?<=\S)[#&*!|>'\"%@`])*")
_LITERAL = re.compile(r"\S[^\n]*(?:\n+\S[^\n]*)*\n?")


def write(environment: Environment | Mapping[str, Json]) -> str:
    """An environment, or the data of one, as YAML. Reading it gives the same again."""
    data = plain(environment) if isinstance(environment, Environment) else environment
    lines: list[str] = []
    for key, value in data.items():
        section = [f"{_scalar(key)}:{rest}" if not number else rest for number, rest in enumerate(_entry(value, key))]
        if lines and (len(section) > 1 or lines[-1].startswith((" ", "-"))):
            lines.append("")
        lines += section
    return "\n".join(lines) + "\n" if lines else "{}\n"


def _entry(value: Json, key: str) -> Iterator[str]:
    """What follows the colon of an outermost key, line by line; collections of collections are always spread."""
    items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if any(isinstance(item, (dict, list)) and item for item in items):
        yield ""
        yield from _block(value, 2)
    else:
        yield from _after(value, 0, len(key) + 1)


def _after(value: Json, indent: int, used: int) -> Iterator[str]:
    """What follows a colon at this indentation: the rest of its line, then the lines below it."""
    if isinstance(value, str) and _is_literal(value):
        yield " |" if value.endswith("\n") else " |-"
        yield from (f"{' ' * (indent + 2)}{line}" if line else "" for line in value.rstrip("\n").split("\n"))
        return
    flow = _flow(value)
    if flow is not None and (used + 1 + len(flow) <= WIDTH or not _spreads(value)):
        yield f" {flow}"
        return
    yield ""
    yield from _block(value, indent + 2)


def _block(value: Json, indent: int) -> Iterator[str]:
    """A mapping or list, spread over lines."""
    margin = " " * indent
    if isinstance(value, dict):
        for key, item in value.items():
            head = f"{margin}{_scalar(key)}:"
            rest = _after(item, indent, len(head))
            yield head + next(rest)
            yield from rest
        return
    for item in value:
        flow = _flow(item)
        if flow is not None and (indent + 2 + len(flow) <= WIDTH or not _spreads(item)):
            yield f"{margin}- {flow}"
        elif isinstance(item, str):
            head, *below = _after(item, indent, indent + 2)
            yield f"{margin}-{head}"
            yield from below
        else:
            first, *below = _block(item, indent + 2)
            yield f"{margin}- {first.lstrip(' ')}"
            yield from below


def _spreads(value: Json) -> bool:
    return isinstance(value, (dict, list)) and bool(value)


def _is_literal(value: str) -> bool:
    return "\n" in value and _LITERAL.fullmatch(value) is not None and value.replace("\n", "").isprintable()


def _flow(value: Json) -> str | None:
    """A value on one line; None if there is a text in it that wants several."""
    if isinstance(value, dict):
        pairs = [(_scalar(key), _flow(item)) for key, item in value.items()]
        if any(item is None for _, item in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, (list, tuple)):
        items = [_flow(item) for item in value]
        return None if None in items else "[" + ", ".join(item for item in items if item is not None) + "]"
    return None if isinstance(value, str) and _is_literal(value) else _scalar(value)


def _scalar(value: Json) -> str:
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _is_plain(value: str) -> bool:
    """Whether a text needs no quotes: it is read as the text that it is, wherever it stands."""
    if not value.isprintable() or value != value.strip() or len(value) > 1000 or not _PLAIN.fullmatch(value):
        return False
    first = value[0]
    return not (first.isdigit() or first in "nNtTfF") or isinstance(parse(value), str)


def _quoted(value: str) -> str:
    """In double quotes, with everything escaped that does not print."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(char) or (char if char.isprintable() else _code(char)) for char in value) + '"'


def _code(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


# --- freezing ----------------------------------------------------------------------------------------------


def with_frozen(text: str, frozen: Frozen) -> str:
    """The text of a file with this `frozen` block in it, in place of the one it has or at its end.

    Everything else stays as it is, comments included; the block's lines end as the others do. Raises `DocumentError`,
    also where the text is laid out in such a way that it cannot be done.
    """
    body = text.removeprefix("\ufeff")
    document = load(body)
    if not isinstance(document.value, dict):
        raise DocumentError("the document is not an environment.")
    data = plain(frozen)
    wanted = {**document.value, "frozen": data}
    for candidate in _frozen_texts(body, document, data):
        try:
            if load(candidate).value == wanted:
                return text[: len(text) - len(body)] + candidate
        except DocumentError:
            continue
    raise DocumentError("the 'frozen' block finds no place; let the file end with a plain key and its value.")


def _frozen_texts(text: str, document: Document, data: dict[str, Json]) -> Iterator[str]:
    """Ways of putting the block there, the best first."""
    spans = document.spans
    start, end = spans.get("frozen", (0, 0))
    if document.flow:
        block = f'"frozen": {msgspec.json.encode(data).decode()}'
        last = max((stop for _, stop in spans.values()), default=0)
        yield text[:start] + block + text[end:] if end else f"{text[:last]}, {block}{text[last:]}"
        return
    first = next(iter(spans.values()), (0, 0))[0]
    margin = " " * (first - text.rfind("\n", 0, first) - 1)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = write({"frozen": data}).rstrip("\n").replace("\n", f"{newline}{margin}")
    if end:
        end = start + len(text[start:end].rstrip())
        yield text[:start] + block + text[end:]
        return
    gap = newline if text.endswith("\n") else newline * 2
    yield f"{text}{gap}{margin}{block}{newline}"
    last = max((stop for _, stop in spans.values()), default=0)
    line = last if text[last - 1 : last] == "\n" else text.find("\n", last) + 1
    if line:
        yield f"{text[:line]}{newline}{margin}{block}{newline}{text[line:]}"
