"""Claims: how often what an environment describes is there, kept up to date finding by finding.

Knows claims and findings. Does not know weights, gates or scores. A search is compiled once and never changes; what it
has found in one stream are its `Hits`, a plain dictionary that `feed` updates. It looks at each finding once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from ...events.event import AGENT
from ..conditions import matcher
from ..environment import Claim, Condition, Only
from ..matching import equal_to, identity
from ..service import Record
from .evidence import START, Evidence, Finding, Topic
from .words import Words, listed, shown

Tables: TypeAlias = Mapping[str, Mapping[str, Record]]


class ClaimError(ValueError):
    """A claim that says nothing, or more than one thing."""


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One thing that a search found."""

    position: int
    seq: int
    found: int = 0
    """Its `Words`."""


Hits: TypeAlias = dict[object, Hit]
"""By key of the record, or by number."""


class Search(Protocol):
    """What one check looks for."""

    topic: Topic
    conditions: tuple[int, ...]
    """Numbers of the conditions on which its answer depends, too."""

    def start(self, tables: Tables) -> Hits:
        """What is there before the first event."""
        ...

    def feed(self, hits: Hits, finding: Finding, evidence: Evidence) -> None: ...

    def passes(self, hits: Hits, evidence: Evidence) -> bool: ...

    def shows(self, hits: Hits, evidence: Evidence) -> tuple[int, ...]:
        """The events that decide it, in order."""
        ...

    def says(self, hits: Hits, evidence: Evidence) -> str:
        """A sentence about what was found, and what was wanted."""
        ...


class Counted:
    """`expect` and `never`: whether there are as many as the claim says."""

    def __init__(self, claim: Claim, never: bool, before: int | None = None, after: int | None = None) -> None:
        """`before` and `after` are numbers of conditions in the evidence. Raises `ClaimError`, `PatternError`."""
        self.topic, self._noun = _topic(claim)
        self._claim, self._never, self._before, self._after = claim, never, before, after
        self.conditions = tuple(number for number in (before, after) if number is not None)
        self._words = Words(claim)
        self._numbered = any(number is not None for number in (claim.count, claim.at_least, claim.at_most))
        self._together = claim.said is not None and not self._numbered
        """All messages are one text. Where a number is given, each message counts for itself."""
        self._matches = matcher(claim.where if claim.record is not None else claim.args)

    def start(self, tables: Tables) -> Hits:
        hits: Hits = {}
        if self.topic[0] == "record" and not self._claim.new:
            for key, record in tables.get(self.topic[1], {}).items():
                self._take(hits, key, record, START, START)
        return hits

    def feed(self, hits: Hits, finding: Finding, evidence: Evidence) -> None:
        kind, name = finding.topic
        if kind == "record":
            if finding.subject is None or (self._claim.new and (name, finding.key) not in evidence.origins):
                hits.pop(finding.key, None)
            else:
                self._take(hits, finding.key, finding.subject, finding.position, finding.seq)
            return
        found = self._words.complete
        if kind == "said":
            found = self._words.in_text(finding.subject)
        elif kind == "called":
            if not self._matches(finding.subject):
                return
            found = self._words.in_value(finding.subject)
        if found == self._words.complete or (self._together and found):
            hits[len(hits)] = Hit(finding.position, finding.seq, found)

    def _take(self, hits: Hits, key: str, record: Record, position: int, seq: int) -> None:
        if self._matches(record) and self._words.in_value(record) == self._words.complete:
            hits[key] = Hit(position, seq, self._words.complete)
        else:
            hits.pop(key, None)

    def _inside(self, hits: Hits, evidence: Evidence) -> list[Hit]:
        """The hits between the moments of `after` and `before`."""
        if not self.conditions:
            return list(hits.values())
        before = None if self._before is None else evidence.moments[self._before]
        after = None if self._after is None else evidence.moments[self._after]
        if self._after is not None and after is None:
            return []
        return [
            hit
            for hit in hits.values()
            if (before is None or hit.position < before.began) and (after is None or hit.position > after.held)
        ]

    def _number(self, inside: Sequence[Hit]) -> int:
        """How many there are; messages taken together are one or none."""
        return int(_union(inside) == self._words.complete) if self._together and inside else len(inside)

    def _holds(self, number: int) -> bool:
        claim = self._claim
        if not self._numbered:
            return number >= 1
        return (
            (claim.count is None or number == claim.count)
            and (claim.at_least is None or number >= claim.at_least)
            and (claim.at_most is None or number <= claim.at_most)
        )

    def passes(self, hits: Hits, evidence: Evidence) -> bool:
        return self._holds(self._number(self._inside(hits, evidence))) is not self._never

    def shows(self, hits: Hits, evidence: Evidence) -> tuple[int, ...]:
        moments = [evidence.moments[number] for number in self.conditions]
        seqs = {moment.held for moment in moments if moment is not None}
        seqs.update(hit.seq for hit in self._inside(hits, evidence) if hit.seq != START)
        return tuple(sorted(seqs))

    def says(self, hits: Hits, evidence: Evidence) -> str:
        inside = self._inside(hits, evidence)
        if self._together and self._words.names:
            return self._says_together(_union(inside), evidence)
        number = len(inside)
        sentence = f"{number} {self._noun[number != 1]}{self._when(evidence)}; {self._wanted()}"
        if self.topic[0] == "record" and not inside and not self._never and self._claim.where:
            sentence += self._nearest(evidence)
        return sentence + "."

    def _says_together(self, found: int, evidence: Evidence) -> str:
        missing = self._words.missing(found)
        said = f"do not say {listed(missing, ' and ')}" if missing else f"say {listed(self._words.names, ' and ')}"
        return f"The {self._noun[1]}{self._when(evidence)} {said}{', which is not allowed' * self._never}."

    def _wanted(self) -> str:
        claim = self._claim
        limits = " and ".join(
            f"{word} {number}"
            for word, number in (("exactly", claim.count), ("at least", claim.at_least), ("at most", claim.at_most))
            if number is not None
        )
        if self._never:
            return f"never {limits} allowed" if limits else "none allowed"
        return f"{limits or 'at least 1'} wanted"

    def _when(self, evidence: Evidence) -> str:
        words = ""
        for word, condition, number in (
            ("before", self._claim.before, self._before),
            ("after", self._claim.after, self._after),
        ):
            if condition is not None and number is not None:
                words += f" {word} {_in_words(condition)}"
                words += " (which never happened)" if evidence.moments[number] is None else ""
        return words

    def _nearest(self, evidence: Evidence) -> str:
        """The record that lacks least of `where`, and what it has instead."""
        equals = {name: equal_to(value) for name, value in self._claim.where.items()}
        best: tuple[int, str, list[str]] | None = None
        for key, record in evidence.tables.get(self.topic[1], {}).items():
            wrong = [name for name, equal in equals.items() if name not in record or not equal(record[name])]
            if wrong and len(wrong) < len(equals) and (best is None or len(wrong) < best[0]):
                best = (len(wrong), key, [f"{name} is {shown(record.get(name))}" for name in wrong])
        return "" if best is None else f"; the nearest is {best[1]}, whose {' and '.join(best[2])}"


