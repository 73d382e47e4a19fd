"""Plausible arguments for a tool that nobody has explained: from its schema, the date, and the words of the request.

Knows JSON Schema as tools use it. Does not know any tool. Used by the agents that look around without a plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from ..events.event import Json
from ..worlds.service import Tool

_SEARCHES = ("query", "q", "search", "keyword", "keywords", "text", "name", "topic", "term")
_SIZES = ("limit", "max", "size", "top", "count")
_LAST_DAY = ("end", "to", "until", "before")
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|(\S+)")
_DAY = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")


def keywords(text: str) -> list[str]:
    """Words of `text` worth searching for, the most telling first: those with digits or capitals, then the longest.

    Scripts without spaces come in pieces of four characters.
    """
    words: dict[str, None] = {}
    run = ""
    for character in f"{text} ":
        if character.isalnum() or (run and character in "-_"):
            run += character
            continue
        words.update(dict.fromkeys(_pieces(run.strip("-_"))))
        run = ""

    def rank(word: str) -> tuple[bool, int]:
        return not (any(c.isdigit() for c in word) or word[:1].isupper()), -len(word)

    return sorted((word for word in words if len(word) >= 2), key=rank)


def _pieces(run: str) -> Iterator[str]:
    if run and ord(max(run)) >= 0x2E80:
        yield from (run[i : i + 4] for i in range(0, len(run), 4))
    elif len(run) >= 4:
        yield run


def places(text: str) -> list[str]:
    """Paths and web addresses that `text` names, in its order: whatever has a slash within it, quoted or not."""
    found = [
        next(filter(None, match.groups())).strip(" '()[]<>,;:!?.，。；：！？、（）") for match in _QUOTED.finditer(text)
    ]
    return list(dict.fromkeys(place for place in found if "/" in place.strip("/")))


def days(text: str, today: datetime) -> list[datetime]:
    """Days that `text` names in ISO 8601, each at the time and in the zone of `today`."""
    found: list[datetime] = []
    for year, month, day in _DAY.findall(text):
        try:
            found.append(today.replace(year=int(year), month=int(month), day=int(day)))
        except ValueError:
            continue  # A number that only looks like a day.
    return list(dict.fromkeys(found))


def required(tool: Tool) -> list[str]:
    """The arguments that a call must have."""
    names = tool.schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def plausible(tool: Tool, today: datetime, words: Sequence[str]) -> dict[str, Json]:
    """A value for each required argument of `tool`."""
    known = _properties(tool)
    return {name: _value(name, known.get(name), today, words) for name in required(tool)}


def generous(tool: Tool) -> dict[str, Json]:
    """High values for the optional arguments that say how much `tool` gives, or over how many days it looks."""
    bounds = {name: schema for name, schema in _properties(tool).items() if name not in required(tool)}
    return {
        name: 100
        for name, schema in bounds.items()
        if isinstance(schema, Mapping) and schema.get("type") == "integer"
        if "day" in name or any(part in name for part in _SIZES)
    }


def _properties(tool: Tool) -> Mapping[str, Json]:
    properties = tool.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _value(name: str, schema: Json, today: datetime, words: Sequence[str]) -> Json:
    schema = schema if isinstance(schema, Mapping) else {}
    for given in ("default", "const"):
        if given in schema:
            return schema[given]
    for choices in ("enum", "examples"):
        if isinstance(schema.get(choices), list) and schema[choices]:
            return schema[choices][0]
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), None)
    if kind in ("integer", "number"):
        return 20 if any(part in name for part in _SIZES) else 30 if "day" in name else 1
    if kind == "boolean":
        return False
    if kind == "array":
        return []
    if kind == "object":
        return {}
    return _text(name, schema, today, words)


def _text(name: str, schema: Mapping[str, Json], today: datetime, words: Sequence[str]) -> str:
    parts = name.lower().split("_")
    shape = schema.get("format")
    if any(part in _SEARCHES for part in parts):
        return words[0] if words else ""
    late = any(part in _LAST_DAY for part in parts)
    day = today + timedelta(days=7) if late else today
    if shape == "date-time" or "datetime" in parts or "time" in parts:
        return day.isoformat(timespec="seconds")
    if shape == "date" or "date" in parts or "day" in parts or late or "start" in parts:
        return day.date().isoformat()
    return words[0] if words else ""
