"""Seeded calls of a service: right ones, and ones that are wrong in all the ways that a model finds.

Knows what an endpoint declares and which records there are; the same draws give the same calls. Sends nothing. A body
is `{field: JSON text}`, so that a number can be spelled in each way there is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from coworkenv.events.event import Json
from coworkenv.worlds.claw_eval.endpoint import Endpoint, Kind
from coworkenv.worlds.claw_eval.validation import Field
from coworkenv.worlds.service import Draw

Body = dict[str, str]
Rows = Sequence[Mapping[str, Json]]

TEXTS = ("", " ", "all", "open", "medium", "Grüße an 王伟, 3 €", 'a\nb\t"c" \\ / \u2028', "x" * 300, "😀", "null", "0")
WORDS = ("anna", "ben@example.com", "外部", "a b", "")
COUNTS = (0, 1, 2, 3, 5, 7, 10, 14, 30, 60, 365, -1, -2)
NUMBERS = (
    "5",
    "5.0",
    "0.1",
    "-17.25",
    "1e2",
    "1E+2",
    "7.50",
    "328.00",
    "-0.0",
    "123456789.123456789",
    "1e16",
    "1e-7",
    "12345678901234567890",
)
WRONG = (
    *("null", "7", "7.0", "7.5", "7.50", "1e2", "true", "false", "[]", "{}", '["a"]', '["a", 1, null]', '{"a": 1.10}'),
    *("12345678901234567890", "1e17", "1e19", "-0.0", "0", "1", "2", "-1", "1000000000", "10000000000", "123456"),
    *map(json.dumps, ("7", " 7 ", "7.0", "7.5", "x", "", " ", "1_000", "1__0", "+5", "-0", "007", "0x10", "1e3", "7.")),
    *map(json.dumps, (".5", "1e400", "nan", "-Infinity", "TRUE", "on", "y", "maybe", " true", "f", "Off", "٣", "１２")),
)


def name_of_ids(kind: Kind) -> str:
    """The field that its records are looked up by, or nothing."""
    return next((endpoint.opens for endpoint in kind.endpoints if endpoint.opens), "")


def right(endpoint: Endpoint, kind: Kind, rows: Rows, draw: Draw) -> Body:
    """A body that fits, about records that exist; fields that may be left out are, now and then."""
    given = [field for field in endpoint.fields if field.required or draw.below(3)]
    return {field.name: _value(field, name_of_ids(kind), rows, draw) for field in given}


def odd(endpoint: Endpoint, kind: Kind, rows: Rows, draw: Draw) -> Body:
    """A body that fits, and asks for what is not there."""
    body = right(endpoint, kind, rows, draw)
    for name in _some(list(body), draw):
        field = next(field for field in endpoint.fields if field.name == name)
        body[name] = {
            "string": _one(
                [*map(json.dumps, TEXTS), '"2026-3-1"', '"2026-02-30"', '"tomorrow"', '"2026-03-01T09:00"'], draw
            ),
            "strings": json.dumps([_one(TEXTS, draw) for _ in range(draw.below(4))]),
            "integer": str(_one((*COUNTS, 400_000, 10_000_000, 4_000_000_000_000), draw)),
            "number": _one(NUMBERS, draw),
            "boolean": _one(("true", "false", "1", '"no"'), draw),
        }[field.kind]
    return body


def wrong(endpoint: Endpoint, kind: Kind, rows: Rows, draw: Draw) -> Body:
    """A body that has something left out, something of another kind, or something more."""
    body = right(endpoint, kind, rows, draw)
    for name in _some([field.name for field in endpoint.fields], draw):
        if draw.below(3):
            body[name] = _one(WRONG, draw)
        else:
            body.pop(name, None)
    return {**body, "comment": '"please"'} if draw.below(4) == 0 else body


def text_of(body: Body) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in body.items()) + "}"


def _one(values: Sequence[Any], draw: Draw) -> Any:
    return values[draw.below(len(values))]


def _some(names: Sequence[str], draw: Draw) -> list[str]:
    """One or two of them, where there are as many."""
    return list(dict.fromkeys(_one(names, draw) for _ in range(1 + draw.below(2)))) if names else []


def _value(field: Field, ids: str, rows: Rows, draw: Draw) -> str:
    row = _one(rows, draw) if rows else {}
    if field.kind == "strings":
        about_records = field.name in (f"{ids}s", "transactions")
        return json.dumps(
            [str(_one(rows, draw)[ids]) if about_records and rows else _one(WORDS, draw) for _ in range(draw.below(4))]
        )
    if field.kind == "integer":
        return str(_one(COUNTS, draw))
    if field.kind == "number":
        return str(_one(NUMBERS, draw))
    if field.kind == "boolean":
        return str(_one(("true", "false"), draw))
    return json.dumps(_text(field.name, ids, row, draw), ensure_ascii=False)


def _text(name: str, ids: str, row: Mapping[str, Json], draw: Draw) -> str:
    """Most of the time, something that the record has under that name or that is a part of it."""
    if ids and name.endswith(ids):
        return str(row.get(ids, "none"))
    if name in ("date", "start_date", "end_date"):
        day = str(row.get("date") or row.get("start_time") or "2026-03-02")
        return day if name != "date" and draw.below(3) == 0 else day[:10]
    if name in ("start_time", "end_time"):
        own = str(row.get(name, "2026-03-06T08:00:00Z"))
        return str(_one(("2026-03-05T10:00:00Z", "2026-03-05T18:30:00+08:00", own), draw))
    if name in ("query", "user", "tag"):
        return _part(_searched(name, row), draw)
    found = row.get({"status": _one(("status", "last_status"), draw)}.get(name, name))
    return found if isinstance(found, str) and draw.below(5) else _one(TEXTS, draw)


def _searched(name: str, row: Mapping[str, Json]) -> str:
    if name == "query":
        return str(row.get("name") or row.get("title") or "")
    among = row.get({"user": "attendees", "tag": "tags"}[name]) or [""]
    return str(among[0])


def _part(text: str, draw: Draw) -> str:
    """The whole, a piece of it, or it in other letters."""
    if not text or draw.below(2):
        return text
    start = draw.below(len(text))
    piece = text[start : start + 1 + draw.below(6)]
    return piece.upper() if draw.below(4) == 0 else piece
