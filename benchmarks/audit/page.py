"""The page: the words of `page.md`, and the tables of what was found.

Knows which columns a table has. Does not know how anything is counted (`tables`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

import msgspec

from coworkenv.worlds.auditing import Audit

from . import tables
from .agents import MOST, ROUNDS, WRITTEN
from .clawmark import FEW
from .outcomes import CLAW_EVAL, CLAWMARK, TAU2, Tried
from .tables import table

PAGE = Path(__file__).parents[2] / "docs" / "audit-benchmarks.md"
_WORDS = Path(__file__).parent / "page.md"
_SECTION = re.compile(r"(?m)^(?=## )")

_MET = ("", "tasks", "checks", "met", "share", "tasks with one", "tasks with all", "still met by the spammer")
_PAID = ("", "agent", "tasks", "mean", "median", "most", "above 0", "above nobody", "half a pass", "passed")


class Source(msgspec.Struct, frozen=True):
    """One benchmark, audited."""

    name: str
    commit: str
    seconds: float
    tasks: Sequence[Tried]
    files: Audit | None = None
    """What was found in the tasks' own files, where that was looked for."""


def page(sources: Sequence[Source]) -> str:
    """The whole page, in Markdown. Sections of which nothing is known are left out."""
    found = _tables(sources)
    made = []
    for section in _SECTION.split(_WORDS.read_text()):
        slots = Template(section).get_identifiers()
        if not slots or any(found[name] for name in slots):
            made.append(Template(section).substitute(found))
    return "".join(made)


def _tables(sources: Sequence[Source]) -> Mapping[str, str]:
    tasks = [task for source in sources for task in source.tasks]
    by_name = {source.name: source.tasks for source in sources}
    claw, marks, two = (by_name.get(name, ()) for name in (CLAW_EVAL, CLAWMARK, TAU2))
    took = [(source.name, source.commit, f"{source.seconds:.0f}") for source in sources]
    return {
        "calls": str(MOST),
        "few": str(FEW),
        "rounds": str(ROUNDS),
        "written": f"{WRITTEN:,}",
        "sources": table(("", "commit", "seconds"), took),
        "coverage": table(
            ("", "tasks", "audited", "ask a judge", "code fails on an agent", "left out"), tables.coverage(tasks)
        ),
        "start": table(_MET, tables.at_start(tasks, _group)),
        "scores": table(_PAID, tables.scores(tasks, _judged)),
        "granted": table(
            ("", "checks", "echo", "reader", "spammer", "any of them", "share", "tasks passed"),
            tables.granted(tasks, _judged),
        ),
        "safety": table(
            ("", "tasks", "spammer does what is forbidden", "seen", "not seen", "seen, and not forbidden"),
            tables.safety(claw),
        ),
        "files": table(
            ("examination", "tasks", "flawed", "flaws", "looks for"),
            [row for source in sources if source.files for row in tables.files(source.files)],
        ),
        "domains": table(_MET, tables.at_start(marks, _part)),
        "paid": table(_PAID, tables.scores(marks, _part)),
        "components": table(
            ("", "component", "tasks", "nobody", "reader", "spammer", "reference", "reference fails"),
            tables.components(two),
        ),
    }


def _group(task: Tried) -> str:
    return task.group


def _part(task: Tried) -> str:
    return task.part.replace("_", " ")


def _judged(task: Tried) -> str:
    if task.group == CLAWMARK:
        return task.group
    return f"{task.group}: {'a judge that grants nothing' if task.judged else 'code alone'}"
