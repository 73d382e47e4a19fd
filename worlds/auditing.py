"""What an audit of other people's tasks says: flaws as data, and what was looked for.

Knows the shape of a flaw and the list of examinations. Does not know any benchmark, nor how anything is examined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

Severity: TypeAlias = Literal["error", "warning"]

EXAMINATIONS: Mapping[str, str] = MappingProxyType(
    {
        "readable": "tasks that cannot be read: files missing, or not what they should be",
        "identifiers": "identifiers that are there twice",
        "files": "files that are named and not there",
        "endpoints": "tools that are offered and lead nowhere",
        "schemas": "tools whose own schema does not fit what answers them",
        "values": "values that a reader of YAML 1.1 takes for something else",
        "dead-checks": "checks and actions that are declared, and that nothing can decide or meet",
        "contradictions": "checks that demand what others forbid, and weights that do not add up",
        "given-away": "points for saying back the request and what the tools say of themselves",
        "no-op": "points for doing nothing",
        "reads-only": "points for looking at everything and saying nothing",
        "met-at-start": "checks that hold before anything has happened",
        "spam": "points for calling everything and saying everything",
        "reference": "solutions that do not win by the task's own checks",
        "order": "solutions that win in one order only, without need",
        "mutation": "wrong solutions that win like the right one",
    }
)
"""Every examination, with what it finds."""


class Flaw(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with a task."""

    examination: str
    task: str
    severity: Severity = "error"
    says: str
    """What was seen, in a sentence that does not name the task: the same flaw of many tasks reads the same."""
    at: str = ""
    """Where: a file, or a place in it."""
    evidence: tuple[str, ...] = ()
    """What shows it."""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What one examination came to over all tasks."""

    examination: str
    tasks: int
    """How many could be examined so."""
    flawed: int
    flaws: int
    skipped: Mapping[str, int] = {}
    """Why others could not be, with how many."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report."""

    tasks: tuple[str, ...]
    looked: tuple[Looked, ...]
    flaws: tuple[Flaw, ...]
    mutants: int = 0
    survivors: int = 0


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """What was found about one task."""

    task: str
    flaws: tuple[Flaw, ...]
    skipped: Mapping[str, str] = {}
    """By examination, why it could not be made."""
    mutants: int = 0
    survivors: int = 0


def report(examined: Iterable[Examined]) -> Audit:
    """All tasks' flaws together, by examination."""
    found = list(examined)
    flaws = [flaw for one in found for flaw in one.flaws]
    looked = []
    for name in EXAMINATIONS:
        mine = [flaw for flaw in flaws if flaw.examination == name]
        reasons = [one.skipped[name] for one in found if name in one.skipped]
        looked.append(
            Looked(
                examination=name,
                tasks=len(found) - len(reasons),
                flawed=len({flaw.task for flaw in mine}),
                flaws=len(mine),
                skipped={reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
            )
        )
    order = list(EXAMINATIONS)
    return Audit(
        tasks=tuple(one.task for one in found),
        looked=tuple(looked),
        flaws=tuple(sorted(flaws, key=lambda flaw: order.index(flaw.examination))),
        mutants=sum(one.mutants for one in found),
        survivors=sum(one.survivors for one in found),
    )
