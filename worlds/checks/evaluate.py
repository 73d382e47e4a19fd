"""Checks: the verdict on each condition of an environment, at any moment of a stream.

Knows checks, claims and the frame. Does not know how verdicts become a score (`scoring`). A `Sheet` is a world's
checks, compiled once; an `Examination` is one stream in front of it. Only checks that an event may have decided are
looked at again, so a verdict after each event costs little more than one at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...events.event import Event, RecordCreated
from ..conditions import Trigger, compile_condition
from ..environment import Check, Condition
from ..expressions import evaluate, parse
from ..values import truth
from . import frame as frames
from .claims import Allowed, Counted, Distinct, Hits, Search
from .evidence import Evidence, Topic, tables_of
from .words import listed


class CheckError(ValueError):
    """A check that cannot be graded."""


class Verdict(msgspec.Struct, frozen=True):
    """What came of one check."""

    name: str
    passed: bool
    applicable: bool = True
    """False where its condition is false: it is not in the score."""
    gate: bool = False
    weight: int | None = None
    idle: bool = False
    """It holds before anything has happened, so it earns nothing by itself."""
    evidence: tuple[int, ...] = ()
    """Events of the stream that decide it."""
    says: str = ""


class Test(msgspec.Struct, frozen=True):
    """One check that applies, compiled."""

    name: str
    gate: bool
    weight: int | None
    search: Search
    idle: bool
    start: Hits
    """What its search finds in the records that the world starts with."""


class Sheet:
    """A world's checks, compiled."""

    __slots__ = ("conditions", "frame", "listeners", "skipped", "tables", "tests", "watchers")

    def __init__(
        self, checks: Mapping[str, Check], initial: Iterable[RecordCreated], frame: Sequence[str] | None = None
    ) -> None:
        """Raises `CheckError` with the name of a check that cannot be graded."""
        self.tables = tables_of(initial)
        self.frame = None if frame is None else frames.Frame(frame)
        self.conditions: list[Trigger] = []
        self.tests: list[Test] = []
        self.skipped: list[tuple[str, Check]] = []
        """Checks whose condition is false."""
        known: dict[bytes, int] = {}
        blank = Evidence(self.tables)
        for name, check in checks.items():
            try:
                if check.condition is not None and not truth(evaluate(parse(check.condition), {})):
                    self.skipped.append((name, check))
                    continue
                search = self._search(check, known)
            except ValueError as error:
                raise CheckError(f"The check {name!r} cannot be graded: {error}") from error
            blank.moments = [None] * len(self.conditions)
            start = search.start(self.tables)
            idle = search.passes(start, blank)
            self.tests.append(Test(name, check.gate, check.weight, search, idle, start))
        self.listeners: dict[Topic, list[int]] = {}
        self.watchers: dict[int, list[int]] = {}
        """The tests that depend on a condition, by its number."""
        for number, test in enumerate(self.tests):
            self.listeners.setdefault(test.search.topic, []).append(number)
            for condition in test.search.conditions:
                self.watchers.setdefault(condition, []).append(number)

    def _search(self, check: Check, known: dict[bytes, int]) -> Search:
        given = [part for part in (check.claim, check.never, check.only, check.distinct) if part is not None]
        if len(given) != 1 or check.gate is (check.weight is not None):
            raise CheckError(
                "it has either `gate: true` or a `weight`, and exactly one of `expect`, `never`, `only` and `distinct`."
            )
        if check.only is not None:
            return Allowed(check.only)
        if check.distinct is not None:
            return Distinct(check.distinct)
        claim = check.claim or check.never
        assert claim is not None
        before, after = (self._condition(condition, known) for condition in (claim.before, claim.after))
        return Counted(claim, check.never is not None, before, after)

    def _condition(self, condition: Condition | None, known: dict[bytes, int]) -> int | None:
        """The number of a condition; the same one for equal conditions."""
        if condition is None:
            return None
        key = msgspec.json.encode(condition, order="deterministic")
        if key not in known:
            known[key] = len(self.conditions)
            self.conditions.append(compile_condition(condition))
        return known[key]


class Examination:
    """One stream, fed event by event, and the standing of each check after it."""

    __slots__ = ("_dirty", "_hits", "_passed", "_strays", "_writes", "evidence", "sheet")

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.evidence = Evidence(sheet.tables, sheet.conditions, sheet.listeners)
        self._hits: list[Hits] = [dict(test.start) for test in sheet.tests]
        self._passed = [test.idle for test in sheet.tests]
        self._dirty: set[int] = set()
        self._writes = 0
        self._strays: list[int] = []
        """Events with which the agent left the frame."""

    def apply(self, event: Event) -> bool:
        """Take the next event; whether any verdict may have changed. Raises `evidence.StreamError`."""
        evidence = self.evidence
        findings = evidence.apply(event)
        if not findings and not evidence.reached and len(evidence.writes) == self._writes:
            return False
        sheet, dirty = self.sheet, self._dirty
        for finding in findings:
            for number in sheet.listeners.get(finding.topic, ()):
                sheet.tests[number].search.feed(self._hits[number], finding, evidence)
                dirty.add(number)
        for condition in evidence.reached:
            dirty.update(sheet.watchers.get(condition, ()))
        strays = len(evidence.writes) > self._writes and self._watch()
        return bool(dirty) or strays

    def _watch(self) -> bool:
        """Look at what the agent has written since the last look; whether any of it lies outside of the frame."""
        writes = self.evidence.writes
        frame = self.sheet.frame
        strays = [] if frame is None else [write.seq for write in writes[self._writes :] if not frame.allows(write)]
        self._strays += strays
        self._writes = len(writes)
        return bool(strays)

    def standing(self) -> tuple[Sequence[bool], bool]:
        """For each test whether it passes now, and whether the agent kept to the frame."""
        for number in self._dirty:
            test = self.sheet.tests[number]
            self._passed[number] = test.search.passes(self._hits[number], self.evidence)
        self._dirty.clear()
        return self._passed, not self._strays

    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts as of now, with their reasons; last the frame's and those of checks that do not apply."""
        passed, _ = self.standing()
        verdicts = []
        for test, good, hits in zip(self.sheet.tests, passed, self._hits, strict=True):
            shows = test.search.shows(hits, self.evidence)
            says = test.search.says(hits, self.evidence)
            verdicts.append(Verdict(test.name, good, True, test.gate, test.weight, test.idle, shows, says))
        if self.sheet.frame is not None:
            verdicts.append(self._frame_verdict(self.sheet.frame))
        verdicts += [
            Verdict(name, False, False, check.gate, check.weight, says="Its condition is false, so it does not count.")
            for name, check in self.sheet.skipped
        ]
        return tuple(verdicts)

    def _frame_verdict(self, frame: frames.Frame) -> Verdict:
        strays = [write for write in self.evidence.writes if not frame.allows(write)]
        seqs = tuple(dict.fromkeys(write.seq for write in strays))
        entries = dict.fromkeys(frames.entry(write) for write in strays)
        says = f"The agent changed what it may not: {listed(entries)}." if entries else "Nothing else was changed."
        return Verdict(frames.NAME, not strays, True, True, None, True, seqs, says)
