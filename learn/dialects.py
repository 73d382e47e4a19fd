"""How models write tool calls: the common formats, found by what a chat template says.

Knows text. Does not know tokens or tools. What a model writes is untrusted: whatever cannot be read as a call becomes a
call with an `error`, which its agent is told, or stays plain text. Where a call ends is told by its JSON, so a value
may hold anything, also what begins or ends a call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from ..agents.answers import CALLS_LIMIT, TEXT_LIMIT, call_of
from ..agents.counting import as_json
from ..events.event import Json
from ..events.normalise import normalise
from .tokens import Piece

THOUGHT, THOUGHT_ENDS = "<think>", "</think>"


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


def spoken(text: str, thinking: bool = False) -> str:
    """What is left of an answer without the thought that it begins with. `thinking`: the prompt began the thought."""
    if not thinking and not text.lstrip().startswith(THOUGHT):
        return text
    return text.partition(THOUGHT_ENDS)[2]


# --- what the formats share --------------------------------------------------------------------------------


def _reject(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_reject)


def _value(text: str) -> tuple[Json, str]:
    """The JSON value that a text begins with, and what is behind it. Raises ValueError."""
    text = text.lstrip()
    try:
        value, end = _DECODER.raw_decode(text)
    except (RecursionError, ArithmeticError) as error:
        raise ValueError(str(error)) from error
    return value, text[end:]


def _called(text: str) -> tuple[Json, str]:
    """The call that a text begins with, as one JSON object, and what is behind it."""
    try:
        given, rest = _value(text)
    except ValueError:
        name = re.search(r'"name"\s*:\s*"([^"\\]{1,200})"', text[:1000])
        return _unreadable(name.group(1) if name else ""), text
    return _call(given), rest


def _call(given: Json) -> Json:
    if not isinstance(given, dict):
        return _unreadable("")
    arguments: Json = next((given[key] for key in ("arguments", "parameters") if key in given), {})
    return call_of({"function": {"name": given.get("name"), "arguments": arguments}})


def _unreadable(name: str) -> Json:
    error = "The call is not valid JSON. Call the tool again with a JSON object."
    return {"name": normalise(name)[0], "args": None, "error": error}


def _object(call: Json, key: str) -> str:
    return as_json({"name": call["name"], key: _arguments(call)})


def _arguments(call: Json) -> Json:
    """What a call was given; nothing, where that could not be read."""
    return {} if call["args"] is None else call["args"]


def _text(text: str) -> str:
    return str(normalise(text[:TEXT_LIMIT])[0]).strip()


def _marked(text: str, mark: str, read: Callable[[str], tuple[Json, str]]) -> tuple[str, list[Json]]:
    """The text before the first `mark`, and a call behind each mark that is not within a call."""
    said, found, rest = text.partition(mark)
    calls: list[Json] = []
    while found and len(calls) < CALLS_LIMIT:
        call, rest = read(rest)
        calls.append(call)
        _, found, rest = rest.partition(mark)
    return _text(said), calls


# --- the formats -------------------------------------------------------------------------------------------


def _write_hermes(text: str, calls: Sequence[Json]) -> list[Piece]:
    pieces = [Piece(text)] if text else []
    for call in calls:
        lead = "\n" if pieces else ""
        pieces += [Piece(f"{lead}<tool_call>\n", True), Piece(_object(call, "arguments"))]
        pieces.append(Piece("\n</tool_call>", True))
    return pieces


def _read_hermes(text: str) -> tuple[str, list[Json]]:
    return _marked(text, "<tool_call>", _called)


def _write_llama(text: str, calls: Sequence[Json]) -> list[Piece]:
    return [Piece("\n".join([*([text] if text else []), *(_object(call, "parameters") for call in calls)]))]


def _read_llama(text: str) -> tuple[str, list[Json]]:
    """A line that begins with an object which names something begins a call, wherever its object ends."""
    rest = text.removeprefix("<|python_tag|>").lstrip()
    lines: list[str] = []
    calls: list[Json] = []
    while rest:
        line, _, below = rest.partition("\n")
        if line.lstrip().startswith("{") and '"name"' in line:
            call, behind = _called(rest)
            calls.append(call)
            rest = below if "error" in call else behind.lstrip("; \n")
        else:
            lines.append(line)
            rest = below
    return _text("\n".join(lines)), calls[:CALLS_LIMIT]


def _write_mistral(text: str, calls: Sequence[Json]) -> list[Piece]:
    pieces = [Piece(text)] if text else []
    if calls:
        listed = ",".join(_object(call, "arguments") for call in calls)
        pieces += [Piece("[TOOL_CALLS]", True), Piece(f"[{listed}]")]
    return pieces


def _read_mistral(text: str) -> tuple[str, list[Json]]:
    said, found, rest = text.partition("[TOOL_CALLS]")
    if not found:
        return _text(said), []
    try:
        listed = _value(rest)[0]
    except ValueError:
        return _text(said), [_called(rest)[0]]
    items = listed if isinstance(listed, list) else [listed]
    return _text(said), [_call(item) for item in items[:CALLS_LIMIT]]


def _write_plain(text: str, calls: Sequence[Json]) -> list[Piece]:
    pieces = [Piece(text)] if text else []
    for call in calls:
        pieces += [Piece("<|call|>", True), Piece(f"{call['name']} {as_json(_arguments(call))}")]
    return pieces


def _read_plain(text: str) -> tuple[str, list[Json]]:
    return _marked(text, "<|call|>", _named)


_NAME = re.compile(r"\s*([^\s{<]*)\s*")


def _named(text: str) -> tuple[Json, str]:
    """A call that is a name and, behind it, an object; or nothing behind it."""
    found = _NAME.match(text)
    assert found is not None
    name, rest = found.group(1), text[found.end() :]
    if not rest or rest.startswith("<|call|>"):
        return call_of({"function": {"name": name}}), rest
    try:
        arguments, rest = _value(rest)
    except ValueError:
        return _unreadable(name[:200]), rest
    return call_of({"function": {"name": name, "arguments": arguments}}), rest


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


def dialect_of(template: str, tokens: Iterable[str] = ()) -> Dialect:
    """The format that a chat template teaches, else one that a tokenizer has `tokens` for.

    `hermes`, which we then teach ourselves, where there is neither.
    """
    said = (each for each in DIALECTS if any(sign in template for sign in each.signs))
    known = (each for each in DIALECTS if not frozenset(each.signs).isdisjoint(tokens))
    return next(said, None) or next(known, HERMES)
