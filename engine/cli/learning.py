"""`learn`: what a researcher types; here `demos`, in higher floors what learns from them.

Knows files, progress and tables. Does not know which episodes are worth learning from (`engine.demonstrations`). Other
packages hang commands of theirs into `learn` through the entry point group `coworkenv.commands.learn`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from itertools import product
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from ...events.event import Json
from ...events.log import Log
from ...worlds.world import World
from ..demonstrations import REASONS, TEACHERS, Demonstration, curated, line, teachers, thinned
from ..files import write_whole
from ..importing import Graders, players
from ..plan import EpisodeError, Plan, episode_id
from ..printable import printable
from ..rollouts import Result, rollout
from ..transcripts import Transcript
from .failures import Told
from .graders import JUDGES, grader_options, graders_of
from .interrupts import Interrupted, run_until_interrupted
from .options import episode_options, json_option, opened
from .places import find, is_manifest, manifest_of
from .root import INTERRUPTED, hang, warn
from .running import model_options, parted, shares
from .screen import print_json, say, screen
from .tables import print_table

GROUP = "coworkenv.commands.learn"
LOG, ACCEPTED, REJECTED = "demos.db", "accepted.jsonl", "rejected.jsonl"


class _Learn(click.Group):
    """The group, with the commands of other packages. They are loaded only when `learn` is asked for something."""

    def _loaded(self) -> None:
        hang(self, [point for point in entry_points(group=GROUP) if point.name not in self.commands])

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._loaded()
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands:
            self._loaded()
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Learn, short_help="Learn: demonstrations, and what uses them.")
def learn() -> None:
    """Learning from episodes: demonstrations by oracles and teachers, and all that is trained on them."""


@learn.command(short_help="Have teachers play, keep what is worth learning.")
@click.argument("paths", nargs=-1, required=True, metavar="ENV...")
@click.option(
    "--teacher",
    "-t",
    "wanted",
    multiple=True,
    default=("oracle",),
    metavar="SPEC",
    help=f"{TEACHERS} (oracle). Traps show what not to do.",
)
@click.option("--option", "-o", "options", multiple=True, metavar="NAME=VALUE", help="Of the models, as in `run`.")
@click.option("--coworkers", default="rules", metavar="SPEC", help="rules (default), model:MODEL")
@click.option("--brief", is_flag=True, help="Instructions and message heads in short, for small students.")
@episode_options
@grader_options
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where all of it goes.")
@json_option
def demos(
    paths: tuple[str, ...],
    wanted: tuple[str, ...],
    options: tuple[str, ...],
    coworkers: str,
    base_url: str | None,
    brief: bool,
    trials: int,
    seed: int,
    twins: bool,
    only: str | None,
    concurrency: int,
    graders: tuple[str, ...],
    judge: str | None,
    unsafe: bool,
    out: Path,
    as_json: bool,
) -> int:
    """Let teachers play environments, and keep the episodes that are worth learning from.

    A demonstration has the full score, trips no gate, makes at most twice the oracle's calls, and is not the same as
    one before it. DIR gets the log (demos.db), the chats in OpenAI's format (accepted.jsonl), and those that were
    rejected, with the reasons and the checks that failed (rejected.jsonl). Numbers that are worked out are said. Forks
    begin with a trap's mistake, which is shown and not to be learnt, and make it good: one in five at most.

    \b
    coworkenv learn demos late-change refund --twins --out demos/
    coworkenv learn demos tasks/ --teacher oracle --teacher openai:gpt-5 --trials 4 --out demos/
    """
    _refuse_tests(paths)
    settings, judges = parted(model_options(options, base_url), JUDGES)
    grading = graders_of(graders, judge, judges, unsafe, base_url)
    found = find(paths, twins=twins, only=only, unsafe=unsafe)
    plans, problems = _plans(found.worlds, wanted, coworkers, settings, brief, trials, seed)
    for sentence in (*found.problems, *found.notes, *problems):
        warn(sentence)
    if not plans:
        raise Told("no teacher can play any of these environments")
    _made(out)
    with opened(str(out / LOG), create=True) as log:
        results, stopped = _play(log, plans, concurrency, as_json, grading)
        kept = _write(log, plans, results, out)
    _tell(kept, plans, results, out, as_json, stopped)
    if stopped:
        warn("stopped. The same command goes on where this one was.")
        return INTERRUPTED
    return int(any(result.status != "ended" for result in results) or bool(found.problems))


def _refuse_tests(paths: Sequence[str]) -> None:
    """Raises Told for a set that is there to test with: whoever learnt from it could not be tested any more."""
    for path in map(Path, paths):
        if is_manifest(path) and (found := manifest_of(path)).role == "test":
            raise Told(f"{path} is the ring {found.ring}, a test set: nobody may learn from it")


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise Told(f"{folder} is a file; --out names a folder") from None


def _plans(
    worlds: Sequence[World],
    wanted: Sequence[str],
    coworkers: str,
    options: dict[str, Json],
    brief: bool,
    trials: int,
    seed: int,
) -> tuple[list[Plan], list[str]]:
    """Who teaches what, and why some cannot: each sentence once."""
    plans: list[Plan] = []
    problems: dict[str, None] = {}
    mine, theirs = shares(options, any(word.startswith("openai") for word in wanted), coworkers != "rules")
    for word in dict.fromkeys(wanted):
        own = {**(mine if word.startswith("openai") else {}), **({"wording": "brief"} if brief else {})}
        for world in worlds:
            try:
                actors = teachers(word, own, world)
            except EpisodeError as error:
                problems[str(error).replace(world.id, world.id.partition("@")[0])] = None
                continue
            for actor, trial in product(actors, range(trials)):
                plans.append(Plan(world, actor, players(world, coworkers, theirs), seed + trial, trial))
    return plans, list(problems)


# --- playing -----------------------------------------------------------------------------------------------


def _play(
    log: Log, plans: Sequence[Plan], concurrency: int, as_json: bool, graders: Graders | None
) -> tuple[list[Result], bool]:
    """The results of all plans, or, if it was stopped, of those that had ended by then; and whether it was."""
    with progress(len(plans), as_json) as advance:
        try:
            return _rolled_out(log, plans, concurrency, graders, advance), False
        except Interrupted:
            pass
    ended = {row.id for row in log.rows(kind="episode", status="ended")}
    # Nothing is played here: they are read from the log, and graded if that had not been done yet.
    return _rolled_out(log, [plan for plan in plans if episode_id(plan.started()) in ended], 1, graders), True


def _rolled_out(
    log: Log,
    plans: Sequence[Plan],
    concurrency: int,
    graders: Graders | None,
    advance: Callable[[], None] = lambda: None,
) -> list[Result]:
    async def writing() -> list[Result]:
        async with log.writing():
            return await rollout(plans, log, concurrency=concurrency, finished=lambda _: advance(), graders=graders)

    return run_until_interrupted(writing)


@contextmanager
def progress(count: int, quiet: bool, what: str = "episodes") -> Iterator[Callable[[], None]]:
    """A function that moves a bar on standard error by one; only a terminal has a bar."""
    console = Console(file=sys.stderr)
    if quiet or not console.is_terminal:
        yield lambda: None
        return
    columns = [BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=count)
        yield lambda: progress.advance(task)


# --- writing and telling -----------------------------------------------------------------------------------


def _write(log: Log, plans: Sequence[Plan], results: Sequence[Result], out: Path) -> list[Demonstration]:
    """Write both files, whole or not at all, and return what is in them."""
    by_id = {result.id: result for result in results if result.id is not None}
    ids = [episode_id(plan.started()) for plan in plans]
    lines: dict[str, list[bytes]] = {ACCEPTED: [], REJECTED: []}

    async def curate() -> list[tuple[Demonstration, Transcript]]:
        return [each async for each in curated(log, plans, by_id, ids)]

    kept = thinned(run_until_interrupted(curate))
    for demonstration, chat in kept:
        lines[ACCEPTED if demonstration.accepted else REJECTED].append(line(demonstration, chat))
    for name, content in lines.items():
        write_whole(out / name, b"".join(content))
    return [demonstration for demonstration, _ in kept]


def _tell(
    kept: Sequence[Demonstration],
    plans: Sequence[Plan],
    results: Sequence[Result],
    out: Path,
    as_json: bool,
    stopped: bool,
) -> None:
    accepted = sum(demonstration.accepted for demonstration in kept)
    open_ = [result for result in results if result.status != "ended"]
    if as_json:
        for demonstration in kept:
            print_json(
                {"type": "demonstration", "accepted": demonstration.accepted, **msgspec.to_builtins(demonstration)}
            )
        print_json(
            {
                "type": "summary",
                "episodes": len(plans),
                "accepted": accepted,
                "rejected": len(kept) - accepted,
                "reasons": _counted(kept),
                "not_ended": [{"environment": r.environment, "teacher": r.agent, "reason": r.reason} for r in open_],
                "interrupted": stopped,
                "folder": str(out),
            }
        )
        return
    console = screen()
    _print_table(kept)
    for result in open_[:20]:
        say(console, (f"{result.status}: ", "bold yellow"), printable(f"{result.environment}  {result.reason}"))
    say(
        console,
        (f"{accepted} accepted", "green"),
        f", {len(kept) - accepted} rejected, of {len(plans)} episodes; in {printable(str(out))}: ",
        (f"{ACCEPTED}, {REJECTED}, {LOG}", "cyan"),
    )


def _print_table(kept: Sequence[Demonstration]) -> None:
    """One row for each environment and teacher, its twins and trials added up; all its traps are one teacher."""
    groups: dict[tuple[str, str], list[Demonstration]] = {}
    place = {name: number for number, name in enumerate(dict.fromkeys(one.environment for one in kept))}
    for one in sorted(kept, key=lambda one: place[one.environment]):
        groups.setdefault((one.environment, "traps" if "trap" in one.reasons else one.teacher), []).append(one)
    if not groups:
        return
    counts = [sum(one.accepted for one in group) for group in groups.values()]
    columns: dict[str, list[str | Text]] = {
        "environment": [environment for environment, _ in groups],
        "teacher": [name for _, name in groups],
        "accepted": [Text(str(count), "green") for count in counts],
        "rejected": [str(len(group) - count) for group, count in zip(groups.values(), counts)],
        "because": [_because(group) for group in groups.values()],
    }
    print_table(screen(), columns, spare=(), right=("accepted", "rejected"))


def _because(group: Sequence[Demonstration]) -> str:
    failed = list(dict.fromkeys(name for one in group for name in one.failed))
    reasons = "; ".join(f"{count} {REASONS[reason]}" for reason, count in _counted(group).items())  # type: ignore[index]
    checks = f" ({', '.join(failed[:4])}{' …' if len(failed) > 4 else ''})" if failed else ""
    return reasons + checks


def _counted(group: Sequence[Demonstration]) -> dict[str, int]:
    """How many were rejected for each reason."""
    counts = {reason: sum(reason in one.reasons for one in group) for reason in REASONS}
    return {reason: count for reason, count in counts.items() if count}


commands: list[click.Command] = [learn]
