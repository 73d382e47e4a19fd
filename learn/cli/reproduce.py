"""`learn reproduce`: are the numbers of a run what its logs say?

Knows command lines. Does not know how anything is graded or trained again.
"""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from ...engine.cli.failures import Told
from ...engine.cli.learning import progress
from ...engine.cli.options import json_option
from ...engine.cli.root import INTERRUPTED, main, warn
from ...engine.cli.screen import print_json, say, screen
from ...engine.printable import printable
from .guard import told

SHOWN = 10
"""Numbers that came out otherwise and are shown."""


@click.command("reproduce", short_help="Check the numbers of a run against its logs.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--again", is_flag=True, help="Make the run's first steps again, and compare their weights, too.")
@json_option
def reproduce(run: Path, again: bool, as_json: bool) -> int:
    """Grade every episode anew that a run, or a folder of `evaluate`, tells of, and compare each number, exactly.

    Nothing is played, and no weights are needed: scores follow from logs alone. With --again the first steps are made
    again by the run's own command; on the same machine, with the same versions, they give the same weights, bit for
    bit. The exit code is 1 if something differs.

    \b
    coworkenv learn reproduce runs/a
    coworkenv learn reproduce runs/a --again
    """
    if again:
        return _again(run, as_json)
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
        raise Told(f"{run} tells of no episode, so there is nothing to grade anew; --again makes its first steps again")
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


def _again(run: Path, as_json: bool) -> int:
    """Make the first steps of a run again. Raises Told."""
    with told():
        from ..runs import WORDS, Run

        kept = Run.open(run)
        words, rows = kept.config.get(WORDS), _named(kept)
    if not isinstance(words, list) or not rows:
        raise Told(f"{run} does not say how it was made: it has no command, or no step that names its weights")
    with TemporaryDirectory() as scratch:
        other = Path(scratch) / "again"
        with redirect_stdout(StringIO()):
            code = main([*map(str, words), "--out", str(other), "--stop", str(max(rows)), "--json"])
        if code not in (0, INTERRUPTED):
            raise Told(f"the run's own command failed: coworkenv {' '.join(map(str, words))}")
        found = _named(Run.open(other))
    different = [step for step, weights in rows.items() if found.get(step) != weights]
    if as_json:
        print_json({"type": "again", "good": not different, "steps": len(rows), "different": different})
    elif different:
        say(screen(), f"{len(rows)} steps made again: ", (f"the weights of step {different[0]} are others", "red"))
    else:
        say(screen(), f"{len(rows)} steps made again: ", ("the same weights, bit for bit", "green"))
    return int(bool(different))


def _named(run: Any) -> dict[int, str]:
    """The weights that steps of a run came to, where it names them."""
    return {row["step"]: row["weights"] for row in run.metrics() if "weights" in row and type(row.get("step")) is int}


commands: list[click.Command] = [reproduce]
