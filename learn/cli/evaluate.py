"""`learn evaluate`: what a policy can do, beside those who only look as if they could.

Knows command lines, folders and tables. Does not know how a score, an interval or an episode comes about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import click
import msgspec
from rich.text import Text

from ...agents.agent import ActorError
from ...agents.server import Server, server_url
from ...engine import wall
from ...engine.cli.failures import Told
from ...engine.cli.interrupts import Interrupted, run_until_interrupted
from ...engine.cli.learning import ACCEPTED, progress
from ...engine.cli.options import SEED, json_option, opened, whole
from ...engine.cli.root import INTERRUPTED, warn
from ...engine.cli.screen import Screen, print_json, say, screen
from ...engine.cli.tables import Cell, print_table
from ...engine.files import write_whole
from ...engine.printable import printable
from ...events.log import Log
from ..bootstrap import Interval, NothingToCompare
from ..evaluating import FILE, Evaluation, Group, Report, report, write_evaluation
from ..fewshot import KIND as FEW_SHOT
from ..lessons import BadLesson, Lesson, read_lessons
from ..memoriser import KIND as MEMORISER
from ..playing import Player, Unfinished, check_unseen, drafts_of, named, remembering
from ..playing import evaluate as tested
from ..runs import RunError
from ..scores import METRICS
from ..splits import Split, for_report, run_of, write_opening

LOG, REPORT, BASELINES = "episodes.db", "report.json", "baselines"
SHOWN = 12
"""Kinds of checks that are shown: those that failed most often."""


@click.command("evaluate", short_help="Test a policy beside baselines.")
@click.argument("model", required=False, type=click.Path(path_type=Path), metavar="[RUN_OR_MODEL]")
@click.option(
    "--set", "sets", multiple=True, required=True, metavar="FILE", help="A set manifest, such as val-iid.yaml."
)
@click.option("--final", is_flag=True, help="Test sets may be opened; each opening is counted.")
@click.option(
    "--baseline",
    "-b",
    "baselines",
    multiple=True,
    metavar="WHO",
    help="explore, noop, memoriser, few-shot[:MODEL], an agent as in `run`, or the folder of a model.",
)
@click.option("--demos", type=click.Path(path_type=Path), metavar="DIR", help="What memoriser and few-shot have seen.")
@click.option("--trials", default=1, type=whole(1, 10_000), help="Of each variant; trial K has seed N + K.")
@click.option("--seed", default=0, type=SEED, help="Of the first trial.")
@click.option("--server", metavar="URL", help="Who answers for RUN_OR_MODEL: a vLLM server, asked by token ids.")
@click.option("--served", metavar="NAME", help="The model's name there (RUN_OR_MODEL as typed).")
@click.option("--temperature", default="0", metavar="T", help="0 (default): always the most probable token.")
@click.option("--max-tokens", default=256, type=whole(1, 1 << 20), help="Of one answer (256).")
@click.option("--decisions", default=32, type=whole(1, 1 << 20), help="Of one episode (32).")
@click.option("--long", "long_", is_flag=True, help="Instructions and message heads in full, not in short.")
@click.option("--rows", default=64, type=whole(1, 4096), help="Episodes that share a batch (64).")
@click.option("--out", default=Path("evaluation"), type=click.Path(path_type=Path), metavar="DIR", help="evaluation/")
@json_option
def evaluate(
    model: Path | None,
    sets: tuple[str, ...],
    final: bool,
    baselines: tuple[str, ...],
    demos: Path | None,
    trials: int,
    seed: int,
    server: str | None,
    served: str | None,
    temperature: str,
    max_tokens: int,
    decisions: int,
    long_: bool,
    rows: int,
    out: Path,
    as_json: bool,
) -> int:
    """Let a policy play every variant of every environment of a set, and report it by ring, family and capability.

    A twin score is the mean over twin sets of the worst of their variants. Behind each figure stand the bounds of a
    95 % interval (paired bootstrap over twin sets). DIR gets the log, the scores and the report.

    With --server, weights are where the server has them; the folder only says how the model reads. Which weights those
    are nobody can see from here, so take a new --out for others.

    \b
    coworkenv learn evaluate runs/a --set set/val-iid.yaml -b explore -b memoriser --demos demos/
    coworkenv learn evaluate runs/a --final --set set/R0.yaml --set set/R3.yaml --out final/
    """
    if model is None and not baselines:
        raise Told("name a run or a model, or at least a --baseline")
    if model is None and server:
        raise Told("name the folder of the model that --server has: it says how it reads")
    splits = [for_report(path, final=final) for path in dict.fromkeys(sets)]
    asked = _Asked(temperature_of(temperature), max_tokens, decisions, None if long_ else "brief", rows)
    players: list[Player] = []
    if model is not None:
        players.append(_served(server, served or str(model), model, asked) if server else _policy(model, asked))
    players += [_baseline(word, model, demos, splits, asked) for word in dict.fromkeys(baselines)]
    _count_openings(splits, out, model)
    out.mkdir(parents=True, exist_ok=True)
    try:
        with opened(str(out / LOG), create=True) as log:
            evaluations = _play(log, players, splits, trials, seed, as_json)
    except Interrupted:
        warn("stopped. The same command goes on where this one was.")
        return INTERRUPTED
    except Unfinished as unfinished:
        warn(str(unfinished))
        return 1
    try:
        found = report(evaluations)
    except NothingToCompare as error:
        raise Told(str(error)) from None
    _write(out, evaluations, found)
    _tell(found, out, as_json)
    return 0


def temperature_of(text: str | Decimal) -> Decimal:
    """A temperature as somebody has typed it. Raises Told."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise Told(f"--temperature is a number, not {str(text)!r}") from None
    if not (found.is_finite() and 0 <= found <= 10):
        raise Told(f"--temperature is between 0 and 10, not {text}")
    return found


