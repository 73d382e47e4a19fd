"""Where output goes: a terminal, a pipe, or a program that reads JSON.

Knows consoles. Does not know what is printed.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click
from rich.console import Console
from rich.text import Text

from ...events.event import Json
from ..printable import as_json

PIPED_WIDTH = 100
"""Cells of a line where there is no terminal to ask."""


class Screen(Console):
    """A console that lets a closed pipe be an error like any other."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def screen() -> Screen:
    """Standard output. Nothing is read as markup, and no colour is guessed from what a text says."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Screen(
        file=sys.stdout,
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
    """One value on one line of standard output."""
    click.echo(as_json(value))
