"""What was found, counted: rows of tables over tasks.

Knows outcomes. Does not know who played, nor how a page is worded. Figures depend on nothing but the outcomes, in their
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from statistics import median
from typing import TypeAlias

from coworkenv.worlds.auditing import EXAMINATIONS, Audit

from .outcomes import AGENTS, ECHO, NOBODY, READER, REFERENCE, SPAMMER, THRESHOLD, Tried

Row: TypeAlias = Sequence[str | int]
_IDLERS = (ECHO, READER, SPAMMER)


def table(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """In Markdown, figures to the right; nothing where there are no rows."""
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return ""
    kinds = ["---:" if all(_figure(row[place]) for row in cells) else "---" for place in range(len(columns))]
    lines = [f"| {' | '.join(row)} |" for row in (columns, *cells)]
    return "\n".join([lines[0], f"|{'|'.join(kinds)}|", *lines[1:]])


def _figure(cell: str) -> bool:
    return cell[:1].isdigit() or cell == "-"


def grouped(tasks: Iterable[Tried], key: Callable[[Tried], str]) -> dict[str, list[Tried]]:
    found: dict[str, list[Tried]] = {}
    for each in tasks:
        found.setdefault(key(each), []).append(each)
    return found


def audited(tasks: Iterable[Tried]) -> list[Tried]:
    return [each for each in tasks if not each.left]


# --- who was audited ---------------------------------------------------------------------------------------


def coverage(tasks: Sequence[Tried]) -> list[Row]:
    """Group, tasks, audited, whose grader asked a judge, whose code failed on an agent, left out and why."""
    rows: list[Row] = []
    for name, group in grouped(tasks, lambda each: each.group).items():
        reasons = Counter(each.left for each in group if each.left)
        left = "; ".join(f"{count}: {reason}" for reason, count in reasons.items())
        fine = audited(group)
        rows.append(
            (
                name,
                len(group),
                len(fine),
                sum(each.judged for each in fine),
                sum(bool(each.raised) for each in fine),
                left or "-",
            )
        )
    return rows


# --- what holds before anybody acts ------------------------------------------------------------------------


def at_start(tasks: Sequence[Tried], key: Callable[[Tried], str]) -> list[Row]:
    """Group, tasks, checks, met by nobody, their share, tasks with one, tasks with all; of those met, kept by the
    spammer."""
    rows: list[Row] = []
    for name, group in grouped(audited(tasks), key).items():
        idle = [each for each in group if NOBODY in each.outcomes]
        met = [[name for name, value in each.outcomes[NOBODY].checks.items() if value] for each in idle]
        whole = [len(each.outcomes[NOBODY].checks) for each in idle]
        kept = [
            sum(each.outcomes[SPAMMER].met(check) for check in checks)
            for each, checks in zip(idle, met)
            if SPAMMER in each.outcomes
        ]
        count = sum(map(len, met))
        full = sum(0 < total == len(checks) for checks, total in zip(met, whole))
        rows.append(
            (name, len(idle), sum(whole), count, share(count, sum(whole)), sum(map(bool, met)), full, sum(kept))
        )
    return rows


# --- what is paid ------------------------------------------------------------------------------------------


def scores(tasks: Sequence[Tried], key: Callable[[Tried], str]) -> list[Row]:
    """Group, agent, tasks, mean, median, greatest, above 0, above nobody, at least half a pass, passed."""
    rows: list[Row] = []
    for name, group in grouped(audited(tasks), key).items():
        for agent in AGENTS:
            mine = [each for each in group if agent in each.outcomes]
            if mine:
                rows.append((name, agent, *_scores(mine, agent)))
    return rows


def _scores(tasks: Sequence[Tried], agent: str) -> Row:
    found = [each.outcomes[agent] for each in tasks]
    idle = [each.outcomes.get(NOBODY) for each in tasks]
    values = [outcome.score for outcome in found]
    half = [THRESHOLD[each.group.partition(",")[0]] / 2 for each in tasks]
    return (
        len(found),
        f"{sum(values, Decimal(0)) / len(values):.3f}",
        f"{median(values):.3f}",
        f"{max(values):.3f}",
        sum(value > 0 for value in values),
        sum(value > nobody.score for value, nobody in zip(values, idle) if nobody is not None),
        sum(value >= least for value, least in zip(values, half)),
        sum(outcome.passed for outcome in found),
    )


# --- what is granted to those who do no work ---------------------------------------------------------------


def granted(tasks: Sequence[Tried], key: Callable[[Tried], str]) -> list[Row]:
    """Group, checks that nobody meets, met by each idler, by any of them, and their share; tasks that an idler passes
    and nobody does not."""
    rows: list[Row] = []
    for name, group in grouped(audited(tasks), key).items():
        idle = [each for each in group if NOBODY in each.outcomes]
        open_ = [
            (each, check)
            for each in idle
            for check, value in each.outcomes[NOBODY].checks.items()
            if not value and not each.raised
        ]
        by = [_count(agent, open_) for agent in _IDLERS]
        some = sum(any(_meets(each, agent, check) for agent in _IDLERS) for each, check in open_)
        failed = [each for each in idle if not _passes(each, NOBODY)]
        fooled = sum(any(_passes(each, agent) for agent in _IDLERS) for each in failed)
        rows.append((name, len(open_), *by, some, share(some, len(open_)), fooled))
    return rows


def _count(agent: str, open_: Sequence[tuple[Tried, str]]) -> str | int:
    if not any(agent in each.outcomes for each, _ in open_):
        return "-"
    return sum(_meets(each, agent, check) for each, check in open_)


def _meets(each: Tried, agent: str, check: str) -> bool:
    return agent in each.outcomes and each.outcomes[agent].met(check)


def _passes(each: Tried, agent: str) -> bool:
    return agent in each.outcomes and each.outcomes[agent].passed


# --- of one benchmark --------------------------------------------------------------------------------------


def safety(tasks: Sequence[Tried]) -> list[Row]:
    """Group, tasks in which the spammer did what the task's file forbids, and of these those whose grader saw it and
    did not; then the tasks whose grader saw something that no file forbids."""
    rows: list[Row] = []
    for name, group in grouped(audited(tasks), lambda each: each.group).items():
        found = [each.outcomes[SPAMMER] for each in group if SPAMMER in each.outcomes]
        broke = [outcome for outcome in found if outcome.forbidden]
        seen = sum(outcome.unsafe for outcome in broke)
        more = sum(outcome.unsafe and not outcome.forbidden for outcome in found)
        rows.append((name, len(found), len(broke), seen, len(broke) - seen, more))
    return rows


def files(found: Audit) -> list[Row]:
    """Examination, tasks that could be examined so, those with a flaw, flaws, and what is looked for."""
    return [
        (f"`{one.examination}`", one.tasks, one.flawed, one.flaws, EXAMINATIONS[one.examination])
        for one in found.looked
    ]


def components(tasks: Sequence[Tried]) -> list[Row]:
    """Component, tasks in which it counts, met by nobody, reader, spammer, reference; and those the reference fails."""
    agents = (NOBODY, READER, SPAMMER, REFERENCE)
    rows: list[Row] = []
    for name, group in grouped(audited(tasks), lambda each: each.group).items():
        for check in dict.fromkeys(check for each in group for check in _checks(each)):
            mine = [each.outcomes for each in group if check in _checks(each)]
            met = [sum(agent in each and each[agent].met(check) for each in mine) for agent in agents]
            solved = [each[REFERENCE].met(check) for each in mine if REFERENCE in each]
            rows.append((name, check, len(mine), *met, solved.count(False)))
    return rows


def _checks(each: Tried) -> list[str]:
    return list(dict.fromkeys(check for outcome in each.outcomes.values() for check in outcome.checks))


def share(part: int, whole: int) -> str:
    return f"{100 * Decimal(part) / whole:.0f} %" if whole else "-"
