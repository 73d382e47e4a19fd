"""A grading stream while foreign graders run: what their judge was asked, what it answered, and then the verdict.

Knows how a grade and its judge's answers become events. Does not know graders, nor how a judge is asked. What a judge
answered is durable before the grader hears it: a grading that broke off is gone on with, and nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from types import TracebackType
from typing import TypeVar

import msgspec
import trio

from ..agents.agent import Answer, Outside, Perform, Request
from ..events.appender import Appender
from ..events.codec import from_json, to_json
from ..events.coherence import events_of
from ..events.errors import NotFound, StreamExists
from ..events.event import (
    WORLD,
    AnyBody,
    CheckGraded,
    EffectRequested,
    EffectResolved,
    Event,
    GradingEnded,
    GradingStarted,
    Json,
)
from ..events.log import Log, StreamRow
from ..worlds.imported import NotATask
from . import wall
from .effects import fingerprints, request_digest
from .grading import Graded, graded_of, grading_id
from .leases import take
from .plan import EpisodeError, document_of

_Task = TypeVar("_Task")


class NeedsJudge(EpisodeError):
    """A grader asked a judge, and there is none."""


def kept(log: Log, row: StreamRow, grader: str) -> Graded | None:
    """The grade that the log has of an episode by the grader of this digest."""
    name = grading_id(row.digest, grader)
    try:
        return graded_of(name, list(log.read(name))) if log.row(name).status == "ended" else None
    except NotFound:
        return None


def task_of(row: StreamRow, events: Sequence[Event], read: Callable[[Json], _Task], benchmark: str) -> _Task:
    """The task of an episode, from its document; `read` raises NotATask. Raises EpisodeError where it is another's."""
    try:
        return read(from_json(document_of(events)))
    except NotATask as error:
        raise EpisodeError(
            f"episode {row.id} is of {row.environment}, which is no task of {benchmark}: {error}"
        ) from None


def digits(number: Decimal) -> str:
    """A decimal number without an exponent or needless zeros."""
    return format(number.normalize(), "f") if number else "0"


class Gradings:
    """The grading of one episode by one grader: an asynchronous context, in which it ends or breaks off.

    Its stream is begun when there is something to write: a grader that cannot give a score leaves nothing behind.
    """

    def __init__(self, log: Log, row: StreamRow, grader: str, rule: str, perform: Perform | None = None) -> None:
        """`row` is the episode's; `perform` asks the judge, where there is one."""
        name = grading_id(row.digest, grader)
        self._log = log
        self._row = msgspec.structs.replace(
            row, id=name, kind="grading", of=row.id, parent=None, meta={}, **wall.here()
        )
        self._started = GradingStarted(stream=row.id, digest=row.digest, grader=grader, rule=rule)
        self._perform = perform
        self._appender: Appender | None = None
        self._events: list[Event] = []
        self._known: dict[str, list[EffectResolved]] = {}
        """Answers that the log has, by the digest of their request, in order."""

    async def __aenter__(self) -> Gradings:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        reason = f"{type(error).__name__}: {error}" if isinstance(error, Exception) else "interrupted"
        with trio.CancelScope(shield=True):
            await self._leave(reason)

    def _open(self) -> Appender:
        if self._appender is not None:
            return self._appender
        try:
            self._appender = self._log.begin(self._row, wall.holder(), wall.now())
        except StreamExists:
            self._appender = take(self._log, self._row.id)  # left by a grading that broke off
            self._events = events_of(self._log, self._row.id)
        requested = {event.seq: event.body for event in self._events if isinstance(event.body, EffectRequested)}
        for event in self._events:
            if isinstance(event.body, EffectResolved):
                self._known.setdefault(requested[event.body.effect].digest, []).append(event.body)
        if not self._events:
            self._append(self._started)
        return self._appender

    def _append(self, *bodies: AnyBody) -> int:
        """The `seq` of the first of them. All at virtual time 0: a verdict takes no time."""
        assert self._appender is not None
        seq = len(self._events)
        new = [Event(seq + n, 0, WORLD, 0 if seq + n else None, body) for n, body in enumerate(bodies)]
        self._appender.append(new)
        self._events += new
        return seq

    async def perform(self, request: Request) -> Outside:
        """What the judge answers: from the log if it is there, else asked, and made durable."""
        appender = self._open()
        digest = request_digest(request, fingerprints(request.prompt))
        if waiting := self._known.get(digest):
            found = waiting.pop(0)
            return Outside(Answer(value=found.answer, refused=found.refused, tokens=found.tokens))
        if self._perform is None:
            raise NeedsJudge("a judge is named, and there is no way to ask it")
        seq = self._append(
            EffectRequested(
                kind=request.kind, digest=digest, bound=0, settings=request.settings, prompt=tuple(request.prompt)
            )
        )
        await appender.barrier()
        outside = await self._perform(request)
        for name, content in outside.observed.items():
            appender.observe(len(self._events), to_json(content), name)
        self._append(_resolved(seq, outside.answer))
        await appender.barrier()
        return outside

    async def end(self, checks: tuple[CheckGraded, ...], score: str, passed: bool) -> Graded:
        """Write the verdict."""
        appender = self._open()
        self._append(*checks, GradingEnded(score=score, passed=passed))
        graded = graded_of(self._row.id, self._events)
        await appender.close("ended", "graded", (graded.episode, graded.grader, msgspec.to_builtins(graded)))
        return graded

    async def _leave(self, reason: str) -> None:
        """Give the stream up where it was begun and has not ended."""
        if self._appender is None or self._appender.failed or isinstance(self._events[-1].body, GradingEnded):
            return
        await self._appender.close("suspended", reason)


def _resolved(effect: int, answer: Answer) -> EffectResolved:
    return EffectResolved(
        effect=effect,
        due=0,
        answer=answer.value,
        refused=answer.refused,
        tokens=answer.tokens,
        prompt_tokens=answer.prompt_tokens,
        counted=answer.counted,
    )
