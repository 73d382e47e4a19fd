"""`report`: the grades of a log as a leaderboard.

Knows the table. Does not know how standings come about (`engine.standings`).
"""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from fractions import Fraction

import click
import msgspec
from rich.text import Text

from ...events.log import StreamRow
from ..printable import printable
from ..standings import Graded, standings
from .grades import grades_of
from .options import json_option, log_option, opened, whole
from .results import name_of
from .screen import print_json, say, screen
from .tables import print_table

_GRADE = "`coworkenv grade --all` gives them one, with `--graders CHECKOUT` where they are a benchmark's."


@click.command(short_help="Tell who stands where, by all grades.")
@click.option("--environment", "-e", metavar="GLOB", help="Only environments (id or id@twin) that match.")
@click.option("--agent", "-a", metavar="GLOB", help="Only agents that match.")
@click.option("--trials", "k", type=whole(1, 1000), help="Of each environment; missing ones score 0.  [as many as any]")
@log_option
@json_option
def report(environment: str | None, agent: str | None, k: int | None, log_path: str, as_json: bool) -> int:
    """Sum the grades of a log up as a leaderboard: mean, pass@k and pass^k of each agent, over K trials.

    An environment with fewer graded trials than K is taken to have failed the others, as leaderboards do.

    \b
    coworkenv report --trials 3
    """
    with opened(log_path) as log:
        grades = grades_of(log)
        rows = [
            row
            for row in log.rows(kind="episode")
            if row.parent is None
            and (environment is None or fnmatchcase(name_of(row), environment))
            and (agent is None or fnmatchcase(row.agent, agent))
        ]
    graded = [
        Graded(row.agent, name_of(row), grades[row.id]["rule"], Fraction(grades[row.id]["score"]))
        for row in rows
        if row.id in grades
    ]
    trials = k or max(_counted(graded), default=1)
    found = standings(graded, trials)
    if as_json:
        for standing in found:
            plain = msgspec.structs.asdict(standing)
            shares = {name: float(value) for name, value in plain.items() if isinstance(value, Fraction)}
            print_json({"type": "standing", "trials": trials, **plain, **shares})
        return 0
    out = screen()
    without = _without(rows, grades)
    if found:
        columns: dict[str, list[str | Text]] = {
            "agent": [printable(each.agent) for each in found],
            "rule": [each.rule for each in found],
            "tasks": [str(each.environments) for each in found],
            "mean": [f"{float(each.mean):.3f}" for each in found],
            "pass@1": [f"{float(each.pass_at_1):.3f}" for each in found],
            f"pass@{trials}": [f"{float(each.pass_at):.3f}" for each in found],
            f"pass^{trials}": [f"{float(each.pass_hat):.3f}" for each in found],
            "avg passes": [str(each.averages) for each in found],
            "any": [str(each.anys) for each in found],
            "all": [str(each.alls) for each in found],
        }
        if trials == 1:
            del columns["pass^1"]  # It is pass@1, and so is what stands there under that name.
        print_table(out, columns, spare=("avg passes", "any", "all"), right=tuple(columns)[2:])
    if missing := sum(each.missing for each in found):
        say(out, (f"{missing} trials are missing, and count as 0.", "yellow"))
    if without:
        say(out, (f"{without} episodes have no grade; {_GRADE}", "yellow"))
    if not found and not without:
        say(out, "No episodes.")
    return 0


def _counted(graded: list[Graded]) -> list[int]:
    """How many trials there are of each environment and agent."""
    return list(Counter((each.agent, each.environment, each.rule) for each in graded).values())


def _without(rows: list[StreamRow], grades: dict[str, dict[str, object]]) -> int:
    return sum(row.id not in grades for row in rows)