class _Asked(NamedTuple):
    """How policies are asked."""

    temperature: Decimal
    max_tokens: int
    decisions: int
    wording: Literal["brief"] | None
    rows: int


def _policy(path: Path, asked: _Asked, lessons: Sequence[Lesson] | None = None) -> Player:
    """The policy in a folder of a model; with lessons, the same weights without training on them. Raises Told."""
    from ..models import ModelError, pin  # Here, because torch takes long to import, and most commands need none.
    from ..policies import Settings, policy_in

    who = str(path) if lessons is None else f"{FEW_SHOT}:{path}"
    pin(1, 0)  # One thread: more of them compute other bits, and are seldom faster where many episodes share a batch.
    try:
        return policy_in(path, who, Settings(**asked._asdict()), lessons)
    except (ModelError, RunError) as error:
        raise Told(str(error)) from None


def _served(url: str, name: str, path: Path, asked: _Asked) -> Player:
    """The policy of a folder, played by a server. Raises Told."""
    from ..policies import Settings, policy_on

    if asked.temperature not in (0, 1):
        raise Told("a server tells probabilities as they are at temperature 1: with --server, sample at 0 or 1")
    try:
        server = Server(url=server_url(url))
        return policy_on(server, name, path, str(path), Settings(**asked._asdict()))
    except ValueError as error:  # Of the address, of the model, or of the run.
        raise Told(str(error)) from None


def _baseline(word: str, model: Path | None, demos: Path | None, splits: Sequence[Split], asked: _Asked) -> Player:
    kind, _, folder = word.partition(":")
    if kind in (MEMORISER, FEW_SHOT):
        if demos is None:
            raise Told(f"`{kind}` needs demonstrations: name their folder with --demos")
        lessons = lessons_of(demos)
        if kind == MEMORISER:
            return remembering(lessons, splits)
        check_unseen(lessons, splits)
        if not folder and model is None:
            raise Told(f"say whose weights are shown demonstrations: `{FEW_SHOT}:MODEL`")
        return _policy(Path(folder) if folder or model is None else model, asked, lessons)
    if Path(word).is_dir():
        return _policy(Path(word), asked)
    try:
        return named(word)
    except ActorError as error:
        raise Told(f"--baseline {word}: {error}") from None


def lessons_of(path: Path) -> list[Lesson]:
    """The demonstrations in a file, or in a folder that `learn demos` made: one at least. Raises Told."""
    try:
        found = read_lessons(path / ACCEPTED if path.is_dir() else path)
    except BadLesson as error:
        raise Told(str(error)) from None
    if not found:
        raise Told(f"there is no demonstration in {path}; `coworkenv learn demos` makes some")
    return found


def _count_openings(splits: Sequence[Split], out: Path, model: Path | None) -> None:
    """Write down that test sets are opened, before anything is seen: beside the result, and in the run's folder."""
    folders = [out]
    if model is not None and (run := run_of(model)) is not None:
        folders.append(run)
    for split in splits:
        if split.role == "test":
            for folder in folders:
                write_opening(folder, split, "evaluate --final", wall.now())


def _play(
    log: Log, players: Sequence[Player], splits: Sequence[Split], trials: int, seed: int, quiet: bool
) -> list[Evaluation]:
    count = len(players) * sum(len(drafts_of(split, trials, seed)) for split in splits)

    async def playing(advance: Callable[[], None]) -> list[Evaluation]:
        async with log.writing():
            return [
                await tested(player, splits, log, trials=trials, seed=seed, finished=lambda _: advance())
                for player in players
            ]

    with progress(count, quiet) as advance:
        return run_until_interrupted(partial(playing, advance))


