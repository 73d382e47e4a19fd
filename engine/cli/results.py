"""What is said about results: a line as each comes, a table and figures at the end.

Knows results and how they read. Does not know how they came about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec
from rich.text import Text

from ...events.event import Json
from ...events.log import StreamRow
from ...worlds.checks.scoring import trials
from ..clocks import length
from ..grading import Graded
from ..printable import printable
from ..rollouts import Result
from .screen import Screen, say
from .tables import print_table

SHORT = 10
"""Digits of an id that are shown: enough to be unique in any log that fits on a disk."""


FAILED = "failed"
"""The reason of an episode that an actor's own error has ended."""


def name_of(row: StreamRow) -> str:
    """An environment's id with its twin."""
    return f"{row.environment}@{row.twin}" if row.twin else row.environment


def plain(result: Result, kept: bool = False) -> dict[str, Json]:
    """A result as `--json` prints it."""
    data: dict[str, Json] = msgspec.to_builtins(result)
    return {"type": "result", **data, "kept": kept}


def result_line(result: Result, kept: bool = False) -> Text:
    """A result on one line."""
    name = (result.id or "-")[:SHORT]
    line = Text(f"{name:<{SHORT}} ", "dim")
    line.append_text(verdict(result))
    line.append(f"  {printable(result.environment)}  ", "bold")
    line.append(f"{printable(result.agent)}  ")
    trial = f"trial {result.trial}  " if result.trial else ""
    line.append(f"{trial}{result.events} events  {length(result.at)}", "dim")
    if kept:
        line.append("  (was in the log)", "dim")
    if result.status != "ended":
        line.append(f"  {printable(result.reason)}", "yellow")
    return line


def verdict(result: Result) -> Text:
    """`1.00 passed`, or why there is no score."""
    if result.status == "error":
        return Text("error      ", "bold red")
    if result.status == "suspended":
        return Text("suspended  ", "bold yellow")
    if result.grade is None:
        return Text("not graded ", "dim")
    return grade_text(result.grade.score, result.grade.passed)


def grade_text(score: str, passed: bool) -> Text:
    """A score and whether it is enough."""
    return Text(f"{float(score):.2f} " + ("passed" if passed else "failed"), "green" if passed else "red")


def print_results(console: Screen, results: Sequence[Result]) -> None:
    """A table with one row for each environment and agent; their trials are added up."""
    groups = grouped(results)
    cells = list(zip(*map(_cells, groups.values())))
    figures = ("score", "passed", "events", "virtual time")
    columns = {
        "environment": [environment for environment, _ in groups],
        "agent": [agent for _, agent in groups],
        **dict(zip((*figures, "episode"), cells)),
    }
    print_table(console, columns, spare=("events", "virtual time"), right=figures)


def _cells(group: Sequence[Result]) -> list[Text | str]:
    """Score, passed, events, time and episode of the trials of one environment and agent."""
    grades = [result.grade for result in group if result.grade is not None]
    events = sum(result.events for result in group) // len(group)
    at = sum(result.at for result in group) // len(group)
    average = "⌀ " if len(group) > 1 else ""
    name = Text((group[0].id or "-")[:SHORT] if len(group) == 1 else f"{len(group)} trials", "dim")
    if not grades:
        open_ones = [result for result in group if result.status != "ended"]
        words = Text(open_ones[0].status, "yellow") if open_ones else Text("not graded", "dim")
        return [words, "", f"{average}{events}", f"{average}{length(at)}", name]
    mean = sum((Fraction(grade.score) for grade in grades), Fraction(0)) / len(grades)
    passed = sum(grade.passed for grade in grades)
    style = "green" if passed == len(group) else "yellow" if passed else "red"
    mark = ("yes" if passed else "no") if len(group) == 1 else f"{passed} of {len(group)}"
    return [
        Text(f"{average}{float(mean):.2f}", style),
        Text(mark, style),
        f"{average}{events}",
        f"{average}{length(at)}",
        name,
    ]


