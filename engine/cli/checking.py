"""`verify` and `grade`: is an episode what it was, and how good was it?

Knows how findings are told. Does not know how they are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec
import trio
from rich.console import Console
from rich.text import Text

from ...events.codec import from_json
from ...events.event import CheckGraded, Json
from ...events.log import Log, StreamRow
from ...worlds.compiling import compile_environment
from ...worlds.reading import read_environment
from ...worlds.world import World
from ..differing import changes
from ..grading import Graded, grade_episode
from ..importing import benchmark_of, graded_or_not, use_checkouts
from ..plan import document_of
from ..printable import brief, printable
from ..replay import Verified, verify
from .failures import Told, sentences, single
from .graders import code_options, grader_options, graders_of
from .interrupts import run_until_interrupted
from .options import all_option, chosen, json_option, log_option, opened, pairs, value_of
from .places import only_one
from .results import SHORT, grade_text, name_of, no_grader
from .screen import Screen, print_json, say, screen

_MEASURE = Console(width=100)
"""Wrapping text needs a console, though not what it writes to."""


@click.command("verify", short_help="Check episodes byte for byte.")
@click.argument("names", nargs=-1, metavar="[ID]...")
@all_option("streams")
@click.option("--foreign", is_flag=True, help="Drive a benchmark's own code again, too, and compare its answers.")
@code_options
@log_option
@json_option
def verify_(
    names: tuple[str, ...],
    everything: bool,
    foreign: bool,
    graders: tuple[str, ...],
    unsafe: bool,
    log_path: str,
    as_json: bool,
) -> int:
    """Check the bytes of episodes against their chain, then execute them again and require the same bytes.

    Nothing outside is asked: every answer comes from the log. With --all the file itself is checked, too. Exit code 1
    if anything is wrong, and 2 if only the code that --foreign is to drive is not to be had.

    \b
    coworkenv verify --all
    coworkenv verify --all --foreign --graders tau2-bench/
    """
    out = screen()
    if graders and not foreign:
        raise Told("--graders names the code that is to be driven again; add --foreign")
    use_checkouts([Path(each) for each in graders], unsafe)
    with opened(log_path) as log:
        rows = chosen(log, names, everything)
        verdicts: list[Verified] = []
        broken = log.file_damage() if everything else ()

        async def work() -> None:
            for row in rows:
                verdicts.append(found := await _verified(log, row, foreign))
                if as_json:
                    print_json({**msgspec.to_builtins(found), "good": found.good})
                else:
                    _say_verified(out, row, found)

        run_until_interrupted(work)
    wrong = [found for found in verdicts if not found.good]
    for problem in broken:
        if as_json:
            print_json({"file": log_path, "good": False, "says": problem})
        else:
            say(out, (f"{printable(log_path)}  ", "bold"), ("damaged", "bold red"), f"  {printable(problem)}")
    if not as_json and len(verdicts) != 1:
        say(out, _count(verdicts, wrong))
    undriven = [found for found in wrong if found.verdict == "not driven"]
    return 1 if broken or len(undriven) < len(wrong) else 2 if undriven else 0


async def _verified(log: Log, row: StreamRow, foreign: bool) -> Verified:
    await trio.lowlevel.checkpoint()
    try:
        return await verify(log, row.id, foreign)
    except Exception as error:
        told = sentences(single(error))
        if told is None:
            raise
        return Verified(stream=row.id, verdict="different", events=row.count, says=told)


def _count(verdicts: Sequence[Verified], wrong: Sequence[Verified]) -> str:
    if not verdicts:
        return "The log is empty."
    return f"{len(verdicts) - len(wrong)} of {len(verdicts)} are sound."


def _say_verified(out: Screen, row: StreamRow, found: Verified) -> None:
    style = "green" if found.good else "yellow" if found.verdict == "not driven" else "bold red"
    grading = row.kind == "grading"
    what = f"grading of {(row.of or '')[:SHORT]}" if grading else f"{printable(name_of(row))}  {printable(row.agent)}"
    word = "sound" if grading and found.good else found.verdict
    say(out, (f"{row.id[:SHORT]} ", "dim"), (word, style), f"  {what}, {found.events} events")
    if found.says and (not found.good or (found.verdict == "not executed" and not grading)):
        say(out, f"  {printable(found.says)}")
    for finding in found.damage[1:6]:
        say(out, f"  {printable(finding.message)}")
    if len(found.damage) > 6:
        say(out, f"  … and {len(found.damage) - 6} more")
    if found.seq is not None:
        for line in versions(found.stored, found.executed):
            out.print(line, soft_wrap=True)


def versions(stored: str | None, executed: str | None) -> list[Text]:
    """Two versions of an event, as the places where they differ."""
    if stored is None or executed is None:
        one = ("the log has", stored, "red") if stored is not None else ("execution gives", executed, "green")
        return [Text.assemble((f"  only {one[0]} ", "bold"), (brief(one[1], 200), one[2]))]
    left, right = (_fields(text) for text in (stored, executed))
    lines: list[Text] = []
    for change in changes(left, right):
        lines.append(Text.assemble(("  ", ""), (printable(change.path), "bold")))
        lines.append(Text.assemble(("    - log        ", "red"), (brief(change.left, 160), "red")))
        lines.append(Text.assemble(("    + execution  ", "green"), (brief(change.right, 160), "green")))
    return lines


def _fields(text: str) -> Json:
    try:
        return dict(zip(("seq", "at", "actor", "cause", "body"), from_json(text)))
    except (msgspec.MsgspecError, ValueError, TypeError):
        return {"bytes": text}


# --- grade -------------------------------------------------------------------------------------------------


@click.command(short_help="Grade episodes, with the evidence.")
@click.argument("names", nargs=-1, metavar="[ID]...")
@all_option("ended episodes")
@click.option("--with", "other", metavar="FILE", help="By the checks of this environment file, not by their own.")
@grader_options
@click.option("--base-url", metavar="URL", help="Server of the judge.  [$COWORKENV_BASE_URL]")
@click.option("--option", "-o", "options", multiple=True, metavar="NAME=VALUE", help="Of the judge: max_tokens=4000, …")
@log_option
@json_option
def grade(
    names: tuple[str, ...],
    everything: bool,
    other: str | None,
    graders: tuple[str, ...],
    judge: str | None,
    unsafe: bool,
    base_url: str | None,
    options: tuple[str, ...],
    log_path: str,
    as_json: bool,
) -> int:
    """Grade episodes: each check with a sentence, and the numbers of the events that decide it.

    Tasks of a benchmark are graded by its own code, in a sandbox, where --graders names the checkout. Exit code 1 if
    that gives one no grade.

    \b
    coworkenv grade 3f2a --with stricter.yaml
    coworkenv grade --all --graders claw-eval/ --judge gpt-5
    """
    out = screen()
    if other is not None and graders:
        raise Told("give either --with or --graders: a grade is by the one or by the other")
    wanted = {name: value_of(value) for name, value in pairs(options, "an option").items()}
    foreign = graders_of(graders, judge, {**({"url": base_url} if base_url else {}), **wanted}, unsafe)
    failed = False
    with opened(log_path) as log:
        rows = chosen(log, names, everything, kind="episode", status="ended")
        checks = _checks_of(other)

        async def work() -> None:
            nonlocal failed
            async with log.writing():
                for row in rows:
                    if foreign is None:
                        graded, why = await grade_episode(log, row.id, checks(row)), ""
                    else:
                        graded, why = await graded_or_not(log, row.id, foreign)
                    failed = failed or bool(why)
                    if as_json:
                        plain = {"graded": graded is not None, "grade": msgspec.to_builtins(graded)}
                        print_json({"episode": row.id, **plain, **({"says": why} if why else {})})
                    else:
                        say_grade(out, row, graded, why or ("" if graded else _lacks(log, row)))

        run_until_interrupted(work)
    return int(failed)


def _lacks(log: Log, row: StreamRow) -> str:
    return no_grader(benchmark_of(document_of(list(log.read(row.id, 0, 1)))))


def _checks_of(other: str | None) -> Callable[[StreamRow], World | None]:
    """Whose checks an episode is graded by: those of its own twin, where another file has a twin of that name."""
    if other is None:
        return lambda row: None
    environment = read_environment(only_one(other))
    return lambda row: compile_environment(environment, row.twin if row.twin in environment.twins else None)


def say_grade(out: Screen, row: StreamRow, graded: Graded | None, why: str = "") -> None:
    """A grade on the screen, or why there is none."""
    heading = Text.assemble((row.id[:SHORT], "bold"), f"  {printable(name_of(row))}  {printable(row.agent)}  ")
    if graded is None:
        says = printable(why) or "this environment has no grader of its own"
        say(out, heading, (f"not graded: {says}", "yellow"))
        return
    say(out, heading, grade_text(graded.score, graded.passed), (f"  by {printable(graded.rule)}", "dim"))
    say_checks(out, graded.checks)


def say_checks(out: Screen, checks: Iterable[CheckGraded]) -> None:
    """Checks with what they found."""
    for check in checks:
        for line in check_lines(check, out.width):
            out.print(line, soft_wrap=True)


def check_lines(check: CheckGraded, width: int) -> Iterator[Text]:
    """One check, what it found, and the events that show it, in lines of at most `width` cells."""
    if not check.applies:
        mark, style = "–", "dim"
    elif check.passed:
        mark, style = "✓", "green"
    else:
        mark, style = "✗", "bold red"
    kind = "gate" if check.gate else "" if check.weight is None else f"×{check.weight}"
    head = Text.assemble((f"  {mark} ", style), (f"{kind:>4} ", "dim"), (f"{printable(check.check):<20} ", "bold"))
    says = Text(printable(check.says), "dim" if not check.applies else "")
    if check.evidence:
        shown = ", ".join(map(str, check.evidence[:8])) + (" …" if len(check.evidence) > 8 else "")
        says.append(f" [{shown}]", "blue")
    indent = head.cell_len
    for line in says.wrap(_MEASURE, max(20, width - indent)):
        line.rstrip()
        yield Text.assemble(head, line)
        head = Text(" " * indent)
