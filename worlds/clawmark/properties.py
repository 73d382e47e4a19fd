"""Properties of database rows: from what somebody writes, by a schema, to what is kept, and to plain values.

Knows the property types that tasks use, and what their service would refuse. Does not know rows or databases.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ...events.event import Json
from .verbs import Refused

TEXTS = ("title", "rich_text")
_LINES = ("email", "url", "phone_number")
_CHOICES = ("select", "status")
KINDS = (*TEXTS, *_LINES, *_CHOICES, "number", "multi_select", "date", "checkbox")
_LONGEST = 2000
"""Characters of one piece of text."""


def kind_of(schema: Json) -> str:
    """The type of a property, from its schema (`{"select": {…}}`). Raises Refused."""
    if isinstance(schema, Mapping):
        for kind in KINDS:
            if kind in schema:
                return kind
    raise Refused(f"A property must be one of {', '.join(KINDS)}; it is {_short(schema)}.")


def empty(kind: str) -> Json:
    """What a property that nobody has written holds."""
    if kind == "checkbox":
        return False
    return [] if kind in (*TEXTS, "multi_select") else None


def kept(name: str, kind: str, given: Json) -> Json:
    """What is kept of a value. It may be written as the service's own form has it (`{"select": {"name": …}}`), or
    plainly. Raises Refused."""
    if (
        isinstance(given, Mapping)
        and not (kind == "date" and "start" in given)
        and not (kind in _CHOICES and "name" in given)
    ):
        stated = [each for each in given if each not in ("id", "type")]
        if stated != [kind]:
            raise Refused(f"{name} is a {kind}; what was given for it is {_short(given)}.")
        given = given[kind]
    if kind in TEXTS:
        return _pieces(name, given)
    if given is None or (given == "" and kind not in ("number", "checkbox")):
        return empty(kind)
    if kind in _CHOICES:
        return {"name": _option(name, given)}
    if kind == "multi_select":
        return [{"name": _option(name, each)} for each in (given if isinstance(given, list) else [given])]
    if kind == "number" and isinstance(given, int | float | Decimal) and not isinstance(given, bool):
        return given
    if kind == "checkbox" and isinstance(given, bool):
        return given
    if kind in _LINES and isinstance(given, str):
        return given
    if kind == "date":
        return _date(name, given)
    raise Refused(f"{name} is a {kind}; what was given for it is {_short(given)}.")


def options_of(kind: str, value: Json) -> list[str]:
    """The options that a kept value names."""
    if kind in _CHOICES and value is not None:
        return [value["name"]]
    return [each["name"] for each in value] if kind == "multi_select" else []


def plain(kind: str, value: Json) -> Json:
    """A kept value as people read it."""
    if kind in TEXTS:
        return "".join(piece["plain_text"] for piece in value)
    if kind in _CHOICES:
        return None if value is None else value["name"]
    if kind == "multi_select":
        return [each["name"] for each in value]
    if kind == "date" and value is not None and value["end"] is None:
        return value["start"]
    return value


def _pieces(name: str, given: Json) -> list[Json]:
    pieces = given if isinstance(given, list) else [] if given is None else [given]
    if isinstance(given, int | float | Decimal) and not isinstance(given, bool):
        raise Refused(f"{name} is a text; write {_short(given)} as one.")
    return [_piece(name, piece) for piece in pieces if piece != ""]


def _piece(name: str, piece: Any) -> Json:
    text = piece
    if isinstance(piece, Mapping):
        text = piece.get("text", {})
        text = text.get("content") if isinstance(text, Mapping) else None
        text = piece.get("plain_text") if text is None else text
    if not isinstance(text, str):
        raise Refused(f"{name} is a text; a part of what was given for it is {_short(piece)}.")
    if len(text) > _LONGEST:
        raise Refused(f"{name} has a piece of text of {len(text)} characters; one piece has at most {_LONGEST}.")
    return {"type": "text", "text": {"content": text}, "plain_text": text}


def _option(name: str, given: Any) -> str:
    option = given.get("name") if isinstance(given, Mapping) else given
    if not isinstance(option, str) or not option:
        raise Refused(f"{name} takes the name of an option; what was given for it is {_short(given)}.")
    if "," in option:
        raise Refused(f"{name} takes options without a comma; {option!r:.80} has one.")
    return option


def _date(name: str, given: Any) -> Json:
    given = {"start": given} if isinstance(given, str) else given
    if not isinstance(given, Mapping) or not isinstance(given.get("start"), str):
        raise Refused(f"{name} is a date; what was given for it is {_short(given)}.")
    return {part: given.get(part) for part in ("start", "end", "time_zone")}


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
