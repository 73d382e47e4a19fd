"""Spreadsheets of one sheet each, whose cells are texts.

Knows ranges (`Sheet1!A1:C5`) and that what is written is kept as it is: no formula, no number, no date. Each row of a
sheet is a record. Does not know what a sheet is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec

from ...events.event import Json, RecordChanged
from ..service import Instant, Outcome, Record, RecordEvent, Records
from .verbs import Nothing, Numbered, Refused, VerbService, derived_id, found, unknown, verb

NAME = "sheets"
SPREADSHEETS = Numbered(NAME, "spreadsheets")
SHEET = "Sheet1"
_RANGE = re.compile(r"(?:(?:'([^']+)'|([^'!]+))!)?([A-Za-z]{1,3})?([0-9]{1,6})?(?::([A-Za-z]{1,3})?([0-9]{1,6})?)?")
_MOST = 18_278
"""Columns: up to ZZZ."""


class Area(msgspec.Struct, frozen=True):
    """A part of a sheet: first and last row and column, counted from 0; None where it has no end."""

    top: int = 0
    left: int = 0
    bottom: int | None = None
    right: int | None = None


def area(written: str) -> Area:
    """Raises Refused."""
    written = written.strip()
    if written.strip("'") == SHEET:
        return Area()
    match = _RANGE.fullmatch(written)
    sheet = match and (match[1] or match[2])
    if not match or (sheet not in (None, SHEET)) or not any(match.groups()[2:]):
        raise Refused(f"{written[:80]!r} is no range of {SHEET}; write it like {SHEET}!A1:C5.")
    left, top, right, bottom = _column(match[3]), _row(match[4]), _column(match[5]), _row(match[6])
    if ":" not in written:
        right, bottom = left, top
    return Area(top or 0, left or 0, bottom, right)


def _column(letters: str | None) -> int | None:
    if letters is None:
        return None
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _row(digits: str | None) -> int | None:
    return None if digits is None else max(0, int(digits) - 1)


def create(records: Records, title: str) -> RecordEvent:
    key = SPREADSHEETS.next(records)
    return SPREADSHEETS.create(key, {"id": derived_id("sheet", key), "title": title})


def find(records: Records, title: str) -> Record | None:
    pair = found(records, "spreadsheets", "title", title)
    return pair and pair[1]


def grid(records: Records, sheet: str) -> list[list[str]]:
    """All rows down to the last one that has been written."""
    mine = {row["row"]: row["cells"] for row in records["rows"].values() if row["spreadsheet"] == sheet}
    return [list(mine.get(number, ())) for number in range(max(mine, default=-1) + 1)]


def values(records: Records, sheet: str, written: str) -> list[list[str]]:
    """What stands in a range, without what is empty at the ends. Raises Refused."""
    where = area(written)
    bottom = None if where.bottom is None else where.bottom + 1
    right = None if where.right is None else where.right + 1
    return _trimmed([_shorn(cells[where.left : right]) for cells in grid(records, sheet)[where.top : bottom]])


def _shorn(cells: list[str]) -> list[str]:
    while cells and cells[-1] == "":
        cells = cells[:-1]
    return cells


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    while rows and not rows[-1]:
        rows = rows[:-1]
    return rows


def update(records: Records, sheet: str, written: str, rows: Sequence[Sequence[Json]]) -> list[RecordEvent]:
    """Write rows from the corner of a range. None leaves a cell as it is. Raises Refused."""
    where = area(written)
    _known(records, sheet)
    bottom = where.bottom if where.bottom is not None else _MOST * 100
    right = where.right if where.right is not None else _MOST
    if where.top + len(rows) - 1 > bottom or any(where.left + len(row) - 1 > right for row in rows):
        raise Refused(f"The values are larger than the range {written[:80]}.")
    return list(_written(records, sheet, where.top, where.left, rows))


def append(records: Records, sheet: str, written: str, rows: Sequence[Sequence[Json]]) -> list[RecordEvent]:
    """Write rows below the last one that has something in it. Raises Refused."""
    where = area(written)
    _known(records, sheet)
    below = len(_trimmed([_shorn(cells) for cells in grid(records, sheet)]))
    return list(_written(records, sheet, below, where.left, rows))


def _known(records: Records, sheet: str) -> None:
    if found(records, "spreadsheets", "id", sheet) is None:
        raise Refused(f"There is no spreadsheet {sheet[:60]!r}.", "not_found")


def _written(
    records: Records, sheet: str, top: int, left: int, rows: Sequence[Sequence[Json]]
) -> Iterator[RecordEvent]:
    for number, new in enumerate(rows, top):
        key = f"{sheet}/{number}"
        old = records["rows"].get(key)
        cells = list(old["cells"]) if old else []
        cells += [""] * (left + len(new) - len(cells))
        for column, value in enumerate(new, left):
            if value is not None:
                cells[column] = cell(value)
        if old is None:
            yield Numbered(NAME, "rows").create(key, {"spreadsheet": sheet, "row": number, "cells": cells})
        else:
            yield RecordChanged(service=NAME, collection="rows", key=key, set={"cells": cells})


def cell(value: Json) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise Refused("A cell takes a text or a number.")
    return str(value)


# --- tools -------------------------------------------------------------------------------------------------

_Sheet = Annotated[str, msgspec.Meta(description="Its title or its id.")]
_Range = Annotated[str, msgspec.Meta(description="Such as Sheet1!A1:C5, Sheet1!D7, or Sheet1 for all of it.")]
_Rows = Annotated[list[list[Json]], msgspec.Meta(description="Rows of cells; null leaves a cell as it is.")]


def _asked(records: Records, named: str) -> str:
    for field in ("title", "id"):
        pair = found(records, "spreadsheets", field, named)
        if pair is not None:
            sheet: str = pair[1]["id"]
            return sheet
    raise unknown(records, "spreadsheets", "title", "spreadsheet", named)


def _list(_: Nothing, records: Records, now: Instant) -> Outcome:
    return Outcome({"spreadsheets": [dict(each) for each in records["spreadsheets"].values()]})


class _Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    spreadsheet: _Sheet
    range: _Range = SHEET


def _read(args: _Read, records: Records, _: Instant) -> Outcome:
    read: list[Json] = list(values(records, _asked(records, args.spreadsheet), args.range))
    return Outcome({"values": read})


class _Write(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    spreadsheet: _Sheet
    range: _Range
    values: _Rows


def _update(args: _Write, records: Records, _: Instant) -> Outcome:
    changes = update(records, _asked(records, args.spreadsheet), args.range, args.values)
    return Outcome({"rows": len(args.values)}, changes=tuple(changes))


class _Append(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    spreadsheet: _Sheet
    values: _Rows


def _append(args: _Append, records: Records, _: Instant) -> Outcome:
    changes = append(records, _asked(records, args.spreadsheet), SHEET, args.values)
    return Outcome({"rows": len(args.values)}, changes=tuple(changes))


SHEETS = VerbService(
    name=NAME,
    verbs=(
        verb("sheet_list", "All spreadsheets.", Nothing, _list, reads=True),
        verb("sheet_read", "The cells of a range.", _Read, _read, reads=True),
        verb("sheet_update", "Write cells of a range.", _Write, _update),
        verb("sheet_append", "Add rows below the last one.", _Append, _append),
    ),
)
