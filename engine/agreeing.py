"""Whether what a log keeps beside a stream's events, its row and its grades, says what the events say.

Knows which words of a row, and of the grade table, are only repeated from events: people look for episodes by them, so
they must not lie. Does not know whether the events themselves are sound (`events.verify`), nor what is in a row alone:
when and where an episode was recorded, and why one is suspended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..events.chain import Finding
from ..events.codec import to_json
from ..events.errors import LogError
from ..events.event import EpisodeEnded, EpisodeForked, EpisodeStarted, Event, GradingEnded, GradingStarted, Json
from ..events.log import Log, StreamRow
from .fork import fork_id
from .grading import grading_id, read_grading
from .plan import EpisodeError, agent_name, episode_id, forks_of


def disagreements(log: Log, row: StreamRow, events: Sequence[Event]) -> Iterator[Finding]:
    """Where a row, or the grade table, says something else than the events of a sound stream."""
    first = events[0].body
    if row.kind == "episode" and isinstance(first, EpisodeStarted):
        yield from _differing(row, _of_episode(first, forks_of(events)), 0)
        yield from _end(row, events[-1], EpisodeEnded)
    elif row.kind == "grading" and isinstance(first, GradingStarted):
        yield from _of_grading(log, row, first)
        yield from _end(row, events[-1], GradingEnded)
    else:
        yield Finding("row", 0, f"the row of stream {row.id} says that it is of kind {row.kind!r}, its events do not")
    for grade in log.grades(row.id):
        yield from _grade(log, row, grade.grader, grade.row)


def _of_episode(started: EpisodeStarted, forks: Sequence[tuple[int, EpisodeForked]]) -> dict[str, Json]:
    environment, _, twin = started.id.partition("@")
    said: dict[str, Json] = {
        "id": episode_id(started),
        "parent": None,
        "of": None,
        "environment": environment,
        "twin": twin or None,
        "agent": agent_name(started.agent),
        "seed": started.seed,
        "trial": started.trial,
    }
    for _, forked in forks:
        said |= {"id": fork_id(forked), "parent": forked.parent, "seed": forked.changes.get("seed", said["seed"])}
        if "agent" in forked.changes:
            said["agent"] = agent_name(forked.changes["agent"])
    return said


def _differing(row: StreamRow, said: dict[str, Json], seq: int) -> Iterator[Finding]:
    for name, value in said.items():
        shown = getattr(row, name)
        if shown != value:
            yield Finding("row", seq, f"the row of stream {row.id} says {name} {shown!r}, its events say {value!r}")


def _end(row: StreamRow, last: Event, end: type[EpisodeEnded] | type[GradingEnded]) -> Iterator[Finding]:
    """An ended stream ends with the event that says so. The reverse may be the work of a crash: it is no damage."""
    if row.status != "ended":
        return
    body = last.body
    if not isinstance(body, end):
        yield Finding("row", last.seq, f"the row of stream {row.id} says that it has ended; its last event does not")
    elif isinstance(body, EpisodeEnded):
        yield from _differing(row, {"reason": body.reason}, last.seq)


# --- gradings ----------------------------------------------------------------------------------------------


def _of_grading(log: Log, row: StreamRow, started: GradingStarted) -> Iterator[Finding]:
    yield from _differing(row, {"id": grading_id(started.digest, started.grader), "of": started.stream}, 0)
    try:
        graded = log.row(started.stream)
        digests = [digest.hex() for _, _, digest in log.read_raw(graded.id)]
    except LogError as error:
        yield Finding("row", 0, f"stream {row.id} grades an episode that cannot be read: {error}")
        return
    if started.digest not in digests:
        yield Finding("row", 0, f"stream {row.id} grades another episode {started.stream} than the one in this log")
    same = ("environment", "twin", "agent", "seed", "trial")
    yield from _differing(row, {name: getattr(graded, name) for name in same}, 0)


def _grade(log: Log, row: StreamRow, grader: str, kept: Json) -> Iterator[Finding]:
    """A grade at hand is a copy of a grading stream."""
    name = str(kept.get("id")) if isinstance(kept, dict) else ""
    try:
        graded = read_grading(log, name)
    except (LogError, EpisodeError) as error:
        yield Finding("grade", 0, f"a grade of episode {row.id} is kept, but its grading cannot be read: {error}")
        return
    if (graded.grader, graded.episode) != (grader, row.id) or to_json(graded) != to_json(kept):
        yield Finding("grade", 0, f"the grade of episode {row.id} that is kept is not what its grading {name} says")
