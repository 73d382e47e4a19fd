"""`list` and `show`: what is in a log, and what happened in one of its episodes.

Knows which view was asked for. Does not know how it is drawn (`engine.show`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from ...agents.pictures import is_part
from ...events.coherence import events_of
from ...events.event import EffectRequested, Event, Json
from ...events.log import Log, StreamRow
from ..clocks import clock_time, day, length
from ..effects import prompt_after
from ..failing import TRACEBACK
from ..grading import read_grading
from ..plan import document_of, world_from
from ..printable import as_json as json_text
from ..printable import printable, printable_lines
from ..replay import state_after
from ..show import conversation, event_line, moments_json, start_of, state_lines, timeline
from ..story import story
from .checking import say_grade
from .failures import Told
from .grades import grades_of
from .options import SEQ, json_option, log_option, opened, whole
from .results import SHORT, grade_text, name_of
from .screen import Screen, print_json, say, screen
from .tables import print_table

STATUS = {"ended": "", "suspended": "yellow", "running": "cyan"}


@click.command("list", short_help="List the episodes of a log.")
@click.option("--environment", "-e", metavar="GLOB", help="Only environments (id or id@twin) that match.")
@click.option("--agent", "-a", metavar="GLOB", help="Only agents that match.")
@click.option("--status", type=click.Choice(["ended", "suspended", "running"]), help="Only with this status.")
@click.option("--failed", is_flag=True, help="Only those whose grade is not a pass.")
@click.option("--last", type=whole(1, 2**31), help="Only the newest N.")
@log_option
@json_option
def list_(
    environment: str | None,
    agent: str | None,
    status: str | None,
    failed: bool,
    last: int | None,
    log_path: str,
    as_json: bool,
) -> None:
    """List the episodes of a log, oldest first.

    \b
    coworkenv list --environment 'finance.*' --failed
    """
    with opened(log_path) as log:
        grades = grades_of(log)
        rows = [
            row
            for row in log.rows(kind="episode", status=status)
            if (environment is None or fnmatchcase(name_of(row), environment))
            and (agent is None or fnmatchcase(row.agent, agent))
            and (not failed or (row.id in grades and not grades[row.id]["passed"]))
        ]
    rows = rows[-last:] if last else rows
    if as_json:
        for row in rows:
            grade = grades.get(row.id)
            print_json({**msgspec.to_builtins(row), "grade": grade})
        return
    out = screen()
    if not rows:
        say(out, "No episodes.")
        return
    _print_list(out, rows, grades)


def _print_list(out: Screen, rows: Sequence[StreamRow], grades: Mapping[str, Any]) -> None:
    columns: dict[str, list[str | Text]] = {
        "episode": [Text(row.id[:SHORT], "dim") for row in rows],
        "environment": [name_of(row) + (f" ⑂ {row.parent[:4]}" if row.parent else "") for row in rows],
        "agent": [row.agent for row in rows],
        "seed": [str(row.seed) for row in rows],
        "result": [_result(row, grades.get(row.id)) for row in rows],
        "events": [str(row.count) for row in rows],
        "when": [Text(datetime.fromtimestamp(row.created).strftime("%d %b %H:%M"), "dim") for row in rows],
    }
    print_table(out, columns, spare=("seed", "when", "events"), right=("seed", "events"))


def _result(row: StreamRow, grade: Mapping[str, Any] | None) -> Text:
    return grade_text(grade["score"], grade["passed"]) if grade else Text(row.status, STATUS[row.status])


# --- show --------------------------------------------------------------------------------------------------


@click.command(short_help="Show what happened in an episode.")
@click.argument("name", metavar="ID")
@click.option("--events", "view", flag_value="events", help="Every event on a line.")
@click.option("--messages", "view", flag_value="messages", help="Every message in full.")
@click.option("--state", "view", flag_value="state", help="The records at the end.")
@click.option("--at", type=SEQ, help="Only up to event N; with --state the records then.")
@click.option("--prompt", type=SEQ, help="The whole prompt of the request that event N is.")
@click.option("--event", "single", type=SEQ, help="Event N in full, and what was observed then.")
@click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw it into an SVG file."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@log_option
@json_option
def show(
    name: str,
    view: str | None,
    at: int | None,
    prompt: int | None,
    single: int | None,
    svg: Path | None,
    force: bool,
    log_path: str,
    as_json: bool,
) -> None:
    """Draw an episode as a timeline: one lane an actor, messages as arrows between them, in virtual time.

    \b
    coworkenv show 3f2a --at 57
    coworkenv show 3f2a --state
    """
    if svg is not None and svg.exists() and not force:
        raise Told(f"{svg} is there already; --force replaces it")
    with opened(log_path) as log:
        row = log.row(name)
        events = events_of(log, row.id, None if at is None else at + 1)
        if at is not None and at >= len(events):
            raise Told(f"episode {row.id} has {row.count} events; there is no event {at}")
        if prompt is not None:
            _show_prompt(events, prompt, as_json)
        elif single is not None:
            _show_event(log, row, events, single, as_json)
        elif as_json:
            print_json(_plain(log, row, events, view))
        elif row.kind == "grading" and row.of is not None:
            say_grade(screen(), log.row(row.of), read_grading(log, row.id))
        elif svg is not None:
            _draw(log, row, events, svg)
        else:
            _print(screen(), log, row, events, view)


def _plain(log: Log, row: StreamRow, events: Sequence[Event], view: str | None) -> Json:
    data: dict[str, Json] = {"episode": msgspec.to_builtins(row), "grade": grades_of(log, row.id).get(row.id)}
    if view == "state":
        return {**data, "state": state_after(world_from(document_of(events)), events).plain()}
    if view is None:
        return {**data, "moments": moments_json(story(events))}
    wanted = [event for event in events if view == "events" or event.type == "message.sent"]
    return {**data, "events": [msgspec.structs.asdict(event) for event in wanted]}


def _print(out: Console, log: Log, row: StreamRow, events: Sequence[Event], view: str | None) -> None:
    for line in _lines(log, row, events, view, out.width):
        out.print(line, soft_wrap=view != "messages" or not out.is_terminal)


def _lines(log: Log, row: StreamRow, events: Sequence[Event], view: str | None, width: int) -> Iterator[Text]:
    start = start_of(events)
    yield _heading(log, row, events)
    if view == "events":
        yield from (event_line(event, start, width) for event in events)
    elif view == "messages":
        yield from conversation(events, width)
    elif view == "state":
        yield from state_lines(state_after(world_from(document_of(events)), events).plain(), width)
    else:
        yield from timeline(events, width)
        if row.status != "ended":
            yield Text.assemble((row.status, "bold yellow"), f": {printable(row.reason) or 'it can go on'}")


def _heading(log: Log, row: StreamRow, events: Sequence[Event]) -> Text:
    """Who played what, how it went, and when."""
    start, last = start_of(events), events[-1].at if events else 0
    line = Text.assemble((row.id, "bold"), "  ", printable(name_of(row)), "  ", (printable(row.agent), "bold"))
    grade = grades_of(log, row.id).get(row.id)
    if grade is not None:
        line.append("  ").append_text(grade_text(grade["score"], grade["passed"]))
    clock = f"{clock_time(start, 0)} to {clock_time(start, last)}, {length(last)}"
    line.append(f"\nseed {row.seed}, trial {row.trial}; {day(start)}, {clock} of virtual time", "dim")
    if row.parent is not None:
        line.append(f"\na fork of {row.parent}", "yellow")
    return line


def _draw(log: Log, row: StreamRow, events: Sequence[Event], file: Path) -> None:
    width = 110
    with Path("/dev/null").open("w") as nowhere:
        canvas = Console(record=True, width=width, file=nowhere, force_terminal=True, color_system="truecolor")
        for line in _lines(log, row, events, None, width):
            canvas.print(line, soft_wrap=True)
        drawing = canvas.export_svg(title=f"coworkenv show {row.id[:SHORT]}")
        # The fonts that it would load from a server: a picture should not need one.
        file.write_text(re.sub(r"@font-face \{[^}]*\}\s*", "", drawing), "utf-8")
    say(screen(), f"Drawn into {printable(str(file))}.")


def _show_event(log: Log, row: StreamRow, events: Sequence[Event], seq: int, as_json: bool) -> None:
    if seq >= len(events):
        raise Told(f"there is no event {seq}; the last is {len(events) - 1}")
    observed = [seen for seen in log.observations(row.id) if seen.seq == seq]
    event = msgspec.structs.asdict(events[seq])
    if as_json:
        sizes = [{"name": seen.name, "bytes": len(seen.content)} for seen in observed]
        print_json({**event, "observed": sizes})
        return
    print_json(event)
    out = screen()
    for seen in observed:
        say(out, ("observed ", "dim"), (printable(seen.name), "bold"), f", {len(seen.content):,} bytes")
        if seen.name == TRACEBACK:
            for line in printable_lines(seen.content.decode("utf-8", "replace")):
                out.print(Text(f"  {line}".rstrip()), soft_wrap=True)


def _show_prompt(events: Sequence[Event], seq: int, as_json: bool) -> None:
    prompt = prompt_of(events, seq)
    if as_json:
        print_json({"effect": seq, "prompt": prompt})
        return
    out: Screen = screen()
    for message in prompt:
        if isinstance(message, dict):
            for line in _message_lines(message):
                say(out, line)


def _message_lines(message: Mapping[str, Json]) -> Iterator[Text]:
    """One message of a prompt: who, then their words; tools and calls on a line each."""
    yield Text(f"── {printable(str(message.get('role', 'tools')))}", "bold cyan")
    content = message.get("content")
    if isinstance(content, str):
        yield from map(Text, printable_lines(content))
    for each in content if isinstance(content, list) else ():
        yield from map(Text, printable_lines("[a picture]" if is_part(each) else str(each.get("text", ""))))
    for tool in message.get("tools") or ():
        function = tool.get("function", tool) if isinstance(tool, dict) else {}
        arguments = function.get("parameters", {}).get("properties", {})
        yield Text(printable(f"  {function.get('name')}({', '.join(arguments)})"), "dim")
    rest = {name: value for name, value in message.items() if name not in ("role", "content", "tools")}
    if rest:
        yield Text(json_text(rest), "dim")


def prompt_of(events: Sequence[Event], seq: int) -> list[Json]:
    """The whole prompt of a request: the changes of all requests of its actor and kind up to it, one upon another."""
    asked = events[seq] if seq < len(events) else None
    if asked is None or not isinstance(asked.body, EffectRequested):
        there = [str(event.seq) for event in events if isinstance(event.body, EffectRequested)]
        many = (
            f"; requests are {', '.join(there[:12])}{' …' if len(there) > 12 else ''}" if there else "; there is none"
        )
        raise Told(f"event {seq} is not a request to the outside world{many}")
    prompt: list[Json] = []
    for event in events[: seq + 1]:
        body = event.body
        if isinstance(body, EffectRequested) and (event.actor, body.kind) == (asked.actor, asked.body.kind):
            prompt = prompt_after(prompt, body.prompt)
    return prompt
