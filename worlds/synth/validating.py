"""Validation: all validators over one environment, and what they came to.

Knows the order of validators, and when the rest make no sense. Does not know any validator, nor how findings are told
or mended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from ...events.event import Json
from ..compiling import is_stale, plain
from ..environment import Environment
from ..problems import InvalidEnvironment, Problem
from ..reading import located
from .findings import Finding, pointer
from .freezing import case_of
from .playing import Case, Play
from .validators.registry import FOUNDATIONS, VALIDATORS, chosen
from .validators.validator import Validator

Verdict: TypeAlias = Literal["passed", "warned", "failed", "skipped"]
FrameState: TypeAlias = Literal["fresh", "missing", "stale"]
Progress: TypeAlias = Callable[[Validator, int, int], None]
"""Told before each validator: which, how many are done, and how many there are."""

_REFERENCES = 2


class Outcome(msgspec.Struct, frozen=True):
    """What one validator came to."""

    number: int
    name: str
    verdict: Verdict
    """`warned` has warnings only; `skipped` was not asked, since one that the rest builds on has failed."""
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found about an environment that can be read."""

    environment: Environment
    """As it was judged: frozen, except where it could not be played or `quick` was asked for."""
    frame: FrameState
    """Whether its frame was there and right. Where it was not, the one was taken that freezing would give it."""
    outcomes: tuple[Outcome, ...]
    case: Case | None
    """Everything that was played; None where nothing could be."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for outcome in self.outcomes for finding in outcome.findings)

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def sound(self) -> bool:
        """Whether every validator was asked, and none found an error. The frame is not looked at."""
        return all(outcome.verdict in ("passed", "warned") for outcome in self.outcomes)

    @property
    def fair(self) -> bool:
        """Sound, and not changed since it was frozen."""
        return self.sound and self.frame != "stale"


async def validate(
    environment: Environment,
    play: Play,
    *,
    quick: bool = False,
    only: Collection[int] | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Ask all validators, those that play nothing (`quick`), or those with the numbers in `only`.

    One that fails and that the rest builds on (`registry.FOUNDATIONS`) is the last; those after it are skipped.
    """
    validators = chosen(only, quick=quick)
    frame: FrameState = "missing" if environment.frozen is None else "stale" if is_stale(environment) else "fresh"
    try:
        case = Case(environment, play) if quick else await case_of(environment, play)
    except InvalidEnvironment as error:
        outcomes = _unplayable(environment, error, validators)
        return Validation(environment=environment, frame=frame, outcomes=outcomes, case=None)
    outcomes = await examine(case, validators, progress)
    return Validation(environment=case.environment, frame=frame, outcomes=outcomes, case=case)


async def examine(
    case: Case, validators: Sequence[Validator] = VALIDATORS, progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """What these validators say of a case, in their order."""
    outcomes: list[Outcome] = []
    halted = False
    for done, validator in enumerate(validators):
        if halted:
            outcomes.append(Outcome(validator.number, validator.name, "skipped"))
            continue
        if progress is not None:
            progress(validator, done, len(validators))
        outcomes.append(await asked(validator, case))
        halted = outcomes[-1].verdict == "failed" and validator.number in FOUNDATIONS
    return tuple(outcomes)


async def asked(validator: Validator, case: Case) -> Outcome:
    """What one validator says of a case."""
    return _outcome(validator, await validator.find(case))


def _outcome(validator: Validator, findings: Iterable[Finding]) -> Outcome:
    found = tuple(findings)
    failed = any(finding.severity == "error" for finding in found)
    verdict: Verdict = "failed" if failed else "warned" if found else "passed"
    return Outcome(validator.number, validator.name, verdict, found)


def _unplayable(
    environment: Environment, error: InvalidEnvironment, validators: Sequence[Validator]
) -> tuple[Outcome, ...]:
    """The outcomes where there is no world to look at: `references` speaks for what cannot be compiled."""
    data = plain(environment)
    found = tuple(_finding(problem, data) for problem in error.problems)
    rest = (Outcome(v.number, v.name, "skipped") for v in validators if v.number != _REFERENCES)
    return (Outcome(_REFERENCES, "references", "failed", found), *rest)


def _finding(problem: Problem, data: Json) -> Finding:
    observed = f"{problem.message} {problem.hint or ''}".rstrip()
    at = pointer(*located(problem.path, data))
    return Finding(validator=_REFERENCES, at=at, observed=observed, expected="The environment can be compiled.")
