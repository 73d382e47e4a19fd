"""`env audit`: what is wrong with tasks that somebody else has written.

Knows folders and how a report is told. Does not know what is examined (`engine.auditing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click
import msgspec
import trio
from rich.text import Text

from ...events.event import Json
from ...worlds.auditing import EXAMINATIONS, Audit, Examined, Flaw, report
from ...worlds.claw_eval import Task
from ...worlds.claw_eval.examining import FILE
from ...worlds.problems import InvalidEnvironment
from ...worlds.reading import read_environment
from ..auditing import examined_environment, examined_folder, side_by_side
from ..claw_eval.loading import Loader
from ..importing import importer_of
from ..printable import printable
from .failures import Told
from .findings import MARKS, STYLES
from .interrupts import run_until_interrupted
from .options import json_option
from .places import environment_files, environment_path
from .screen import Screen, print_json, say, screen
from .tables import print_table

NAMED = 4
"""Tasks that are named of those with the same flaw."""


@click.command("audit", short_help="Examine other people's tasks.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--only", multiple=True, type=click.Choice(list(EXAMINATIONS)), metavar="NAME", help="Tell only of this one."
)
@json_option
def audit(paths: tuple[str, ...], only: tuple[str, ...], as_json: bool) -> int:
    """Examine tasks of a benchmark, or environments: what their files show, and what playing them shows.

    A task of Claw-Eval is judged by what its own file declares (scoring_components, expected_actions, safety_checks);
    upstream's graders are programs, which are not run. Nobody is asked: all who play are scripted. Exit code 1 if
    there are errors.

    \b
    coworkenv env audit tasks/
    coworkenv env audit tasks/ --only spam --only mutation --json
    """
    found = run_until_interrupted(partial(_examined, [Path(environment_path(path)) for path in paths]))
    whole = report(found)
    shown = [flaw for flaw in whole.flaws if not only or flaw.examination in only]
    if as_json:
        for flaw in shown:
            print_json({"type": "flaw", **_plain(flaw)})
        print_json({"type": "audit", **msgspec.to_builtins(msgspec.structs.replace(whole, flaws=()))})
    else:
        _say(screen(), whole, shown, only)
    return int(any(flaw.severity == "error" for flaw in shown))


def _plain(flaw: Flaw) -> dict[str, Json]:
    plain: dict[str, Json] = msgspec.to_builtins(flaw)
    return {**plain, "severity": flaw.severity}


async def _examined(paths: Sequence[Path]) -> list[Examined]:
    found: list[Examined] = []
    tasks: list[Task] = []
    loader = Loader()
    for path in paths:
        for task in _tasks(path):
            examined, read = await examined_folder(task, loader)
            found.append(examined)
            tasks += [read] if read is not None else []
            await trio.lowlevel.checkpoint()
        for file in _environments(path):
            found.append(await _examined_file(file))
    return side_by_side(found, tasks)


def _tasks(path: Path) -> Iterator[Path]:
    """The folders of Claw-Eval tasks that a path means."""
    if path.name == FILE:
        yield path.parent
    elif (path / FILE).exists():
        yield path
    elif path.is_dir():
        yield from (folder for folder in sorted(path.iterdir()) if (folder / FILE).exists())


def _environments(path: Path) -> list[Path]:
    """The files of our own format that a path means. Raises Told if it means neither these nor tasks."""
    if path.is_dir():
        if next(_tasks(path), None) is not None:
            return []
        if (importer := importer_of(path)) is not None:
            raise Told(_elsewhere(path, importer.name))
        return environment_files(path)
    if path.name == FILE:
        return []
    if not path.is_file():
        raise Told(f"{path} is neither a file nor a folder")
    return [path]


def _elsewhere(path: Path, name: str) -> str:
    """What is said of a benchmark whose tasks declare nothing that could be examined without running their code."""
    if name == "claw-eval":
        return f"{path} is a checkout of {name}; name its folder of tasks, {path / 'tasks'}"
    idle = f"coworkenv run {path} --agent noop --graders {path}"
    return f"tasks of {name} are graded by code alone, which is not examined; what doing nothing is worth there: {idle}"


async def _examined_file(path: Path) -> Examined:
    try:
        return await examined_environment(read_environment(path))
    except InvalidEnvironment as error:
        skipped = {name: "it cannot be read" for name in EXAMINATIONS if name != "readable"}
        flaw = Flaw(examination="readable", task=path.name, says=str(error), at=str(path))
        return Examined(task=path.name, flaws=(flaw,), skipped=skipped)


# --- telling -----------------------------------------------------------------------------------------------


def _say(out: Screen, whole: Audit, shown: Sequence[Flaw], only: Sequence[str]) -> None:
    wanted = [one for one in whole.looked if not only or one.examination in only]
    looked = [one for one in wanted if one.tasks]
    columns: dict[str, list[str | Text]] = {
        "examination": [one.examination for one in looked],
        "tasks": [str(one.tasks) for one in looked],
        "flawed": [Text(str(one.flawed), "bold" if one.flawed else "dim") for one in looked],
        "flaws": [Text(str(one.flaws), "bold" if one.flaws else "dim") for one in looked],
        "looks for": [EXAMINATIONS[one.examination] for one in looked],
    }
    print_table(out, columns, spare=("looks for",), right=("tasks", "flawed", "flaws"))
    if whole.mutants:
        killed = whole.mutants - whole.survivors
        say(out, f"{killed} of {whole.mutants} wrong solutions are noticed ({killed / whole.mutants:.0%}).")
    reasons = {reason: count for one in wanted for reason, count in one.skipped.items()}
    for reason, count in reasons.items():
        names = ", ".join(one.examination for one in wanted if reason in one.skipped)
        say(out, (f"{count} not examined for {names}: ", "dim"), (printable(reason), "dim"))
    for group in _alike(shown):
        _say_flaw(out, group)


def _alike(flaws: Sequence[Flaw]) -> list[list[Flaw]]:
    """Flaws that read the same, together."""
    groups: dict[tuple[str, ...], list[Flaw]] = {}
    for flaw in flaws:
        groups.setdefault((flaw.examination, flaw.severity, flaw.says, *flaw.evidence), []).append(flaw)
    return list(groups.values())


def _say_flaw(out: Screen, group: Sequence[Flaw]) -> None:
    first = group[0]
    tasks = list(dict.fromkeys(flaw.task for flaw in group))
    names = ", ".join(tasks[:NAMED])
    more = f" and {len(tasks) - NAMED} more" if len(tasks) > NAMED else ""
    say(
        out,
        (f"{MARKS[first.severity]} ", STYLES[first.severity]),
        (f"{first.examination}  ", "bold"),
        printable(names + more),
    )
    say(out, f"    {printable(first.says)}", (f"  {printable(first.at)}" if first.at else "", "dim"))
    if first.evidence:
        say(out, (f"    {printable(', '.join(first.evidence))}", "cyan"))
