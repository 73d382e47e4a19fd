"""The cells of a workbook as CSV, sheet by sheet. Knows openpyxl, which is an extra.

A formula is shown by the value that was last computed; by itself where nobody has computed it.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from itertools import zip_longest
from typing import Any

LIMIT = 2_000_000
"""Characters."""
_BLANK = 100
"""Empty rows in a stretch that are shown as such; more are counted."""


def sheets_text(data: bytes) -> tuple[str, int]:
    """The text, and how many sheets there are. Raises whatever openpyxl raises."""
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        formulas = load_workbook(io.BytesIO(data), read_only=True)
        pieces: list[str] = []
        for sheet, other in zip(values.worksheets, formulas.worksheets, strict=True):
            for each in (sheet, other):
                each.reset_dimensions()
            hidden = "" if sheet.sheet_state == "visible" else f", {sheet.sheet_state}"
            rows = _rows(sheet.iter_rows(values_only=True), other.iter_rows(values_only=True))
            pieces.append(f"[sheet {sheet.title}{hidden}]\n{_csv(rows, LIMIT - sum(map(len, pieces)))}")
    return "\n".join(pieces).rstrip("\n"), len(pieces)


def _rows(values: Iterable[Sequence[Any]], formulas: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Without what is empty at the ends; a long stretch of empty rows is one row that says how long."""
    blank = 0
    for value, formula in zip_longest(values, formulas, fillvalue=()):
        cells = [_text(v if v is not None else f) for v, f in zip_longest(value, formula)]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            blank += 1
            continue
        yield from ([] for _ in range(blank)) if blank <= _BLANK else [[f"[{blank} empty rows]"]]
        blank = 0
        yield cells


def _csv(rows: Iterable[list[str]], limit: int) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        if text.tell() > limit:
            break
    return text.getvalue()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.isoformat(" ") if value.time() != time() else value.date().isoformat()
    return value.isoformat() if isinstance(value, date | time) else str(value)
