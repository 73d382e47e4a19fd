"""Repair: findings propose edits, and those that help and do no harm are made.

Knows when an edit has mended a finding, and what it may not break. Does not know what an edit does (`operators`), nor
what validators look for. Nothing here is left to chance: the same environment is always repaired in the same way.

A round takes the first validator that fails and goes through its errors. For each, the cheapest edit is made that

* can be made, and leaves an environment that can be read and played,
* asks no less of an agent than before (`weakening`), unless a validator asked that looks for false negatives,
* makes this error go away, without another one of the same validator,
* and makes no other validator fail that had passed, or find more errors than it did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from ..compiling import plain
from ..environment import Environment
from ..problems import InvalidEnvironment
from ..reading import problems, read_environment
from ..writing import write
from .findings import Edit, Finding
from .freezing import framed
from .legible import Slip, legible
from .operators import RE_SOLVE, apply
from .playing import Case, Play
from .pointing import BadEdit
from .validating import Outcome, Validation, asked, examine, validate
from .validators.registry import VALIDATORS, affected
from .weakening import weakenings

ROUNDS = 6
ATTEMPTS = 60
"""Edits that are tried for one environment before it is given up."""
MAY_WEAKEN = frozenset({15, 16, 26})
"""Validators that find good agents punished; only for them may a check become weaker."""

MEASURES = 17
"""The validator that asks again, after its own edits, whether any mistake goes unnoticed now."""

Remake: TypeAlias = Callable[[], Environment | None]
"""The environment anew, from the next attempt of its origin; None where there is none."""


class Mend(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One edit that was made."""

    round: int
    """Counted from 1; 0 for what was mended before the environment could be read."""
    validator: int
    at: str
    """Where the finding was."""
    observed: str
    """What was wrong."""
    edit: Edit
    before: tuple[int, ...]
    """Validators that failed before."""
    after: tuple[int, ...]
    """Those that fail now."""


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """An environment after repair."""

    validation: Validation
    mends: tuple[Mend, ...] = ()
    rounds: int = 0
    given_up: str = ""
    """Why it is not sound: a sentence. Empty where it is."""

    @property
    def environment(self) -> Environment:
        return self.validation.environment


async def repair(
    environment: Environment,
    play: Play,
    *,
    remake: Remake | None = None,
    validation: Validation | None = None,
    thorough: bool = False,
) -> Repaired:
    """Make an environment sound, as far as its findings say how; with `thorough`, mend what is only warned of, too.

    `validation` is what was found already.
    """
    workshop = _Workshop(play, remake, thorough)
    state = validation or await validate(environment, play)
    mends: list[Mend] = []
    done = 0
    while done < ROUNDS and not (state.sound and not thorough):
        done += 1
        before = state
        state = await workshop.round(state, done, mends)
        if state is before:
            break
    return Repaired(validation=state, mends=tuple(mends), rounds=done, given_up=workshop.why(state))


async def repair_text(text: str, play: Play, *, remake: Remake | None = None) -> Repaired:
    """Make the environment of a text sound, and readable before that if it is not.

    Raises `InvalidEnvironment` where it cannot be made readable.
    """
    readable, slips = legible(text)
    found = await repair(read_environment(readable), play, remake=remake)
    return msgspec.structs.replace(found, mends=(*map(_slip, slips), *found.mends))


def _slip(slip: Slip) -> Mend:
    finding = slip.finding
    number = finding.validator
    return Mend(
        round=0, validator=number, at=finding.at, observed=finding.observed, edit=slip.edit, before=(number,), after=()
    )


