"""`learn reproduce`: are the numbers of a run what its logs say?

Knows command lines. Does not know how anything is graded or trained again.
"""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from ...engine.cli.failures import Told
from ...engine.cli.learning import progress
from ...engine.cli.options import json_option
from ...engine.cli.root import warn
from ...engine.cli.screen import print_json, say, screen
from ...engine.printable import printable
from .guard import told

SHOWN = 10
"""Numbers that came out otherwise and are shown."""


@click.command("reproduce", short_help="Check the numbers of a run against its logs.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@json_option
def reproduce(run: Path, as_json: bool) -> int:
    """Grade every episode anew that a run, or a folder of `evaluate`, tells of, and compare each number, exactly.

    Nothing is played, and no weights are needed: scores follow from logs alone. The exit code is 1 if one differs.

    \b
    coworkenv learn reproduce runs/a
    """
    with told():
        from ..bootstrap import NothingToCompare
        from ..models import read_rendering
        from ..reproducing import count, regrade
        from ..runs import Run, is_run, model_folder

        if not run.is_dir():
            raise Told(f"{run} is no folder; name a run, or what `evaluate` has written")
        try:
            kept = is_run(run) and Run.open(run).checkpoints()
            rendering = read_rendering(model_folder(run, "last")) if kept else None
            with progress(count(run), as_json) as advance:
                found = regrade(run, rendering, advance)
        except NothingToCompare as error:
            raise Told(str(error)) from None
    if not found.numbers:
        raise Told(f"{run} tells of no episode, so there is nothing to grade anew")
    if as_json:
        print_json({"type": "reproduced", "good": found.good, **msgspec.to_builtins(found, enc_hook=str)})
        return int(not found.good)
    for each in found.deviations[:SHOWN]:
        warn(printable(each.says))
    if len(found.deviations) > SHOWN:
        warn(f"and {len(found.deviations) - SHOWN} more")
    outcome = ("all the same", "green") if found.good else (f"{len(found.deviations)} differ", "red")
    say(
        screen(),
        f"{found.episodes} episodes of {found.rows} rows and {found.evaluations} evaluations graded anew, "
        f"{found.numbers} numbers compared: ",
        outcome,
    )
    return int(not found.good)


commands: list[click.Command] = [reproduce]
