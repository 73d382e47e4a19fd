"""Texts that cannot be read as an environment, mended until they can: slips of the pen, names that lead nowhere.

Knows what validators 1 and 2 say of a text, and tries their edits. Does not know what an environment does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from ..document import DocumentError, load
from ..problems import InvalidEnvironment
from ..reading import problems
from ..writing import write
from .findings import Edit, Finding
from .operators import apply
from .pointing import BadEdit
from .validators.schema import read_findings

ATTEMPTS = 60
"""Edits that are tried on one text."""


class Slip(msgspec.Struct, frozen=True):
    """One edit that was made, and the finding that asked for it."""

    finding: Finding
    edit: Edit


def legible(text: str) -> tuple[str, tuple[Slip, ...]]:
    """The text with as few edits as make it readable, and the edits. Raises `InvalidEnvironment` with what is left.

    An edit is made if the problem goes away and no other comes. A text that was edited is written anew, without its
    comments.
    """
    slips: list[Slip] = []
    left = ATTEMPTS
    found = _found(text)
    while found:
        for finding, edit in _edits(found):
            left -= 1
            better = _edited(text, edit)
            if better is not None and _is_better(finding, found, now := _found(better)):
                text, found = better, now
                slips.append(Slip(finding, edit))
                break
            if left <= 0:
                raise InvalidEnvironment(problems(text))
        else:
            raise InvalidEnvironment(problems(text))
    return text, tuple(slips)


def _found(text: str) -> list[Finding]:
    return [finding for finding, _ in read_findings(text)]


def _edits(found: Sequence[Finding]) -> Iterator[tuple[Finding, Edit]]:
    for finding in found:
        for edit in sorted(finding.candidates, key=lambda edit: edit.cost):
            yield finding, edit


def _edited(text: str, edit: Edit) -> str | None:
    try:
        return write(apply(load(text).value, edit))
    except (BadEdit, DocumentError):
        return None


def _is_better(finding: Finding, before: Sequence[Finding], after: Sequence[Finding]) -> bool:
    old, new = Counter(map(_key, before)), Counter(map(_key, after))
    return new[_key(finding)] < old[_key(finding)] and not new - old


def _key(finding: Finding) -> tuple[int, str, str]:
    """Its message without the line, which an edit moves."""
    return finding.validator, finding.at, str(finding.details.get("message", finding.observed))