class _Workshop:
    """What the rounds of one repair share."""

    def __init__(self, play: Play, remake: Remake | None, thorough: bool) -> None:
        self._play = play
        self._remake = remake
        self._thorough = thorough
        self._left = ATTEMPTS
        self._refused: dict[str, str] = {}
        """Why edits were not made, by what they were to mend."""

    async def round(self, state: Validation, number: int, mends: list[Mend]) -> Validation:
        """The state after one round; the same object where nothing could be mended."""
        for outcome in state.outcomes:
            begun = state
            for finding in outcome.findings if self._thorough else outcome.errors:
                better, edit = await self._mended(state, finding)
                if edit is not None:
                    mends.append(_mend(number, finding, edit, state, better))
                    state = better
            if state is not begun:
                return state
        return state

    def why(self, state: Validation) -> str:
        if state.sound:
            return ""
        failed = next((outcome for outcome in state.outcomes if outcome.errors), None)
        if failed is None:
            return "Not every validator was asked."
        finding = failed.errors[0]
        where = f" at {finding.at}" if finding.at else ""
        reason = self._refused.get(
            _name(finding), "no edit was proposed" if self._left else "too many edits were tried"
        )
        return f"{failed.name}{where}: {finding.observed} It cannot be mended: {reason}."

    async def _mended(self, state: Validation, finding: Finding) -> tuple[Validation, Edit | None]:
        if not any(_key(finding) == _key(other) for other in _of(state, finding)):
            return state, None  # an earlier edit has mended it, too
        for edit in sorted(finding.candidates, key=lambda edit: edit.cost):
            if self._left == 0:
                break
            self._left -= 1
            try:
                return await self._tried(state, finding, edit), edit
            except BadEdit as refused:
                self._refused.setdefault(_name(finding), f"{edit.op} does not do, since {refused}")
        return state, None

    async def _tried(self, state: Validation, finding: Finding, edit: Edit) -> Validation:
        """The state after an edit. Raises `BadEdit` where it does not help, or does harm."""
        if edit.op == RE_SOLVE:
            environment = self._remake() if self._remake is not None else None
            if environment is None:
                raise BadEdit("it is not known how the environment was made")
            return await self._judged(state, finding, environment, "")
        environment = _edited(state.environment, edit)
        if finding.validator not in MAY_WEAKEN and state.case is not None:
            measured = finding.validator == MEASURES
            weaker = weakenings(state.environment, environment, state.case.worlds, measured=measured)
            if weaker:
                raise BadEdit(f"it would ask less than before: {'; '.join(weaker)}")
        return await self._judged(state, finding, environment, edit.path)

    async def _judged(self, state: Validation, finding: Finding, environment: Environment, path: str) -> Validation:
        try:
            case = await framed(environment, self._play, before=state.case)
        except InvalidEnvironment as error:
            raise BadEdit(f"it cannot be played then: {error.problems[0]}") from None
        known = {outcome.number: outcome for outcome in state.outcomes}
        # The finding's own validator first: most edits that do not help are told from its answer alone.
        again = sorted(affected(path), key=lambda validator: validator.number != finding.validator)
        found: dict[int, Outcome] = {}
        for validator in again:
            before = known.get(validator.number)
            if before is None or before.verdict == "skipped":
                continue
            found[validator.number] = await asked(validator, case)
            _compare(before, found[validator.number], finding)
        unreadable = problems(write(case.environment))
        if unreadable:
            raise BadEdit(f"it cannot be read then: {unreadable[0]}")
        return await _whole(state, case, {**known, **found})


def _compare(before: Outcome, after: Outcome, finding: Finding) -> None:
    """Raises `BadEdit` where a validator finds more than before, or still what was to be mended."""
    if before.number == finding.validator:
        key = _key(finding)
        if sum(_key(f) == key for f in _of(after, finding)) >= sum(_key(f) == key for f in _of(before, finding)):
            raise BadEdit("the finding is still there then")
    worse = Counter(map(_key, after.errors)) - Counter(map(_key, before.errors))
    if worse:
        shown = next(error for error in after.errors if _key(error) in worse)
        raise BadEdit(f"{after.name} fails then: {shown.observed}")


async def _whole(state: Validation, case: Case, outcomes: Mapping[int, Outcome]) -> Validation:
    """The state with all that is known now; what had been skipped is asked, as far as it makes sense."""
    order = [outcome.number for outcome in state.outcomes]
    skipped = [number for number in order if outcomes[number].verdict == "skipped"]
    if skipped and not any(outcomes[number].errors for number in order if number not in skipped):
        validators = [validator for validator in VALIDATORS if validator.number in skipped]
        outcomes = {**outcomes, **{outcome.number: outcome for outcome in await examine(case, validators)}}
    found = tuple(outcomes[number] for number in order)
    return Validation(environment=case.environment, frame="fresh", outcomes=found, case=case)


def _edited(environment: Environment, edit: Edit) -> Environment:
    data = apply(plain(environment), edit)
    try:
        return msgspec.convert(data, Environment)
    except msgspec.ValidationError as error:
        raise BadEdit(f"it does not fit the format then: {error}") from None


def _mend(number: int, finding: Finding, edit: Edit, before: Validation, after: Validation) -> Mend:
    return Mend(
        round=number,
        validator=finding.validator,
        at=finding.at,
        observed=finding.observed,
        edit=edit,
        before=_failed(before.outcomes),
        after=_failed(after.outcomes),
    )


def _failed(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    return tuple(outcome.number for outcome in outcomes if outcome.errors)


def _of(found: Outcome | Validation, finding: Finding) -> Sequence[Finding]:
    """Findings among which one is looked for again: an error that became a warning is mended."""
    return found.errors if finding.severity == "error" else found.findings


def _key(finding: Finding) -> tuple[int, str, str | None]:
    """What makes two findings the same: what was observed may hold a figure that changes."""
    return finding.validator, finding.at, finding.twin


def _name(finding: Finding) -> str:
    return f"{finding.validator} {finding.at} {finding.twin}"
