"""Grading an episode of a τ² task by upstream's own evaluators, in a worker: a stream of its own, as every grade.

Knows which components count, and what a grade is without a judge. Does not know how evaluators are run (`hosted`), how
a judge is asked, nor how grades become events (`judged`). The evaluators see the episode as upstream's messages, run
its calls again in fresh environments and compare: nothing of the episode itself is believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from hashlib import sha256

import msgspec

from ...agents.agent import Perform
from ...events.codec import to_json
from ...events.coherence import events_of
from ...events.event import CheckGraded, Event, Json
from ...events.log import Log
from ...worlds.tau2.task import Task, from_document
from ...worlds.tau2.trajectory import Termination, termination, trajectory
from ..foreign import Answers, ForeignFailed, Worker
from ..grading import Graded, ended
from ..judged import Gradings, NeedsJudge, digits, kept, task_of
from ..judging import JUDGE, JudgeOptions, judge
from .host import Setup, worker

RULE = "tau2"
_GRADER = 1
"""Raised when the same trajectory may be given another grade than before: part of a grader's digest."""
_STOPPED = ("user_stop", "agent_stop")
_NEARLY = Decimal("0.000001")
"""What upstream takes for no difference from 1."""


class Components(msgspec.Struct, frozen=True):
    """What upstream's evaluators say of an episode."""

    ended: Termination
    basis: tuple[str, ...] = ()
    """The components that count."""
    components: Mapping[str, Decimal | None] = {}
    """All that were looked at. None for one that asks a judge, where there is none."""

    @property
    def reward(self) -> Decimal | None:
        """The reward; None where it depends on what only a judge can say."""
        if self.ended not in _STOPPED:
            return Decimal(0)
        product: Decimal | None = Decimal(1)
        for name in self.basis:
            value = self.components[name]
            if value == 0:
                return Decimal(0)
            product = None if product is None or value is None else product * value
        return product


async def components_of(asked: Worker, task: Task, events: Sequence[Event], judged: bool = False) -> Components:
    """Ask the evaluators, in a worker that hosts the checkout. A conversation that nobody stopped is worth nothing
    upstream, and they are not asked. Raises ForeignFailed, also where an evaluator raises."""
    ended = termination(task, events)
    if ended not in _STOPPED:
        return Components(ended)
    found: Json = await asked.ask(
        "grade",
        domain=task.domain,
        task=task.raw,
        options=task.options,
        solo=task.solo,
        messages=trajectory(task, events),
        judged=judged,
    )
    try:
        components = msgspec.convert({"ended": ended, **found}, Components)
        lacking = [name for name in components.basis if name not in components.components]
    except (msgspec.ValidationError, TypeError) as error:
        raise ForeignFailed("nonsense", f"The evaluators gave no grade that can be read: {error}.") from None
    if lacking:
        raise ForeignFailed(
            "nonsense", f"The reward of {task.id} is to depend on {lacking[0]:.60}, which nobody knows."
        )
    return components


async def grade_by_evaluators(
    log: Log, stream: str, setup: Setup, options: JudgeOptions | None = None, perform: Perform | None = None
) -> Graded:
    """Grade an episode by the evaluators of `setup`'s checkout; `perform` asks the judge that `options` name.

    Written once: the same episode under the same code and judge is read back. The log must be being written to. Raises
    EpisodeError, NeedsJudge where the grade depends on one and there is none, ForeignFailed where an evaluator raises,
    and Unavailable where the judge cannot be asked now.
    """
    row = ended(log, stream)
    events = events_of(log, row.id)
    task = task_of(row, events, from_document, "τ²-bench")
    judged = [JUDGE, options.settings] if options is not None else None
    digest = sha256(to_json([RULE, _GRADER, setup.checkout.digest(task.domain), judged])).hexdigest()
    if (found := kept(log, row, digest)) is not None:
        return found
    async with Gradings(log, row, digest, RULE, perform) as gradings:
        answers = None if options is None else _chat(options, gradings.perform)
        async with worker(setup, answers) as asked:
            components = await components_of(asked, task, events, judged=options is not None)
        reward = components.reward
        if reward is None:
            raise NeedsJudge(_unjudged(task, components))
        return await gradings.end(_checks(components), digits(reward), reward >= 1 - _NEARLY)


def _chat(options: JudgeOptions, perform: Perform) -> Answers:
    ask = judge(options, perform)

    async def answer(_: str, question: Json) -> Json:
        return await ask(question)

    return answer


def _unjudged(task: Task, components: Components) -> str:
    known = [f"{name} {digits(value)}" for name, value in _counting(components) if value is not None]
    return (
        f"the reward of {task.id} depends on what only a judge can say; name a model that judges. "
        f"Without one: {', '.join(known) or 'nothing'}"
    )


def _counting(components: Components) -> list[tuple[str, Decimal | None]]:
    return [(name, components.components[name]) for name in components.basis]


def _checks(components: Components) -> tuple[CheckGraded, ...]:
    """How it ended, and each component; those that do not count are told, too."""
    stopped = components.ended in _STOPPED
    checks = [CheckGraded(check="ended", passed=stopped, gate=True, says=components.ended)]
    for name, value in components.components.items():
        says = "unjudged" if value is None else f"{digits(value)} of 1"
        counts = name in components.basis
        checks.append(CheckGraded(check=name, passed=value == 1, gate=counts, applies=counts, says=says))
    return tuple(checks)
