"""Tables on screens of any width: what matters stays, and a program gets everything."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from coworkenv.engine.cli.screen import Screen
from coworkenv.engine.cli.tables import ending, print_table
from tests.engine.test_printable import texts

TWINS = ["", "@fish", "@later", "@more-guests", "@no-interruption"]
TRAPS = ["oracle", "trap:ignores-interruption", "trap:old-approval", "openai:gpt-5", "noop"]
COLUMNS = {
    "episode": ["84effdfb69", "06af2daba2", "4056240769", "d3bdbf50c1", "c2f3d89292"],
    "environment": [f"office.late-change/0001{twin}" for twin in TWINS],
    "agent": TRAPS,
    "seed": ["1234"] * 5,
    "result": [Text("0.00 failed"), Text("suspended"), Text("running"), Text("1.00 passed"), Text("0.50 failed")],
    "events": ["28"] * 5,
    "when": ["02 Dec 01:25"] * 5,
}


def drawn(width: int, terminal: bool = True) -> list[str]:
    file = io.StringIO()
    out = Screen(file=file, width=width, force_terminal=terminal, color_system=None, soft_wrap=True)
    print_table(out, COLUMNS, spare=("seed", "when", "events"), right=("seed", "events"))
    return [line for line in file.getvalue().splitlines() if line.strip()]


def test_a_terminal_that_is_wide_enough_shows_everything() -> None:
    assert drawn(200) == drawn(20, terminal=False)
    for cells in COLUMNS.values():
        for line, cell in zip(drawn(200)[2:], cells):
            assert str(cell) in line


@pytest.mark.parametrize("width", range(52, 130))
def test_ids_and_results_are_never_cut(width: int) -> None:
    lines = drawn(width)
    assert max(map(cell_len, lines)) <= width
    for line, episode, result in zip(lines[2:], COLUMNS["episode"], COLUMNS["result"]):
        assert str(episode) in line
        assert str(result) in line


def test_eighty_columns_keep_the_names_of_twins_and_traps() -> None:
    lines = drawn(80)
    for line, twin, trap in zip(lines[2:], TWINS, TRAPS):
        assert twin in line
        assert trap in line


def test_columns_go_in_the_order_given() -> None:
    headings = [set(drawn(width)[0].split()) for width in range(200, 60, -1)]
    gone = [name for name in ("seed", "when", "events") for heads in headings if name not in heads]
    firsts = [next((n for n, heads in enumerate(headings) if name not in heads), None) for name in dict.fromkeys(gone)]
    assert firsts == sorted(firsts)
    assert len(firsts) == 3


@given(texts, texts, st.integers(5, 40))
def test_a_name_fits_and_keeps_its_end_if_that_fits(head: str, end: str, cells: int) -> None:
    end = end.replace("@", "")
    name = f"{head}@{end}"
    short = ending(name, cells, "@")
    if "\x1b" not in name and name.isprintable():
        assert cell_len(short) <= cells
    if cell_len(end) < cells and end:
        assert short.endswith(end)
    assert ending(name, cell_len(name), "@") == name
