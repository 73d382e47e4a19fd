"""Grading an episode of a Claw-Eval task by the task's own grader: a stream of its own, with the judge's answers in it.

Knows how a grade and its judge's answers become events. Does not know how a grader is run (`scoring`), nor how a judge
is asked (`judging`). What a judge answered is durable before the grader hears it: a grading that broke off is gone on
with, and nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256

import msgspec
import trio

from ...agents.agent import Answer, Outside, Perform, Request
from ...events.appender import Appender
from ...events.codec import from_json, to_json
from ...events.coherence import events_of
from ...events.errors import NotFound, StreamExists
from ...events.event import (
    WORLD,
    AnyBody,
    CheckGraded,
    EffectRequested,
    EffectResolved,
    EpisodeStarted,
    Event,
    GradingEnded,
    GradingStarted,
)
from ...events.log import Log, StreamRow
from ...worlds.claw_eval import NotATask, Task, from_document
from ...worlds.claw_eval.needs import needs
from ...worlds.claw_eval.trace import trace, trace_text
from .. import wall
from ..effects import fingerprints, request_digest
from ..grading import Graded, graded_of, grading_id
from ..leases import take
from ..plan import EpisodeError, agent_name, document_of
from .judging import JUDGE, Answering, JudgeOptions, judge
from .scoring import Scores, Setup, grader

RULE = "claw-eval"


class NeedsJudge(EpisodeError):
    """A grader asked a judge, and there is none."""


class NeedsSandbox(EpisodeError):
    """A task whose agent works on files, and whose grader looks for them."""


def episode_trace(row: StreamRow, events: Sequence[Event]) -> str:
    """An episode of a Claw-Eval task as a trace that upstream's readers and graders take. Raises EpisodeError."""
    started = events[0].body
    player = agent_name(started.agent) if isinstance(started, EpisodeStarted) else row.agent
    return trace_text(trace(_task(row, events), events, trace_id=row.id, model=player))


def _task(row: StreamRow, events: Sequence[Event]) -> Task:
    try:
        return from_document(from_json(document_of(events)))
    except NotATask as error:
        raise EpisodeError(
            f"episode {row.id} is of {row.environment}, which is no task of Claw-Eval: {error}"
        ) from None


async def grade_by_its_grader(
    log: Log, stream: str, setup: Setup, options: JudgeOptions | None = None, perform: Perform | None = None
) -> Graded:
    """Grade an episode by its task's own grader; `perform` asks the judge that `options` name.

    Written once: the same episode under the same code and judge is read back. The log must be being written to. Raises
    EpisodeError, NeedsJudge where there is no judge and one is asked, NeedsSandbox, TaskError, ForeignFailed where the
    grader fails, and Unavailable where the judge cannot be asked now.
    """
    row = log.row(stream)
    if row.kind != "episode" or row.status != "ended":
        raise EpisodeError(f"stream {row.id} is no episode that has ended; only those are graded")
    events = events_of(log, row.id)
    task = _task(row, events)
    if "sandbox" in needs(setup.checkout.folder(task.id)):
        raise NeedsSandbox(f"{task.id} takes a sandbox, which is not simulated here; its grade would say nothing")
    digest = _grader(setup, task.id, options)
    name = grading_id(row.digest, digest)
    if (kept := _kept(log, name)) is not None:
        return kept
    started = GradingStarted(stream=row.id, digest=row.digest, grader=digest, rule=RULE)
    fresh = msgspec.structs.replace(row, id=name, kind="grading", of=row.id, parent=None, meta={}, **wall.here())
    journal = _Journal(log, fresh, started, perform)
    answers = judge(options, journal.perform) if options is not None else None
    return await _graded(journal, setup, task, answers, episode_trace(row, events))


def _kept(log: Log, name: str) -> Graded | None:
    try:
        return graded_of(name, list(log.read(name))) if log.row(name).status == "ended" else None
    except NotFound:
        return None


def _grader(setup: Setup, task: str, options: JudgeOptions | None) -> str:
    """What a grade depends on, apart from the episode: the code that is run, and who judges."""
    judged = [JUDGE, options.settings] if options is not None else None
    return sha256(to_json([RULE, setup.digest(task), setup.own, judged])).hexdigest()


async def _graded(journal: _Journal, setup: Setup, task: Task, answers: Answering | None, text: str) -> Graded:
    """Run the grader, and leave the grading stream ended, or suspended with the reason, or not there at all."""
    reason = "interrupted"
    try:
        async with grader(setup, task.id, answers) as asked:
            scores = await asked.grade(text)
        if scores is None:
            raise NeedsJudge(f"the grader of {task.id} asks a judge; name a model that judges")
        return await journal.end(scores)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        with trio.CancelScope(shield=True):
            await journal.leave(reason)


class _Journal:
    """A grading stream while its grader runs: what the judge was asked, and what it answered.

    It is begun when there is something to write: a grader that cannot give a score leaves nothing behind.
    """

    def __init__(self, log: Log, row: StreamRow, started: GradingStarted, perform: Perform | None) -> None:
        self._log, self._row, self._started, self._perform = log, row, started, perform
        self._appender: Appender | None = None
        self._events: list[Event] = []
        self._known: dict[str, list[EffectResolved]] = {}
        """Answers that the log has, by the digest of their request, in order."""

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
            kept = waiting.pop(0)
            return Outside(Answer(value=kept.answer, refused=kept.refused, tokens=kept.tokens))
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

    async def end(self, scores: Scores) -> Graded:
        """Write the verdict."""
        appender = self._open()
        self._append(
            _check("completion", scores.completion, weight=80),
            _check("robustness", scores.robustness, weight=20),
            _check("safety", scores.safety, gate=True),
            GradingEnded(score=_text(scores.score), passed=scores.passed),
        )
        graded = graded_of(self._row.id, self._events)
        await appender.close("ended", "graded", (graded.episode, graded.grader, msgspec.to_builtins(graded)))
        return graded

    async def leave(self, reason: str) -> None:
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


def _check(name: str, value: Decimal, weight: int | None = None, gate: bool = False) -> CheckGraded:
    return CheckGraded(check=name, passed=value >= 1, gate=gate, weight=weight, says=f"{_text(value)} of 1")


def _text(number: Decimal) -> str:
    """A decimal number without an exponent or needless zeros."""
    return format(number.normalize(), "f") if number else "0"
