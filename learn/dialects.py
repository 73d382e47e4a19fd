"""How models write tool calls: the common formats, found by what a chat template says.

Knows text. Does not know tokens or tools. What a model writes is untrusted: whatever cannot be read as a call becomes a
call with an `error`, which its agent is told, or stays plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..agents.answers import CALLS_LIMIT, TEXT_LIMIT, call_of, parse_json
from ..agents.counting import as_json
from ..events.event import Json
from ..events.normalise import normalise
from .tokens import Piece


class Dialect(NamedTuple):
    """One format. `signs` are what a template holds that teaches it."""

    name: str
    signs: tuple[str, ...]
    teaching: str
    """How a system message explains it."""
    write: Callable[[str, Sequence[Json]], list[Piece]]
    """An answer's text and calls as the model would have written them."""
    read: Callable[[str], tuple[str, list[Json]]]
    """The inverse: text, and calls as `{"name", "args"}`, with `error` where one cannot be read."""


def _object(name: str, args: Json, key: str) -> str:
    return as_json({"name": name, key: args})


def _called(text: str) -> Json:
    """A call written as one JSON object."""
    try:
        given = parse_json(text)
    except ValueError:
        name = re.search(r'"name"\s*:\s*"([^"\\]{1,200})"', text)
        return _unreadable(name.group(1) if name else "")
    return _call(given)


def _call(given: Json) -> Json:
    if not isinstance(given, dict):
        return _unreadable("")
    arguments: Json = next((given[key] for key in ("arguments", "parameters") if key in given), {})
    return call_of({"function": {"name": given.get("name"), "arguments": arguments}})


def _unreadable(name: str) -> Json:
    return {
        "name": normalise(name)[0],
        "args": None,
        "error": "The call is not valid JSON. Call the tool again with a JSON object.",
    }


def _clean(text: str) -> str:
    return str(normalise(text[:TEXT_LIMIT])[0]).strip()


# --- the formats -------------------------------------------------------------------------------------------


def _write_hermes(text: str, calls: Sequence[Json]) -> list[Piece]:
    pieces = [Piece(text)] if text else []
    for call in calls:
        lead = "\n" if pieces else ""
        pieces += [Piece(f"{lead}<tool_call>\n", True), Piece(_object(call["name"], call["args"], "arguments"))]
        pieces.append(Piece("\n</tool_call>", True))
    return pieces


def _read_hermes(text: str) -> tuple[str, list[Json]]:
    parts = text.split("<tool_call>")
    calls = [_called(part.split("</tool_call>")[0].strip()) for part in parts[1 : CALLS_LIMIT + 1]]
    return _clean(parts[0]), calls


def _write_llama(text: str, calls: Sequence[Json]) -> list[Piece]:
    written = [_object(call["name"], call["args"], "parameters") for call in calls]
    return [Piece("\n".join([*([text] if text else []), *written]))]


def _read_llama(text: str) -> tuple[str, list[Json]]:
    text = text.removeprefix("<|python_tag|>").strip()
    words, calls = [], []
    for line in text.split("\n"):
        plain = line.strip().removesuffix(";")
        if plain.startswith("{") and '"name"' in plain:
            calls.append(_called(plain))
        else:
            words.append(line)
    return _clean("\n".join(words)), calls[:CALLS_LIMIT]


def _write_mistral(text: str, calls: Sequence[Json]) -> list[Piece]:
    if not calls:
        return [Piece(text)]
    written = ", ".join(_object(call["name"], call["args"], "arguments") for call in calls)
    return [*([Piece(text)] if text else []), Piece("[TOOL_CALLS]", True), Piece(f"[{written}]")]


def _read_mistral(text: str) -> tuple[str, list[Json]]:
    before, found, after = text.partition("[TOOL_CALLS]")
    if not found:
        return _clean(text), []
    try:
        listed = parse_json(after)
        items = listed if isinstance(listed, list) else [listed]
    except ValueError:
        return _clean(before), [_unreadable("")]
    return _clean(before), [_call(item) for item in items[:CALLS_LIMIT]]


def _write_plain(text: str, calls: Sequence[Json]) -> list[Piece]:
    pieces = [Piece(text)] if text else []
    for call in calls:
        pieces += [Piece("<|call|>", True), Piece(f"{call['name']} {as_json(call['args'])}")]
    return pieces


def _read_plain(text: str) -> tuple[str, list[Json]]:
    parts = text.split("<|call|>")
    calls = []
    for part in parts[1 : CALLS_LIMIT + 1]:
        name, _, arguments = part.strip().partition(" ")
        calls.append(call_of({"function": {"name": name, "arguments": arguments}}))
    return _clean(parts[0]), calls


HERMES = Dialect(
    "hermes",
    ("<tool_call>",),
    'Call a tool like this:\n<tool_call>\n{"name": "TOOL", "arguments": {"ARG": "VALUE"}}\n</tool_call>',
    _write_hermes,
    _read_hermes,
)
DIALECTS: tuple[Dialect, ...] = (
    Dialect("plain", ("<|call|>",), "", _write_plain, _read_plain),
    HERMES,
    Dialect(
        "mistral",
        ("[TOOL_CALLS]",),
        'Call a tool like this: [TOOL_CALLS][{"name": "TOOL", "arguments": {"ARG": "VALUE"}}]',
        _write_mistral,
        _read_mistral,
    ),
    Dialect(
        "llama",
        ("<|python_tag|>", '"parameters":'),
        'Call a tool by writing only {"name": "TOOL", "parameters": {"ARG": "VALUE"}}',
        _write_llama,
        _read_llama,
    ),
)


def dialect_of(template: str) -> Dialect:
    """The format that a chat template teaches; `hermes`, which we then teach ourselves, where it teaches none."""
    return next((each for each in DIALECTS if any(sign in template for sign in each.signs)), HERMES)
