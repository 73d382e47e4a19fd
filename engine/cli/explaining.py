"""`env explain`: why each check, fact, twin, trap and step of an environment is there.

Knows how reasons are laid out. Does not know them (`worlds.synth.explaining`).
"""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ...worlds.reading import read_environment
from ...worlds.synth.explaining import Explanation, Reason
from ...worlds.synth.explaining import explain as explained
from ..printable import printable
from ..validation import case_of
from .interrupts import run_until_interrupted
from .options import json_option
from .places import only_one
from .screen import Screen, print_json, say, screen

_PARTS = {
    "checks": ("Checks", "what it looks for", "who fails it"),
    "facts": ("Facts", "in the twins", "where it is used"),
    "twins": ("Twins", "what it flips", "who falls short only there"),
    "traps": ("Traps", "ceiling and score", "what it fails"),
    "steps": ("Steps", "what it does", "what fails without it"),
}
"""By part of an explanation: its title, and what its last two columns say."""


@click.command("explain", short_help="Say why everything in one is there.")
@click.argument("name", metavar="ENV")
@json_option
def explain(name: str, as_json: bool) -> None:
    """Say of each check, fact, twin, trap and step whose it is, and what would go unnoticed without it.

    A capability's name begins the names of all that it brought (`a1-asked`); the rest is the core. What is needed is
    found by playing the traps, the oracle without each step, and mutants of it, in the base and in all twins.

    \b
    coworkenv env explain refund
    """
    path = only_one(name)
    environment = read_environment(path)

    async def work() -> Explanation:
        return await explained(await case_of(environment))

    explanation = run_until_interrupted(work)
    if as_json:
        print_json({"file": str(path), "id": environment.id, **msgspec.to_builtins(explanation)})
        return
    out = screen()
    say(out, (printable(environment.id), "bold"), f"  {printable(environment.title)}")
    for part, (title, what, needed) in _PARTS.items():
        reasons: Sequence[Reason] = getattr(explanation, part)
        if reasons:
            _print(out, title, what, needed, reasons)


def _print(out: Screen, title: str, what: str, needed: str, reasons: Sequence[Reason]) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    table.add_column(title, overflow="fold", max_width=28)
    table.add_column("of", no_wrap=True)
    table.add_column(what, overflow="fold")
    table.add_column(needed, overflow="fold", ratio=1)
    for reason in reasons:
        table.add_row(Text(printable(reason.name), "bold"), Text(reason.owner), _said(reason), _needed(reason))
    out.print(table, soft_wrap=False)


def _said(reason: Reason) -> Text:
    text = Text(printable(reason.what))
    if reason.why:
        text.append(f"\n{printable(reason.why)}", "dim")
    return text


def _needed(reason: Reason) -> Text:
    words = [printable(agent) for agent in reason.needed]
    if reason.mutants:
        words.append(f"{len(reason.mutants)} mutant{'s' if len(reason.mutants) > 1 else ''}")
    return Text(", ".join(words)) if words else Text("–", "dim")