def grouped(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """The results by environment and agent."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.environment, result.agent), []).append(result)
    return groups


def summary(results: Sequence[Result], whole: bool = True) -> dict[str, Json]:
    """The figures of a run, by agent, in plain values; of one that was stopped (not `whole`) without pass^n."""
    agents = {
        agent: _figures([r for r in results if r.agent == agent], whole)
        for agent in dict.fromkeys(r.agent for r in results)
    }
    return {"type": "summary", "episodes": len(results), **_counts(results), "agents": agents}


def _counts(results: Sequence[Result]) -> dict[str, int]:
    return {status: sum(r.status == status for r in results) for status in ("ended", "suspended", "error")}


def _figures(results: Sequence[Result], whole: bool) -> dict[str, Json]:
    """Mean score, pass@1 and pass^n: means over environments; n is the smallest number of graded trials of any.

    `failed` counts those that ended because somebody's own code failed; they are graded as any other.
    """
    graded: dict[str, list[Graded]] = {}
    for result in results:
        if result.grade is not None:
            graded.setdefault(result.environment, []).append(result.grade)
    counts = _counts(results)
    count = sum(map(len, graded.values()))
    failed = sum(result.status == "ended" and result.reason == FAILED for result in results)
    figures: dict[str, Json] = {"graded": count, "not_graded": counts.pop("ended") - count, **counts, "failed": failed}
    if not graded:
        return {**figures, "mean": None, "pass_at_1": None, "trials": None, "pass_hat": None}
    fewest = min(map(len, graded.values()))
    by_scores = [(grades[0].rule, [Fraction(grade.score) for grade in grades]) for grades in graded.values()]
    means = [sum(scores, Fraction(0)) / len(scores) for _, scores in by_scores]
    at_1 = [trials(rule, scores, 1).pass_at for rule, scores in by_scores]
    hat = [trials(rule, scores, fewest).pass_hat for rule, scores in by_scores] if whole else []
    figures |= {"mean": _mean(means), "pass_at_1": _mean(at_1)}
    return {**figures, "trials": fewest if whole else None, "pass_hat": _mean(hat) if whole else None}


def _mean(values: Sequence[Fraction]) -> float:
    return round(float(sum(values, Fraction(0)) / len(values)), 6)


def say_summary(console: Screen, results: Sequence[Result], whole: bool = True) -> None:
    """The table, the figures of each agent, and what was not graded or could not be done."""
    print_results(console, results)
    for agent, figures in summary(results, whole)["agents"].items():
        own = [result for result in results if result.agent == agent]
        say(console, (f"{printable(agent)}  ", "bold"), *_words(figures, own))
    missing = dict.fromkeys(name for result in results for name in result.unavailable)
    if missing:
        say(console, ("Tools that are not available here were called: ", "yellow"), printable(", ".join(missing)))


def no_grader(benchmark: str) -> str:
    """Why an episode of a benchmark's task, or of an environment of ours, has no grade."""
    return f"it is {_of(benchmark, 1)}" if benchmark else "this environment has no grader of its own"


def _of(benchmark: str, many: int) -> str:
    return f"{'a task' if many == 1 else 'tasks'} of {benchmark}, whose own code grades: add --graders CHECKOUT"


def _ended(benchmark: str, many: int) -> str:
    if not benchmark:
        return "ended in environments that have no grader of their own"
    return f"{'is' if many == 1 else 'are'} {_of(benchmark, many)}"


def _without(figures: Mapping[str, Any], results: Sequence[Result]) -> Iterator[str]:
    """How many episodes have no grade, and why."""
    ended = [result for result in results if result.status == "ended" and result.grade is None]
    refused = sum(bool(result.ungraded) for result in ended)
    for benchmark, many in Counter(result.benchmark for result in ended if not result.ungraded).items():
        yield f"{many} {_ended(benchmark, many)}"
    for count, words in (
        (refused, "not graded by their benchmark's code"),
        (figures["suspended"], "suspended"),
        (figures["error"], "could not be played"),
    ):
        if count:
            yield f"{count} {words}"


def _words(figures: Mapping[str, Any], results: Sequence[Result]) -> list[str | tuple[str, str]]:
    """The figures of one agent in a sentence: scores, then how many have none and why."""
    without = list(_without(figures, results))
    failed = f"   {figures['failed']} ended by a failure of the agent or a coworker" if figures["failed"] else ""
    if figures["mean"] is None:
        return [(f"none graded: {', '.join(without)}", "yellow"), (failed, "red")]
    hat = f"   pass^{figures['trials']} {figures['pass_hat']:.2f}" if (figures["trials"] or 0) > 1 else ""
    words: list[str | tuple[str, str]] = [f"mean {figures['mean']:.2f}   pass@1 {figures['pass_at_1']:.2f}{hat}"]
    if without:
        words.append((f"   {figures['graded']} graded, {', '.join(without)}", "yellow"))
    return [*words, (failed, "red")]
