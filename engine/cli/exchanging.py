"""`export` and `import`: episodes as single files.

Knows files. Does not know the format.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import msgspec

from ...events.exchange import SUFFIX, check_import, export_episode, import_episode
from ..grading import read_grading
from ..printable import printable
from .failures import Told
from .options import json_option, log_option, opened
from .results import SHORT
from .screen import print_json, say, screen


@click.command("export", short_help="Write an episode into a file.")
@click.argument("name", metavar="ID")
@click.option("--output", "-o", type=click.Path(), metavar="FILE", help=f"[default: the id, and {SUFFIX}]; - is stdout")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@log_option
@json_option
def export(name: str, output: str | None, force: bool, log_path: str, as_json: bool) -> None:
    """Write an episode with its gradings into one file: the same episode always gives the same bytes.

    \b
    coworkenv export 3f2a -o refund.episode.jsonl.gz
    """
    with opened(log_path) as log:
        row = log.row(name)
        if output == "-":
            export_episode(log, row.id, sys.stdout.buffer)
            return
        path = Path(output or f"{row.id}{SUFFIX}")
        if path.exists() and not force:
            raise Told(f"{path} is there already; --force replaces it")
        part = path.with_name(f".{path.name}.part")
        try:
            with part.open("wb") as file:
                export_episode(log, row.id, file)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
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
        if not Path(path).is_file():
            raise Told(f"there is no file {path!r}")
    with opened(log_path, create=True) as log:
        for path in paths if len(paths) > 1 else ():
            with open(path, "rb") as file:
                check_import(log, file)
        for path in paths:
            with open(path, "rb") as file:
                rows = import_episode(log, file)
            for row in rows:
                if row.kind == "grading" and row.status == "ended":
                    graded = read_grading(log, row.id)
                    log.put_grade(graded.episode, graded.grader, msgspec.to_builtins(graded))
                if as_json:
                    print_json({"file": path, **msgspec.to_builtins(row)})
                elif row.kind == "episode":
                    say(screen(), f"{row.id[:SHORT]}: {row.count} events, from {printable(path)}")
