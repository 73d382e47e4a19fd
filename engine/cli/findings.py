"""What is said of a validation: the scores, how many validators passed, and each finding with what may mend it.

Knows findings and how they read. Does not know how they were found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ...events.codec import from_json, to_json
from ...events.event import Json
from ...worlds.synth.findings import Edit, Finding
from ...worlds.synth.scores import Spread
from ...worlds.synth.validating import FrameState, Outcome, Validation
from ...worlds.synth.validating import Progress as Told
from ...worlds.synth.validators.registry import VALIDATORS
from ..printable import brief, printable
from .screen import Screen, say

STYLES = {"error": "bold red", "warning": "yellow"}
MARKS = {"error": "✗", "warning": "!"}
FRAME: Mapping[FrameState, tuple[str, str] | None] = {
    "fresh": None,
    "missing": ("warning", "It is not frozen, so nobody's side effects are held against them; freeze it."),
    "stale": ("error", "It was changed after it was frozen; freeze it again."),
}
EDITS = 3
"""So many edits are shown that may mend a finding."""


def plain_validation(validation: Validation, scores: Mapping[str, Spread]) -> dict[str, Json]:
    """A validation as `--json` prints it."""
    return {
        "fair": validation.fair,
        "frame": validation.frame,
        "validators": plain_outcomes(validation.outcomes),
        "scores": msgspec.to_builtins(scores),
    }


def plain_outcomes(outcomes: Sequence[Outcome]) -> Json:
    return from_json(to_json(outcomes))


def plain_findings(findings: Sequence[Finding]) -> Json:
    return from_json(to_json(findings))


def say_validation(out: Screen, validation: Validation, scores: Mapping[str, Spread]) -> None:
    """Scores, the count of validators, the frame, and all findings."""
    for agent, spread in scores.items():
        lowest, highest = float(spread.lowest), float(spread.highest)
        span = f"{lowest:.2f}" if lowest == highest else f"{lowest:.2f} to {highest:.2f}"
        variants = f"  in {spread.variants} variant{'s' if spread.variants > 1 else ''}"
        say(out, f"  {printable(agent):<32} ", (span, "bold"), (variants, "dim"))
    say(out, f"  {count(validation.outcomes)}")
    frame = FRAME[validation.frame]
    if frame is not None:
        say(out, (f"  {MARKS[frame[0]]} ", STYLES[frame[0]]), frame[1])
    say_findings(out, validation.findings)


def count(outcomes: Sequence[Outcome]) -> str:
    """`24 of 26 validators passed, 1 with warnings, 1 failed`."""
    numbers = {
        verdict: sum(outcome.verdict == verdict for outcome in outcomes) for verdict in ("warned", "failed", "skipped")
    }
    words = {"warned": "with warnings", "failed": "failed", "skipped": "not asked, since one before them failed"}
    rest = "".join(f", {number} {words[verdict]}" for verdict, number in numbers.items() if number)
    return f"{len(outcomes) - sum(numbers.values())} of {len(outcomes)} validators passed{rest}"


def say_findings(out: Screen, findings: Sequence[Finding]) -> None:
    for finding in findings:
        say_finding(out, finding)


def say_finding(out: Screen, finding: Finding) -> None:
    """What was seen and what should have been; where; and which edits may mend it."""
    mark = (f"  {MARKS[finding.severity]} ", STYLES[finding.severity])
    name = next((v.name for v in VALIDATORS if v.number == finding.validator), str(finding.validator))
    say(out, mark, (f"{name}  ", "bold"), printable(finding.observed), " ", (printable(finding.expected), "dim"))
    if finding.at:
        say(out, ("      at ", "dim"), (printable(finding.at), "cyan"))
    for edit in sorted(finding.candidates, key=lambda edit: edit.cost)[:EDITS]:
        say(out, ("      may be mended by ", "dim"), edit_words(edit))


def edit_words(edit: Edit) -> str:
    """`add_where /checks/moved/expect/where/day = $fri.day`."""
    value = "" if edit.value is None else f" = {brief(edit.value, 120)}"
    return f"{printable(edit.op)} {printable(edit.path)}{value}".rstrip()


@contextmanager
def validating(wanted: bool) -> Iterator[Told | None]:
    """A bar on standard error that says which validator is asked; nothing where nobody looks, or it is not wanted."""
    console = Console(stderr=True)
    if not wanted or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(VALIDATORS))
        yield lambda validator, done, total: progress.update(
            task, description=validator.name, completed=done, total=total
        )
