"""Grading an episode: a stream of its own, about the episode's stream, in the same log.

Knows how a grade becomes events and how the grade table is kept. Does not know how a check is decided
(`worlds.checks`). The graded episode is never changed; another grader, or a longer episode, is another grading stream.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec

from ..events.coherence import events_of
from ..events.errors import LeaseHeld, LogCorrupt, StreamEnded, StreamExists
from ..events.event import WORLD, AnyBody, CheckGraded, Event, GradingEnded, GradingStarted, Json
from ..events.log import Grade as KeptGrade
from ..events.log import Log, StreamRow
from ..worlds.checks.evaluate import Verdict
from ..worlds.checks.evidence import StreamError
from ..worlds.checks.scoring import Grade, Rubric
from ..worlds.world import World
from . import wall
from .leases import take
from .plan import EpisodeError, document_of, world_from

_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")


class Graded(msgspec.Struct, frozen=True, kw_only=True):
    """A grade, as the grading stream `id` has it."""

    id: str
    episode: str
    rule: str
    grader: str
    score: str
    passed: bool
    checks: tuple[CheckGraded, ...] = ()


async def grade_episode(
    log: Log, stream: str, world: World | None = None, events: Sequence[Event] | None = None
) -> Graded | None:
    """Grade an episode by its own checks, or by those of `world`; None where there is no scoring rule.

    Written once: the same episode under the same grader is read back. The log must be being written to. `events` are
    the episode's, where they are at hand. Raises EpisodeError for one that has not ended, or that another world's
    grader cannot read.
    """
    row = ended(log, stream)
    events = events_of(log, row.id) if events is None else events
    rubric = _rubric(world.document) if world else _rubric(document_of(events))
    if rubric is None:
        return None
    try:
        verdict = rubric.grade(events)
    except StreamError as error:
        own = world_from(document_of(events))
        other = f"; the episode is of {own.id}, the file describes {world.id}" if world is not None else ""
        raise EpisodeError(f"episode {row.id} cannot be graded so: {str(error).rstrip('.')}{other}") from error
    name = grading_id(row.digest, verdict.grader)
    return await _written(log, row, name, verdict)


def ended(log: Log, stream: str) -> StreamRow:
    """The row of an episode that can be graded. Raises EpisodeError for a grading, and for one that has not ended."""
    row = log.row(stream)
    if row.kind != "episode":
        raise EpisodeError(f"stream {row.id} is a grading; only episodes are graded")
    if row.status != "ended":
        raise EpisodeError(
            f"episode {row.id} has not ended, and what it may still earn is not known; resume it first. How far it is "
            "on its way, `Grader` of `worlds.checks.scoring` tells"
        )
    return row


@lru_cache(maxsize=256)
def _rubric(document: str) -> Rubric | None:
    """The grader of the world with this document; compiled once, since many episodes share a world."""
    world = world_from(document)
    return None if world.scoring is None else Rubric(world)


def grading_id(digest: str, grader: str) -> str:
    """Sixteen hexadecimal digits: the name of the grading of a log with this last digest by this grader."""
    return sha256(f"{digest} {grader}".encode()).hexdigest()[:16]


async def _written(log: Log, row: StreamRow, name: str, verdict: Grade) -> Graded:
    """Write the grading stream, and with it the row of the table; or read what is there."""
    events = grading_events(row, verdict)
    graded = graded_of(name, events)
    stream = msgspec.structs.replace(row, id=name, kind="grading", of=row.id, parent=None, meta={}, **wall.here())
    kept = (row.id, graded.grader, msgspec.to_builtins(graded))
    try:
        try:
            appender = log.begin(stream, wall.holder(), wall.now())
        except StreamExists:
            if log.row(name).status == "ended":
                log.put_grade(*kept)
                return graded
            appender = take(log, name)  # left by a grading that was killed before it was committed
        appender.append(events[appender.count :])
        await appender.close("ended", "graded", kept)
    except (StreamExists, StreamEnded, LeaseHeld):
        pass  # another process has written it meanwhile, or is about to: the same events, since they have the same name
    return graded


def grading_events(row: StreamRow, verdict: Grade) -> list[Event]:
    """The events of a grading stream. All at virtual time 0: a verdict takes no time."""
    started = GradingStarted(stream=row.id, digest=row.digest, grader=verdict.grader, rule=verdict.rule)
    ended = GradingEnded(score=verdict.score, passed=verdict.passed)
    bodies: list[AnyBody] = [started, *map(_check, verdict.verdicts), ended]
    return [Event(seq, 0, WORLD, 0 if seq else None, body) for seq, body in enumerate(bodies)]


def _check(verdict: Verdict) -> CheckGraded:
    return CheckGraded(
        check=verdict.name,
        passed=verdict.passed,
        gate=verdict.gate,
        weight=verdict.weight,
        applies=verdict.applicable,
        evidence=tuple(verdict.evidence),
        says=verdict.says,
    )


def read_grading(log: Log, stream: str) -> Graded:
    """A grade from its grading stream."""
    events = list(log.read(stream))
    return graded_of(stream, events)


def graded_of(stream: str, events: Sequence[Event]) -> Graded:
    """What a grading stream says. Raises EpisodeError if it is none, or not whole."""
    started, ended = (events[0].body, events[-1].body) if events else (None, None)
    if not isinstance(started, GradingStarted) or not isinstance(ended, GradingEnded):
        raise EpisodeError(f"stream {stream} is not a whole grading: it does not begin and end like one")
    if _NUMBER.fullmatch(ended.score) is None:
        raise EpisodeError(f"stream {stream} is not a grading: its score is {ended.score!r:.40}, which is no number")
    return Graded(
        id=stream,
        episode=started.stream,
        rule=started.rule,
        grader=started.grader,
        score=ended.score,
        passed=ended.passed,
        checks=tuple(event.body for event in events if isinstance(event.body, CheckGraded)),
    )


def kept_grades(log: Log, stream: str | None = None) -> list[Graded]:
    """The grades at hand, of one episode or of all. Raises LogCorrupt for what no grade can be."""
    return [_kept(grade) for grade in log.grades(stream)]


def _kept(grade: KeptGrade) -> Graded:
    try:
        graded = msgspec.convert(grade.row, Graded)
    except msgspec.ValidationError as error:
        raise LogCorrupt(f"a grade that is kept of episode {grade.stream} is damaged: {error}") from error
    if _NUMBER.fullmatch(graded.score) is None or (graded.episode, graded.grader) != (grade.stream, grade.grader):
        raise LogCorrupt(f"a grade that is kept of episode {grade.stream} is damaged: it is another's, or no number")
    return graded


def rebuild_grades(log: Log) -> list[Json]:
    """Make the grade table anew from the grading streams: it is a cache of them."""
    log.clear_grades()
    rows: list[Json] = []
    for row in log.rows(kind="grading", status="ended"):
        graded = read_grading(log, row.id)
        rows.append(msgspec.to_builtins(graded))
        log.put_grade(graded.episode, graded.grader, rows[-1])
    return rows
