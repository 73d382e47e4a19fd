"""`export` and `import`: episodes as single files.

Knows files. Does not know the format.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from ...events.errors import DamagedExport, ExportTooLarge, NewerFormat, StreamDiffers
from ...events.exchange import SUFFIX, check_import, export_episode, import_episode
from ...events.log import Log, StreamRow
from ...events.memory import MemoryLog
from ..claw_eval.grading import export_trace
from ..files import writing_whole
from ..grading import read_grading
from ..printable import printable
from .failures import Told
from .options import json_option, log_option, opened
from .results import SHORT
from .screen import print_json, say, screen

OURS, TRACE = "episode", "claw-eval"


@click.command("export", short_help="Write an episode into a file.")
@click.argument("name", metavar="ID")
@click.option("--output", "-o", type=click.Path(), metavar="FILE", help=f"[default: the id, and {SUFFIX}]; - is stdout")
@click.option("--format", "format_", default=OURS, type=click.Choice([OURS, TRACE]), help="claw-eval: a trace of it.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@log_option
@json_option
def export(name: str, output: str | None, format_: str, force: bool, log_path: str, as_json: bool) -> None:
    """Write an episode with its gradings into one file: the same episode always gives the same bytes.

    As a trace, an episode of a Claw-Eval task is what that benchmark's own readers and graders take, with its grade.

    \b
    coworkenv export 3f2a -o refund.episode.jsonl.gz
    coworkenv export 3f2a --format claw-eval -o traces/T001_3f2a.jsonl
    """
    with opened(log_path) as log:
        row = log.row(name)
        write = export_episode if format_ == OURS else export_trace
        if output == "-":
            write(log, row.id, sys.stdout.buffer)
            return
        path = Path(output or f"{row.id}{SUFFIX if format_ == OURS else '.jsonl'}")
        if path.exists() and not force:
            raise Told(f"{path} is there already; --force replaces it")
        with writing_whole(path) as file:
            write(log, row.id, file)
    size = path.stat().st_size
    if as_json:
        print_json({"id": row.id, "file": str(path), "bytes": size, "events": row.count})
    else:
        say(screen(), f"{row.id[:SHORT]}: {row.count} events, {size:,} bytes in {printable(str(path))}")


@click.command("import", short_help="Read episodes from files.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@log_option
@json_option
def import_(paths: tuple[str, ...], log_path: str, as_json: bool) -> None:
    """Add exported episodes to the log. All files are checked whole before anything of them is written.

    \b
    coworkenv import *.episode.jsonl.gz
    """
    for path in paths:
        if Path(path).is_dir():
            raise Told(f"{path} is a folder; name the files in it")
        if not Path(path).is_file():
            raise Told(f"there is no file {path!r}")
    new = not Path(log_path).exists()
    if new:
        _check(MemoryLog(), paths)  # so that a file that is refused leaves no empty log behind
    with opened(log_path, create=True) as log:
        if len(paths) > 1 and not new:
            _check(log, paths)
        before = {row.id for row in log.rows()}
        for path in paths:
            with open(path, "rb") as file, _named(path):
                rows = import_episode(log, file)
            for row in rows:
                _say_imported(log, path, row, row.id in before, as_json)
            before.update(row.id for row in rows)


def _check(log: Log, paths: Sequence[str]) -> None:
    for path in paths:
        with open(path, "rb") as file, _named(path):
            check_import(log, file)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """What is wrong with a file is told with its name."""
    try:
        yield
    except (DamagedExport, ExportTooLarge, NewerFormat, StreamDiffers) as error:
        raise Told(f"{path}: {error}") from error


def _say_imported(log: Log, path: str, row: StreamRow, kept: bool, as_json: bool) -> None:
    """Tell of one stream of a file; the grade of a grading goes into the table of grades."""
    if row.kind == "grading" and row.status == "ended":
        graded = read_grading(log, row.id)
        log.put_grade(graded.episode, graded.grader, msgspec.to_builtins(graded))
    if as_json:
        print_json({"file": path, "kept": kept, **msgspec.to_builtins(row)})
    elif row.kind == "episode":
        what = "already there" if kept else f"{row.count} events"
        say(screen(), f"{row.id[:SHORT]}: {what}, from {printable(path)}")
