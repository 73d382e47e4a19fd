"""Where chats are found: files of demonstrations, logs, folders of those, and runs. Each is named first and read later.

Knows files and logs. Does not know what chats are used for, or tokens. What is named takes little memory, however much
there is: scores are read on the way, chats when somebody wants them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from ..agents.answers import parse_json
from ..engine.cli.learning import ACCEPTED, LOG, REJECTED
from ..engine.cli.options import opened
from ..engine.demonstrations import Reason
from ..engine.plan import EpisodeError
from ..engine.transcripts import transcript
from ..events.coherence import events_of
from ..events.event import Json
from ..events.log import Log, StreamRow
from .lessons import BadLesson
from .runs import ROLLOUTS, is_run, taught_by
from .scores import score_of, spoilt
from .splits import About, base_of

LINES = ".jsonl"
FORKS = "are forks: what one begins with is its parent's"
UNENDED = "have not ended"
SPOILT = "say nothing of the agent: a coworker failed"
_HARMLESS: tuple[Reason, ...] = ("duplicate", "share", "not graded")
"""Reasons for which a demonstration is rejected that do not make it a bad example."""


Struct = TypeVar("Struct", bound=msgspec.Struct)
LeftOut: TypeAlias = Counter[str]
"""How much was of no use, by the reason."""


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """An episode as a chat with tools, in OpenAI's format."""

    messages: tuple[dict[str, Json], ...]
    tools: tuple[dict[str, Json], ...] = ()
    unlearnt: tuple[int, ...] = ()
    """Decisions, counted from 0, that are shown and not to be learnt."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A chat that can be read, and what is known of it before."""

    environment: str
    """Without the twin's name."""
    variant: str
    """The twin; empty for the base."""
    episode: str
    seed: int
    trial: int
    score: Fraction | None
    """None where nobody has graded it."""
    good: bool
    """Worth to be imitated: an accepted demonstration, or an episode that passes."""
    bad: bool
    """What it does is wrong."""
    shown: bool
    """It was played to be shown, so each mistake is one of a kind; not tried by somebody who learns."""
    read: Callable[[], Chat]


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of demonstrations says beside its chat."""

    environment: str = ""
    variant: str = ""
    episode: str = ""
    seed: int = 0
    trial: int = 0
    score: str | None = None
    reasons: tuple[str, ...] = ()


def files_of(path: Path) -> list[Path]:
    """Files of demonstrations and logs that a word means: a file, a folder of demonstrations or of logs, or a run.

    Raises BadLesson.
    """
    if path.is_file():
        return [path]
    if (path / ACCEPTED).is_file():
        return [path / ACCEPTED, *([path / REJECTED] if (path / REJECTED).is_file() else [])]
    return logs_of(path)


def logs_of(path: Path) -> list[Path]:
    """Only logs: those of a run that it has learnt from; that of demonstrations; all of a folder. Raises BadLesson."""
    if path.is_file() and path.suffix != LINES:
        return [path]
    if (path / LOG).is_file():
        return [path / LOG]
    folder = path / ROLLOUTS if is_run(path) else path
    found = sorted(folder.glob("*.db")) if folder.is_dir() else []
    if is_run(folder.resolve().parent):
        found = [log for log in found if taught_by(log)]
    if not found:
        what = "is a file of chats, not a log" if path.is_file() else "holds no episodes"
        raise BadLesson(f"{path} {what}: name a run, a log, a folder of logs, or what `learn demos` made")
    return found


def episodes_of(log: Log, left_out: LeftOut) -> Iterator[StreamRow]:
    """Ended episodes of a log that may be learnt from. Forks are not: two of a parent would teach the same twice."""
    for row in log.rows(kind="episode"):
        if row.parent:
            left_out[FORKS] += 1
        elif row.status != "ended":
            left_out[UNENDED] += 1
        elif row.reason == "failed" and spoilt(log, row.id):
            left_out[SPOILT] += 1
        else:
            yield row


def chats(paths: Sequence[Path], about: Mapping[str, About], left_out: LeftOut) -> Iterator[Found]:
    """All chats in files and logs, in their order. Raises BadLesson, NotGraded."""
    for path in paths:
        yield from _in_file(path) if path.suffix == LINES else _in_log(path, about, left_out)


def _in_file(path: Path) -> Iterator[Found]:
    try:
        with path.open("rb") as lines:
            place = 0
            for number, line in enumerate(lines, 1):
                if line.strip():
                    said = _read(path, number, line, _Line)
                    yield Found(
                        environment=base_of(said.environment),
                        variant=said.variant,
                        episode=said.episode,
                        seed=said.seed,
                        trial=said.trial,
                        score=_fraction(said.score),
                        good=not said.reasons,
                        bad=any(reason not in _HARMLESS for reason in said.reasons),
                        shown=True,
                        read=partial(_at, path, number, place),
                    )
                place += len(line)
    except OSError as error:
        raise BadLesson(f"{path}: it cannot be read: {error.strerror}") from None


def _at(path: Path, number: int, place: int) -> Chat:
    with path.open("rb") as file:
        file.seek(place)
        found = _read(path, number, file.readline(), Chat)
    if any(message.get("role") is None for message in found.messages):
        raise BadLesson(f"{path}, line {number}: a message says no role")
    return found


def _read(path: Path, number: int, line: bytes, kind: type[Struct]) -> Struct:
    try:
        return msgspec.convert(parse_json(line.decode()), kind)
    except (ValueError, msgspec.ValidationError) as error:
        raise BadLesson(f"{path}, line {number}: it is not a demonstration: {error}") from None


def _fraction(text: str | None) -> Fraction | None:
    try:
        return None if text is None else Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _in_log(path: Path, about: Mapping[str, About], left_out: LeftOut) -> Iterator[Found]:
    with opened(str(path)) as log:
        for row in episodes_of(log, left_out):
            events = events_of(log, row.id)
            try:
                transcript(events)
            except EpisodeError:  # nobody spoke as the agent
                continue
            score = score_of(events, about, episode=row.id)
            yield Found(
                environment=base_of(row.environment),
                variant=score.twin,
                episode=row.id,
                seed=row.seed,
                trial=row.trial,
                score=score.score,
                good=score.passed,
                bad=not score.passed,
                shown=False,
                read=partial(_logged, path, row.id),
            )


def _logged(path: Path, stream: str) -> Chat:
    with opened(str(path)) as log:
        found = transcript(events_of(log, stream))
    return Chat(messages=found.messages, tools=found.tools, unlearnt=found.unlearnt)
