"""`diff` and `stats`: where two episodes part, and what can be counted.

Knows how a comparison is laid out. Does not know how streams are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.text import Text

from ...events.coherence import events_of
from ...events.event import Event, Json
from ..clocks import clock_time, length
from ..differing import Change, Difference, difference
from ..printable import brief, printable
from ..show import start_of
from ..statistics import Statistics, statistics, together
from ..story import Moment, story
from .options import chosen, json_option, log_option, opened
from .results import SHORT, name_of
from .screen import Screen, print_json, say, screen

SIDE_BY_SIDE = 12
"""Moments that are shown on either side, from where two episodes part."""


@click.command(short_help="Show where two episodes part.")
@click.argument("left", metavar="ID1")
@click.argument("right", metavar="ID2")
@log_option
@json_option
def diff(left: str, right: str, log_path: str, as_json: bool) -> int:
    """Show the first event in which two episodes differ, and what happened from there on, side by side.

    Exit code 1 if they differ in what happened.

    \b
    coworkenv diff 3f2a 81c0
    """
    with opened(log_path) as log:
        rows = [log.row(left), log.row(right)]
        one, other = (events_of(log, row.id) for row in rows)
    found = difference(one, other)
    if as_json:
        print_json({"left": rows[0].id, "right": rows[1].id, **_plain(found)})
        return int(found.seq is not None)
    out = screen()
    if not found.same_environment:
        say(out, ("They play in different environments.", "yellow"))
    for side, row in zip("<>", rows):
        say(
            out,
            (f"{side} {row.id[:SHORT]}", "bold"),
            f"  {printable(name_of(row))}  {printable(row.agent)}  seed {row.seed}",
        )
    for change in found.began:
        say(out, *_words(change))
    if found.seq is None:
        say(out, f"What happened is the same, in all {len(one)} events.")
        return 0
    say(out, ("The same up to event ", ""), (str(found.seq - 1), "bold"), "; then:")
    for change in found.changes[:12]:
        say(out, *_words(change))
    _side_by_side(out, one, other, found.seq)
    return 1


def _plain(found: Difference) -> dict[str, Json]:
    return {
        "began": msgspec.to_builtins(found.began),
        "same_environment": found.same_environment,
        "seq": found.seq,
        "changes": [{"path": c.path, "left": c.left, "right": c.right} for c in found.changes],
        "left_event": found.left and msgspec.structs.asdict(found.left),
        "right_event": found.right and msgspec.structs.asdict(found.right),
    }


def _words(change: Change) -> list[str | tuple[str, str]]:
    return [
        (f"  {printable(change.path)}: ", "bold"),
        (brief(change.left, 70), "red"),
        " ≠ ",
        (brief(change.right, 70), "green"),
    ]


def _side_by_side(out: Screen, left: Sequence[Event], right: Sequence[Event], seq: int) -> None:
    columns = [_column(events, seq, (out.width - 3) // 2) for events in (left, right)]
    height = max(map(len, columns))
    blank = Text(" " * ((out.width - 3) // 2))
    for place in range(height):
        one, other = (column[place] if place < len(column) else blank for column in columns)
        line = Text.assemble(one, (" │ ", "dim"), other)
        line.rstrip()
        out.print(line, soft_wrap=True)


def _column(events: Sequence[Event], seq: int, width: int) -> list[Text]:
    """What happened from event `seq` on, each line as wide as the column."""
    start = start_of(events)
    moments = [moment for moment in story(events) if moment.seqs[-1] >= seq]
    lines = [_moment(moment, clock_time(start, moment.at), width) for moment in moments[:SIDE_BY_SIDE]]
    if len(moments) > SIDE_BY_SIDE:
        lines.append(Text(f"… and {len(moments) - SIDE_BY_SIDE} more", "dim"))
    if not moments:
        lines.append(Text("(has ended)", "dim"))
    for line in lines:
        line.truncate(width, overflow="ellipsis", pad=True)
    return lines


def _moment(moment: Moment, clock: str, width: int) -> Text:
    line = Text.assemble(
        (f"{moment.seqs[0]:>4} ", "dim"), (f"{clock} ", "blue"), (f"{printable(moment.actor)}", "bold")
    )
    line.append(f" → {printable(moment.peer)} " if moment.peer and moment.kind != "read" else " ")
    for _, word in [*moment.words, ("plain", " "), *moment.then]:
        line.append(printable(word[: 4 * width]))
    return line


# --- stats -------------------------------------------------------------------------------------------------


@click.command(short_help="Count events, tokens, interruptions.")
@click.argument("names", nargs=-1, metavar="[ID]...")
@log_option
@json_option
def stats(names: tuple[str, ...], log_path: str, as_json: bool) -> None:
    """Count what is in the episodes named, or in all of the log, and what asynchrony did in them.

    \b
    coworkenv stats
    """
    with opened(log_path) as log:
        rows = chosen(log, names, not names, kind="episode")
        counted = together(statistics(events_of(log, row.id)) for row in rows)
    if as_json:
        print_json(msgspec.to_builtins(counted))
        return
    out = screen()
    for name, value in _figures(counted).items():
        say(out, (f"{name:<16}", "bold"), value)
    for title, counts in (("events", counted.types), ("by actor", counted.actors), ("calls of", counted.tools)):
        for name, count in sorted(counts.items(), key=lambda item: -item[1])[:12]:
            say(out, (f"{title:<16}", "dim"), f"{count:>9,}  {printable(name)}")


def _figures(counted: Statistics) -> dict[str, Any]:
    c = counted
    read = max(1, c.messages - c.unread)
    return {
        "episodes": f"{c.streams:,} with {c.events:,} events in {length(c.at)} of virtual time",
        "messages": f"{c.messages:,}, {c.unread:,} of them never read; {length(c.delays // read)} "
        "from sending to reading on average",
        "calls": f"{c.calls:,}, {c.errors:,} of them with an error; {c.faults:,} faults",
        "decisions": f"{c.decisions:,} of the agent; {c.tokens:,} tokens written, {c.prompt_tokens:,} read, "
        f"{length(c.thinking)} of thinking; {c.refused:,} refused",
        "interruptions": f"{c.cancelled:,} requests given up, {c.cut:,} answers cut, "
        f"{c.overtaken:,} overtaken by a message",
        "waits": f"{c.waits:,} in vain",
        "context": f"cut {c.context_cuts:,} times",
    }
