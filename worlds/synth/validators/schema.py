"""Validator 1, schema: an environment has the right shape, and no part of it is there for nothing.

Knows how problems of reading become findings, and which declarations can never matter. Does not know what is referred
to (`references`). `findings` is for texts that cannot be read; it leaves dangling references to that validator.

`details` of its findings: `line` and `message` for a problem of reading, `near` (the key or word that was meant) where
there is one; `check` or `fault` for what is never looked at. It proposes `closest_key`, `replace`, `drop` and
`drop_check`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ....events.event import Json
from ...document import DocumentError, Path, load
from ...expressions import evaluate, parse
from ...problems import Problem
from ...reading import located, problems
from ...values import truth
from ..findings import Edit, Finding, pointer
from ..playing import Case

NUMBER = 1

_DANGLING = re.compile(r"\bthere is no ")
_NEAR = re.compile(r"[Dd]id you mean '?([^'?]+)'?\?")
_WORDS = (
    re.compile(r"there is no [^'$@;]*'([^']+)'"),
    re.compile(r"there is no fact ([^;]+?)(?:;|\.$)"),
    re.compile(r"'([^']+)' is not a (?:key|choice) here"),
)
_NEEDLESS = re.compile(r"is not a key here|means something only|means nothing beside|this twin changes nothing")


async def find(case: Case) -> list[Finding]:
    """Checks and faults that never matter. See the module for `details` and candidates."""
    return [*_checks(case), *_faults(case)]


def findings(text: str) -> list[Finding]:
    """What is wrong with the shape of an environment's text. What it refers to in vain is for `references.findings`."""
    return [finding for finding, dangling in read_findings(text) if not dangling]


# --- problems of reading -----------------------------------------------------------------------------------


def read_findings(text: str) -> list[tuple[Finding, bool]]:
    """All problems of a text as findings, and whether each is about a reference that leads nowhere."""
    try:
        data = load(text).value
    except DocumentError:
        data = None
    pairs = ((problem, _DANGLING.search(problem.message) is not None) for problem in problems(text))
    return [(_finding(problem, data, 2 if dangling else NUMBER), dangling) for problem, dangling in pairs]


def _finding(problem: Problem, data: Json, number: int) -> Finding:
    path = located(problem.path, data)
    found = _NEAR.search(f"{problem.message} {problem.hint or ''}")
    details: dict[str, Json] = {"message": problem.message}
    details |= {} if problem.line is None else {"line": problem.line}
    details |= {"near": found[1]} if found else {}
    return Finding(
        validator=number,
        at=pointer(*path),
        observed=str(problem),
        expected="An environment in which this is not so." if problem.hint is None else problem.hint,
        details=details,
        candidates=tuple(_edits(problem.message, path, data, found[1] if found else None)),
    )


def _edits(message: str, path: Path, data: Json, near: str | None) -> Iterator[Edit]:
    word = next((match[1] for pattern in _WORDS if (match := pattern.search(message))), None)
    there, value = _value_at(data, path)
    if near is not None and word is not None and path:
        last = path[-1]
        if there and value == word:
            yield Edit("replace", pointer(*path), near)
        elif isinstance(last, str) and (last == word or last.startswith(f"{word}.")):
            yield Edit("closest_key", pointer(*path), last.replace(word, near, 1))
        elif there:
            mended = _referring(value, word, near)
            if mended != value:
                yield Edit("replace", pointer(*path), mended)
    if there and path and _NEEDLESS.search(message):
        yield Edit("drop", pointer(*path), cost=2)


def _referring(value: Json, word: str, near: str) -> Json:
    """A value in whose texts one reference, to a fact or a step, is another."""
    if isinstance(value, str):
        return re.sub(rf"([$@]\{{?){re.escape(word)}(?![\w-])", lambda match: match[1] + near, value)
    if isinstance(value, Mapping):
        return {key: _referring(item, word, near) for key, item in value.items()}
    if isinstance(value, list):
        return [_referring(item, word, near) for item in value]
    return value


def _value_at(data: Json, path: Path) -> tuple[bool, Json]:
    """Whether something stands at a path, and what."""
    for step in path:
        if isinstance(data, Mapping) and step in data:
            data = data[str(step)]
        elif isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data):
            data = data[step]
        else:
            return False, None
    return True, data


# --- what never matters ------------------------------------------------------------------------------------


def _checks(case: Case) -> Iterator[Finding]:
    """Checks whose condition is false in every variant that has them."""
    applies: dict[str, bool] = {}
    for world in case.worlds.values():
        for name, check in world.checks.items():
            holds = check.condition is None or truth(evaluate(parse(check.condition), {}))
            applies[name] = applies.get(name, False) or holds
    for name, holds in applies.items():
        if not holds:
            at = _home_of(name, case.data)
            yield Finding(
                validator=NUMBER,
                at=at,
                observed=f"The check {name} applies in no variant.",
                expected="A twin makes its condition true.",
                details={"check": name},
                candidates=(Edit("drop_check", at, cost=3),),
            )


def _home_of(check: str, data: Mapping[str, Json]) -> str:
    """Where a check stands: in the base, or in the first twin that brings it."""
    if check in data.get("checks", {}):
        return pointer("checks", check)
    twins = (twin for twin, patch in data.get("twins", {}).items() if check in patch.get("checks", {}))
    return pointer("twins", next(twins), "checks", check)


def _faults(case: Case) -> Iterator[Finding]:
    """Faults of tools that the oracle calls in no variant."""
    called = {step.call for world in case.worlds.values() for step in world.oracle}
    for place, fault in enumerate(case.environment.faults):
        if fault.tool not in called:
            at = pointer("faults", place)
            yield Finding(
                validator=NUMBER,
                at=at,
                observed=f"A fault waits for calls of {fault.tool}, which the oracle never calls.",
                expected="Whoever does the work meets each fault in some variant.",
                details={"fault": place, "tool": fault.tool},
                candidates=(Edit("drop", at, cost=3),),
            )
