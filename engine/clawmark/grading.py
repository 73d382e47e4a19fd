"""Grading an episode of a ClawMark task by its own checkers, in a worker: a stream of its own, as every grade.

Knows that a stage's checkers see the records as they were when its turn was over, and that the stages, run again, must
do what the log has. Does not know how checkers are run (`hosted`). An episode that ended early is graded as if its
agent had done nothing from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256

import msgspec

from ...events.codec import to_json
from ...events.coherence import events_of
from ...events.event import CheckGraded, Event
from ...events.log import Log
from ...worlds.clawmark.task import Task, from_document
from ...worlds.clawmark.turns import turns
from ...worlds.clawmark.world import world_of
from ...worlds.records import State
from ..foreign import ForeignFailed, Worker
from ..grading import Graded, ended
from ..hosting import Differs
from ..judged import Gradings, digits, kept, task_of
from .host import Setup, given, worker
from .modalities import modalities

RULE = "clawmark"
_GRADER = 2


class Verdict(msgspec.Struct, frozen=True):
    """What a checker says."""

    part: str
    id: str
    weight: Decimal
    passed: bool = False
    raised: str = ""
    evaluated: bool = True


class Verdicts(msgspec.Struct, frozen=True):
    verdicts: tuple[Verdict, ...]
    idle: Decimal
    """The score of doing nothing."""
    failed: str = ""
    """Why a stage failed, if one did."""

    @property
    def score(self) -> Decimal:
        """Upstream's: weight passed of the weight of all that were evaluated."""
        return _share([each for each in self.verdicts if each.evaluated])

    @property
    def declared(self) -> Decimal:
        """Weight passed of the weight of the whole rubric."""
        return _share(self.verdicts)

    @property
    def lift(self) -> Decimal:
        """The declared score less that of doing nothing."""
        return self.declared - self.idle


def _share(verdicts: Sequence[Verdict]) -> Decimal:
    whole = sum((each.weight for each in verdicts), Decimal(0))
    passed = sum((each.weight for each in verdicts if each.passed), Decimal(0))
    return passed / whole if whole else Decimal(0)


async def verdicts_of(asked: Worker, setup: Setup, task: Task, events: Sequence[Event]) -> Verdicts:
    """Run stages and checkers on an episode's records. Raises ForeignFailed, and Differs where a stage does otherwise
    than in the log."""
    folder = str(setup.checkout.folder(task.id))
    opened = await asked.ask("open", folder=folder, start=task.start.isoformat())
    rows = [(each["part"], each["id"]) for each in opened["checkers"]]
    found: dict[tuple[str, str], tuple[bool, str]] = {}
    failed = ""

    async def check(part: str, at: int, records: State | None) -> None:
        plain = None if records is None else given(records)
        for each in await asked.ask("check", part=part, at=at, records=plain):
            found[part, each["id"]] = (each["passed"], each["raised"])

    played = turns(world_of(task), events)
    at = 0
    for turn in played:
        answer = await asked.ask("stage", number=turn.number, at=turn.at, records=given(turn.before))
        if to_json(answer) != to_json(turn.answer):
            raise Differs(f"stage {turn.number} of {task.id}, run again, does something else than in the log")
        at = turn.ended
        await check(f"stage{turn.number}", at, turn.after)
    for number in range(len(played), len(task.times)):
        try:
            await asked.ask("stage", number=number, at=at)
        except ForeignFailed as failure:
            if failure.kind != "raised":
                raise
            failed = failure.says
            break
        await check(f"stage{number}", at, None)
    await check("final", at, None)
    weights = {(each.part, each.id): each.weight for each in task.checkers}
    verdicts = tuple(
        Verdict(part, name, weights[part, name], *found.get((part, name), (False, "")), (part, name) in found)
        for part, name in rows
    )
    idle = _share([Verdict(each.part, each.id, each.weight, each.idle) for each in task.checkers])
    return Verdicts(verdicts, idle, failed)


async def grade_by_checkers(log: Log, stream: str, setup: Setup) -> Graded:
    """Grade an episode by the checkers of `setup`'s checkout.

    Written once: the same episode under the same code is read back. The log must be being written to. Raises
    EpisodeError, ForeignFailed, and Differs.
    """
    row = ended(log, stream)
    events = events_of(log, row.id)
    task = task_of(row, events, from_document, "ClawMark")
    digest = sha256(to_json([RULE, _GRADER, setup.checkout.digest(task.id)])).hexdigest()
    if (found := kept(log, row, digest)) is not None:
        return found
    async with Gradings(log, row, digest, RULE) as gradings:
        async with worker(setup, task.id) as asked:
            verdicts = await verdicts_of(asked, setup, task, events)
        checks = (*_checks(verdicts), _read(events))
        return await gradings.end(checks, _text(verdicts.score), verdicts.score == 1)


def _checks(verdicts: Verdicts) -> tuple[CheckGraded, ...]:
    checks = [
        CheckGraded(
            check=f"{each.part}.{each.id}",
            passed=each.passed,
            applies=each.evaluated,
            says=f"weight {digits(each.weight)}" + (f"; {each.raised}" if each.raised else ""),
        )
        for each in verdicts.verdicts
    ]
    says = f"{_text(verdicts.declared)} of all; {_text(verdicts.idle)} for nothing; lift {_text(verdicts.lift)}"
    return (*checks, CheckGraded(check="declared", passed=verdicts.declared == 1, applies=False, says=says))


def _read(events: Sequence[Event]) -> CheckGraded:
    """A remark: how much of what was no plain text the agent could read."""
    found = modalities(events)
    says = ", ".join(map(str, found)) or "nothing but plain text was there"
    return CheckGraded(check="read", passed=all(each.opened == each.read for each in found), applies=False, says=says)


def _text(share: Decimal) -> str:
    return digits(round(share, 6))
