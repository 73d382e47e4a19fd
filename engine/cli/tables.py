"""Tables of episodes and results: as wide as what is in them, or as the terminal, and never without what matters.

Knows columns, and which of them can go. Does not know what they say. Where there is no terminal nothing is left out,
since what reads it there is a program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ..printable import elided, printable

Cell: TypeAlias = str | Text
Columns: TypeAlias = Mapping[str, Sequence[Cell]]
"""The cells of each column, by its heading, from left to right."""

ENDS: Mapping[str, str] = {"environment": "@", "agent": ":"}
"""The columns of names, and after which sign each keeps what it can: two twins, and two traps, differ there."""
_BOUNDLESS = 1_000_000


def print_table(console: Console, columns: Columns, spare: Sequence[str], right: Sequence[str]) -> None:
    """Print columns, those in `right` aligned to the right.

    On a terminal that is too narrow, the columns in `spare` are left out, the first of them first, and then the names
    are shortened; all else stays, even if the lines are then too long.
    """
    kept = {name: [_cell(cell) for cell in cells] for name, cells in columns.items()}
    for name in (*spare, ""):
        table = _table(kept, right)
        wide = console.measure(table, options=console.options.update(width=_BOUNDLESS)).maximum
        if not console.is_terminal or wide <= console.width:
            break
        kept.pop(name, None)
    else:
        table = _table(_narrowed(kept, wide - console.width), right)
    console.print(_AsWide(table), crop=False, no_wrap=True)


def _cell(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(printable(cell))


def _table(columns: Mapping[str, Sequence[Text]], right: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=True)
    for row in zip(*columns.values()):
        table.add_row(*row)
    return table


class _AsWide:
    """Something drawn as wide as it is, however wide the screen may be."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self._inner, options.update(width=_BOUNDLESS))


def _narrowed(columns: Mapping[str, Sequence[Text]], excess: int) -> dict[str, Sequence[Text]]:
    """The columns with names in `excess` cells less than they take."""
    names = [name for name in ENDS if name in columns]
    wanted = [max(cell_len(name), *(cell.cell_len for cell in columns[name])) for name in names]
    least = [max(8, *(cell_len(_end(cell.plain, ENDS[name])) + 1 for cell in columns[name])) for name in names]
    widths = dict(zip(names, shares(sum(wanted) - excess, wanted, least)))
    return {
        name: [Text(ending(cell.plain, widths[name], ENDS[name])) for cell in cells] if name in widths else cells
        for name, cells in columns.items()
    }


def shares(room: int, wanted: Sequence[int], least: Sequence[int]) -> list[int]:
    """How wide columns may be that have `room` together: what they want, cut to `least` from the left, then evenly."""
    widths = list(wanted)
    for place, floor in enumerate(least):
        widths[place] -= max(0, min(widths[place] - floor, sum(widths) - room))
    while sum(widths) > room and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    return widths


def ending(name: str, cells: int, sign: str) -> str:
    """A name in at most `cells` cells, with all that follows `sign` if that fits."""
    if cell_len(name) <= cells:
        return name
    end = _end(name, sign)
    room = cells - cell_len(end) - len(sign)
    if end == name or room < 0:
        return elided(end, cells)
    head = name.removesuffix(end).removesuffix(sign)
    return f"{elided(head, room)}{sign}{end}" if room > 3 else f"…{end}"


def _end(name: str, sign: str) -> str:
    return name.rpartition(sign)[2]