def _union(hits: Sequence[Hit]) -> int:
    found = 0
    for hit in hits:
        found |= hit.found
    return found


def _topic(claim: Claim) -> tuple[Topic, tuple[str, str]]:
    """What to listen to, and what one and several of it are called."""
    subjects = [
        (kind, name, nouns)
        for kind, name, nouns in (
            ("record", claim.record, (f"record of {claim.record}", f"records of {claim.record}")),
            ("called", claim.called, (f"call of {claim.called}", f"calls of {claim.called}")),
            ("said", claim.said, (f"message to {claim.said}", f"messages to {claim.said}")),
            ("gave", claim.gave, (f"message that gives {claim.gave}", f"messages that give {claim.gave}")),
            ("mark", claim.mark, (f"message with mark {claim.mark}", f"messages with mark {claim.mark}")),
            ("fired", claim.fired, (f"firing of {claim.fired}", f"firings of {claim.fired}")),
        )
        if name is not None
    ]
    if len(subjects) != 1:
        raise ClaimError(
            "A claim names one of `record`, `called`, `said`, `gave`, `mark` and `fired`; "
            f"this one names {len(subjects)}."
        )
    kind, name, nouns = subjects[0]
    return (kind, name), nouns


def _in_words(condition: Condition) -> str:
    named = (
        ("called", condition.called),
        ("mark", condition.mark),
        ("said", condition.said),
        ("gave", condition.gave),
        ("fired", condition.fired),
    )
    return ", ".join(f"{kind} {name}" for kind, name in named if name is not None)


class _Created:
    """Records that the agent created, and that are still there."""

    conditions: tuple[int, ...] = ()

    def __init__(self, only: Only) -> None:
        self.topic: Topic = ("record", only.record)
        self._only = only

    def start(self, tables: Tables) -> Hits:
        return {}

    def _is_watched(self, finding: Finding, evidence: Evidence) -> bool:
        origin = evidence.origins.get((finding.topic[1], finding.key))
        return finding.subject is not None and origin is not None and origin.actor == AGENT

    def passes(self, hits: Hits, evidence: Evidence) -> bool:
        return not hits

    def shows(self, hits: Hits, evidence: Evidence) -> tuple[int, ...]:
        return tuple(sorted(hit.seq for hit in hits.values()))

    def _list(self, hits: Hits, evidence: Evidence) -> str:
        table = evidence.tables.get(self.topic[1], {})
        return listed(f"{key} ({self._only.by} is {shown(table[str(key)].get(self._only.by))})" for key in hits)


class Allowed(_Created):
    """`only`: each record that the agent created has one of the values in the field. A hit is one that has not."""

    def __init__(self, only: Only) -> None:
        super().__init__(only)
        self._equals = [equal_to(value) for value in only.values]

    def feed(self, hits: Hits, finding: Finding, evidence: Evidence) -> None:
        hits.pop(finding.key, None)
        if self._is_watched(finding, evidence):
            value = finding.subject.get(self._only.by)
            if not any(equal(value) for equal in self._equals):
                hits[finding.key] = Hit(finding.position, finding.seq)

    def says(self, hits: Hits, evidence: Evidence) -> str:
        if not hits:
            return f"No new record of {self._only.record} has another {self._only.by} than allowed."
        return f"New in {self._only.record} and not allowed: {self._list(hits, evidence)}."


class Distinct(_Created):
    """`distinct`: no two records that the agent created have the same value in the field. A hit is one of a pair."""

    def feed(self, hits: Hits, finding: Finding, evidence: Evidence) -> None:
        """Any change can make or break pairs, so they are looked for again; agents create few records."""
        hits.clear()
        collection, table = finding.topic[1], evidence.tables[finding.topic[1]]
        seen: set[object] = set()
        for (other, key), origin in evidence.origins.items():
            if other == collection and origin.actor == AGENT:
                value = identity(table[key].get(self._only.by))
                if value in seen:
                    hits[key] = Hit(origin.position, origin.position)
                seen.add(value)

    def says(self, hits: Hits, evidence: Evidence) -> str:
        if not hits:
            return f"All new records of {self._only.record} differ in {self._only.by}."
        return f"New in {self._only.record} with a {self._only.by} that is there already: {self._list(hits, evidence)}."
