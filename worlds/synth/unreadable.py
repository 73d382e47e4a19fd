"""Texts that cannot be read as environments: their problems as findings, and the edits that the findings propose made.

Knows problems as `reading` tells them, and repair operators. Does not know who wrote the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...events.event import Json
from ..document import DocumentError, parse
from ..problems import Problem
from ..reading import problems
from ..writing import write
from .findings import Edit, Finding, pointer
from .operators import apply
from .pointing import BadEdit, read

ROUNDS = 6
"""How often the problems that are left are looked at again."""
TRIES = 40
"""Edits that are tried for one text."""

_MEANT = re.compile(r"Did you mean '([^']+)'\?")


def findings_in(text: str) -> list[Finding]:
    """Everything that keeps a text from being read, with edits where a hint says what may have been meant."""
    try:
        data = parse(text)
    except DocumentError:
        data = None
    return [_finding(problem, data) for problem in problems(text)]


def mended(text: str) -> str | None:
    """The text after edits that leave fewer problems each; None where some are left that no edit mends."""
    try:
        data = parse(text)
    except DocumentError:
        return None
    left, tries = len(problems(text)), TRIES
    for _ in range(ROUNDS):
        begun = left
        for edit in [edit for finding in findings_in(text) for edit in finding.candidates]:
            if left == 0 or tries == 0:
                break
            tries -= 1
            try:
                changed = apply(data, edit)
            except BadEdit:
                continue
            candidate = write(changed)
            now = len(problems(candidate))
            if now < left:
                data, text, left = changed, candidate, now
        if left in (0, begun):
            break
    return text if left == 0 else None


def _finding(problem: Problem, data: Json) -> Finding:
    at = _pointer(problem.path, data)
    return Finding(
        validator=1,
        at=at,
        observed=f"{f'Line {problem.line}: ' if problem.line else ''}{problem.message}",
        expected=problem.hint or "An environment that can be read.",
        details={} if data is None else {"path": problem.path},
        candidates=tuple(_edits(problem, at, data)),
    )


def _edits(problem: Problem, at: str, data: Json) -> Iterator[Edit]:
    """What a hint proposes: another key, another word, quotes; a key that nothing is like is dropped."""
    meant = _MEANT.search(problem.hint or "")
    try:
        value = read(data, at) if at else None
    except BadEdit:
        return
    if problem.message.endswith("is not a key here."):
        if meant:
            yield Edit("closest_key", at, meant[1])
        yield Edit("drop", at, cost=2)
    elif meant and isinstance(value, str) and value in problem.message:
        yield Edit("replace", at, meant[1])
    elif problem.hint == "Put it in quotes.":
        yield Edit("replace", at, str(value))
    elif problem.message == "this twin changes nothing.":
        yield Edit("drop", at)


def _pointer(path: str, data: Json) -> str:
    """The pointer to a place that is named as people read it, as far as it leads anywhere. Keys may hold dots."""
    steps: list[str | int] = []
    while path:
        here = data if isinstance(data, dict) else {}
        keys = [key for key in here if path == key or path.startswith((f"{key}.", f"{key}["))]
        number = re.match(r"\[([0-9]+)\]", path)
        if keys:
            key = max(keys, key=len)
            steps.append(key)
            data, path = data[key], path[len(key) :].removeprefix(".")
        elif number and isinstance(data, list) and int(number[1]) < len(data):
            steps.append(int(number[1]))
            data, path = data[int(number[1])], path[number.end() :].removeprefix(".")
        else:
            break
    return pointer(*steps)
