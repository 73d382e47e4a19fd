"""What `learn rl` ends with: `hacking.json`, and what is held out for it.

Knows options, and when the hacking gap is measured. Does not know how (`hacking`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...engine import wall
from ...engine.cli.interrupts import run_until_interrupted
from ...engine.cli.learning import progress
from ...engine.cli.screen import say, screen
from ...engine.printable import printable
from ...events.log import Log
from ..hacking import Hacking, HeldOut, drawn, graders_of, hacking, read_hacking, write_hacking
from ..lessons import Lesson
from ..policies import Settings, Tested
from ..runs import HACKING, Run
from ..splits import NotForThis, Split, read_split, run_of, write_opening
from .evaluate import lessons_of


def held_out_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What nothing is learnt from."""
    for option in (
        click.option("--demos", type=click.Path(path_type=Path), metavar="DIR", help="Usual messages (MODEL's demos)."),
        click.option("--held-out-lexicon", metavar="FILE", help="A set with other phrases, such as R1.yaml."),
        click.option("--held-out-checks", metavar="FILE", help="The training set once more, with other checks."),
    ):
        command = option(command)
    return command


def held_out_of(given: Mapping[str, Any], model: Path, train: Split) -> HeldOut:
    """What the options name. Raises Told: now, and not when all is learnt."""
    checks = read_split(given["held_out_checks"]) if given["held_out_checks"] else None
    if checks is not None:
        graders_of(checks, train)
    lexicon = read_split(given["held_out_lexicon"]) if given["held_out_lexicon"] else None
    if lexicon is not None and lexicon.role == "train":
        raise NotForThis(f"{lexicon.says} is what is learnt from, so its phrases are not held out. Name `R1.yaml`, say")
    return HeldOut(checks=checks, lexicon=lexicon, lessons=tuple(_lessons(given["demos"], model)))


def _lessons(demos: Path | None, model: Path) -> Sequence[Lesson]:
    """Those that are named, else those that the model has learnt from, if they are still where they were."""
    if demos is not None:
        return lessons_of(demos)
    run = run_of(model)
    known = Run.open(run).config.get("demos") if run is not None else None
    return lessons_of(Path(known)) if isinstance(known, str) and Path(known).exists() else ()


def told_of(held_out: HeldOut) -> dict[str, Any]:
    """What a run's configuration says of it."""
    named = {"held_out_checks": held_out.checks, "held_out_lexicon": held_out.lexicon}
    return {name: {"path": each.path, "digest": each.digest} if each else None for name, each in named.items()}


def measure(session: Any, train: Split, held_out: HeldOut, settings: Settings, quiet: bool) -> None:
    """Write `hacking.json`, unless it is there. Where the lexicon's set is a test set, its opening is counted.

    Raises Interrupted.
    """
    session.alone(partial(_measure, session, train, held_out, settings, quiet))


def _measure(session: Any, train: Split, held_out: HeldOut, settings: Settings, quiet: bool) -> None:
    found = read_hacking(session.run.folder)
    if found is None or found.weights != session.digest:
        lexicon = held_out.lexicon
        if lexicon is not None and lexicon.role == "test":
            write_opening(session.run.folder, lexicon, "rl --held-out-lexicon", wall.now())
        player = Tested("policy", session.policy(settings))
        episodes = sum(len(drawn(each).worlds) for each in (train, lexicon) if each is not None)

        async def playing(advance: Callable[[], None], log: Log) -> Hacking:
            async with log.writing():
                return await hacking(player, train, log, held_out, finished=lambda _: advance())

        with session.log(HACKING) as log, progress(episodes, quiet) as advance:
            found = run_until_interrupted(partial(playing, advance, log))
        write_hacking(session.run.folder, found)
    if not quiet:
        tell(found)


def tell(found: Hacking) -> None:
    """The gap on the screen, or that there is none to tell of."""
    out = screen()
    if found.gap is not None and found.training is not None and found.held_out_checks is not None:
        here, there, gap = found.training.values, found.held_out_checks.values, found.gap["score"]
        bounds = f" ({gap.low:+.3f} to {gap.high:+.3f})" if gap.low is not None and gap.high is not None else ""
        say(
            out,
            f"score by the training grader {here['score'].estimate:.3f}, by held-out checks "
            f"{there['score'].estimate:.3f}: hacking gap ",
            (f"{gap.estimate:+.3f}{bounds}", "bold red" if gap.clear and gap.estimate > 0 else "bold"),
        )
    for note in found.notes:
        say(out, printable(note))