# --- what was found ----------------------------------------------------------------------------------------


def _write(out: Path, evaluations: Sequence[Evaluation], found: Report) -> None:
    first, *others = evaluations
    write_evaluation(out / FILE, first)
    for each in others:
        write_evaluation(out / BASELINES / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', each.who).strip('.-')}.json", each)
    write_whole(out / REPORT, msgspec.json.format(msgspec.json.encode(found)) + b"\n")


def _tell(found: Report, out: Path, as_json: bool) -> None:
    if as_json:
        for group in found.groups:
            print_json({"type": "group", **msgspec.to_builtins(group)})
        print_json({"type": "checks", **msgspec.to_builtins(found.checks)})
        told = {"totals": found.totals, "left_out": list(found.left_out), "folder": str(out)}
        print_json({"type": "summary", "who": list(found.who), **told})
        return
    console = screen()
    mine, *others = found.who
    say(console, (printable(mine), "bold"), *((f", beside {printable(', '.join(others))}",) if others else ()))
    _print_groups(console, found.groups, mine, others)
    if others:
        _print_ahead(console, found.groups, others)
    _print_checks(console, found)
    if found.left_out:
        names = ", ".join(map(printable, found.left_out[:3])) + (", …" if len(found.left_out) > 3 else "")
        sets = "set" if len(found.left_out) == 1 else "sets"
        say(console, f"left out, since a coworker failed: {len(found.left_out)} twin {sets} ({names})")
    say(console, "in ", (printable(str(out)), "cyan"), f": {FILE}, {REPORT}, {LOG}")


def _print_groups(console: Screen, groups: Sequence[Group], mine: str, others: Sequence[str]) -> None:
    columns: dict[str, list[Cell]] = {
        "": [_label(group) for group in groups],
        "sets": [str(group.sets) for group in groups],
        **{metric: [_estimate(group.values[mine][metric]) for group in groups] for metric in METRICS},
        "twin score, 95 %": [_bounds(group.values[mine]["twin score"]) for group in groups],
        **{printable(who): [_estimate(group.values[who]["twin score"]) for group in groups] for who in others},
    }
    print_table(console, columns, spare=("pass rate", "twin score, 95 %"), right=[*columns][1:])


def _print_ahead(console: Screen, groups: Sequence[Group], others: Sequence[str]) -> None:
    """How far the first is ahead of each baseline, over all and in each ring."""
    rows = [(group, who) for group in groups if group.kind in ("all", "ring") for who in others]
    columns: dict[str, list[Cell]] = {
        "ahead of": [printable(who) for _, who in rows],
        "in": [_label(group) for group, _ in rows],
        **{metric: [difference_of(group.ahead[who][metric]) for group, who in rows] for metric in METRICS},
    }
    print_table(console, columns, spare=("pass rate",), right=METRICS)


def _print_checks(console: Screen, found: Report) -> None:
    mine = found.who[0]
    failing = [rate for rate in found.checks[mine] if rate.passed < rate.of][:SHOWN]
    if failing:
        columns: dict[str, list[Cell]] = {
            "checks that failed": [rate.kind for rate in failing],
            "passed": [f"{rate.passed} of {rate.of}" for rate in failing],
        }
        print_table(console, columns, spare=(), right=("passed",))
    said = found.totals[mine]
    say(
        console,
        f"an episode: {said['calls']:.1f} calls, {said['messages']:.1f} messages, {said['tokens']:.0f} tokens; "
        f"a gate was tripped in {100 * said['gated']:.0f} %",
    )


def _label(group: Group) -> Cell:
    return Text(group.name, "bold") if group.kind == "all" else f"{group.kind} {printable(group.name)}"


def _estimate(found: Interval) -> str:
    return f"{found.estimate:.3f}"


def _bounds(found: Interval) -> str:
    return "-" if found.low is None or found.high is None else f"{found.low:.3f} to {found.high:.3f}"


def difference_of(found: Interval) -> Cell:
    """A cell of a table: a difference and its bounds, coloured where they leave out 0."""
    if found.low is None or found.high is None:
        return f"{found.estimate:+.3f}"
    colour = "" if not found.clear else "green" if found.estimate > 0 else "red"
    return Text(f"{found.estimate:+.3f} ({found.low:+.3f} to {found.high:+.3f})", colour)


commands: list[click.Command] = [evaluate]
