"""What is shown of the rows: figures by agent, the scripted tasks one by one, and what kinds of files tasks have.

Knows rows. Does not know how they came to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from coworkenv.engine.clawmark.grading import Verdicts

from .playing import Row

_FIGURES: dict[str, Callable[[Sequence[Row]], object]] = {
    "tasks": len,
    "loaded": lambda rows: sum(row.loaded for row in rows),
    "stages that ran": lambda rows: f"{sum(row.ran for row in rows)} of {sum(row.stages for row in rows)}",
    "calls": lambda rows: sum(row.calls for row in rows),
    "verified": lambda rows: sum(row.verified for row in rows),
    "graded": lambda rows: len(_graded(rows)),
    "graded alike again": lambda rows: sum(row.same for row in rows),
    "checkers": lambda rows: sum(len(each.verdicts) for each in _graded(rows)),
    "passed": lambda rows: sum(check.passed for each in _graded(rows) for check in each.verdicts),
    "raised": lambda rows: sum(bool(check.raised) for each in _graded(rows) for check in each.verdicts),
    "score": lambda rows: _mean([each.score for each in _graded(rows)]),
    "declared": lambda rows: _mean([each.declared for each in _graded(rows)]),
    "lift over nobody": lambda rows: _mean([each.lift for each in _graded(rows)]),
    "tasks with a lift": lambda rows: sum(each.lift > 0 for each in _graded(rows)),
    "errors": lambda rows: sum(bool(row.error) for row in rows),
}


def _graded(rows: Sequence[Row]) -> list[Verdicts]:
    return [row.verdicts for row in rows if row.verdicts]


def _mean(shares: Sequence[Decimal]) -> str:
    return f"{sum(shares, Decimal(0)) / max(1, len(shares)):.4f}"


def figures(rows: Sequence[Row]) -> str:
    """A column for each agent."""
    by = _by_agent(rows)
    lines = [[name, *(str(figure(each)) for each in by.values())] for name, figure in _FIGURES.items()]
    return _table(["", *by], lines)


def scripts(rows: Sequence[Row], agent: str = "scripted") -> str:
    """The score of each agent in the tasks that have a script."""
    by = _by_agent(rows)
    scores = {(row.task, row.agent): f"{row.verdicts.score:.4f}" for row in rows if row.verdicts}
    tasks = [row.task for row in by.get(agent, [])]
    return _table(["score", *by], [[task, *(scores.get((task, each), "-") for each in by)] for task in tasks])


def kinds(rows: Sequence[Row]) -> str:
    """Of each kind of file apart from plain text, how many tasks have any, and how many there are."""
    by = _by_agent(rows)
    first = next(iter(by.values()), [])
    names = list(dict.fromkeys(each.kind for row in first for each in row.kinds))
    counts = {name: [each.there for row in first for each in row.kinds if each.kind == name] for name in names}
    lines = [["tasks", *(str(len(each)) for each in counts.values())]]
    lines.append(["files", *(str(sum(each)) for each in counts.values())])
    return _table(["", *names], lines)


def refused(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each task that asks for commands in vain."""
    known = {row.task: row.refused for row in rows if row.refused}
    return (f"{task}: {', '.join(commands)}" for task, commands in known.items())


def _by_agent(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.agent or "not loaded", []).append(row)
    return found


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
