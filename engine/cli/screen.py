"""Where output goes: a terminal, a pipe, or a program that reads JSON.

Knows consoles. Does not know what is printed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import NoReturn, TextIO

import click
from rich.console import Console
from rich.text import Text

from ...events.event import Json
from ..printable import as_json
from .ascii import in_ascii, shows_drawings

PIPED_WIDTH = 100
"""Cells of a line where there is no terminal to ask."""


class Screen(Console):
    """A console that lets a closed pipe be an error like any other."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def screen() -> Screen:
    """Standard output. Nothing is read as markup, and no colour is guessed from what a text says."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    file: TextIO = sys.stdout if shows_drawings(sys.stdout) else in_ascii(sys.stdout)
    return Screen(
        file=file,
        width=None if known else PIPED_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=True,
    )


def say(console: Console, *parts: str | Text | tuple[str, str]) -> None:
    """One line, or several; those too long for the terminal are wrapped between words."""
    console.print(Text.assemble(*parts), soft_wrap=not console.is_terminal)


def print_json(value: Json) -> None:
    """One value on one line of standard output; in ASCII, if that is all it takes."""
    text = as_json(value)
    click.echo(text if shows_drawings(sys.stdout) else re.sub(r"[^\x00-\x7f]+", _escaped, text))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
