"""Whole environments by a model: drafts, what is found in them, better drafts, repair, and then in or out.

Knows the order of things and when a draft is given up. Does not know how a model is reached, how validators look, nor
how repair works: all are arguments. A draft is untrusted: it is data in a closed format that runs nothing, its size and
the length of its episodes are bounded here, and whatever is wrong with it becomes a finding or a reason. An environment
leaves only with a receipt.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Literal, TypeAlias, TypeVar

import msgspec

from ...events.event import Json
from ..document import DocumentError, parse
from ..environment import Environment, Limits
from ..problems import InvalidEnvironment
from ..reading import problems, read_environment
from .extracting import document_in
from .findings import Finding, pointer
from .legible import legible
from .prompts import Complete, NoAnswer, drafting, feedback
from .receipt import Receipt
from .repairing import Repaired
from .validating import Validation
from .validators.schema import read_findings

_T = TypeVar("_T")

ROUNDS = 3
"""How often findings go back to the model."""
LARGEST = 100_000
"""Characters of a draft."""

Validate: TypeAlias = Callable[[Environment], Awaitable[Validation]]
Repair: TypeAlias = Callable[[Environment, Validation], Awaitable[Repaired]]
Certify: TypeAlias = Callable[[Repaired], Awaitable[Receipt]]


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One draft, and what was found in it."""

    text: str
    """The document in the model's answer; empty where there was none."""
    findings: tuple[Finding, ...]
    validation: Validation | None = None
    """None where it could not be read."""

    @property
    def sound(self) -> bool:
        own = any(finding.severity == "error" for finding in self.findings)
        return self.validation is not None and self.validation.sound and not own

    @property
    def defects(self) -> tuple[int, int]:
        """How far it is from sound: validators that do not pass, then errors. Fewer is better."""
        outcomes = self.validation.outcomes if self.validation is not None else ()
        failing = sum(outcome.verdict in ("failed", "skipped") for outcome in outcomes)
        return failing, sum(finding.severity == "error" for finding in self.findings)


class Drafted(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: an environment with its receipt, or the reason why there is none."""

    environment: Environment | None = None
    receipt: Receipt | None = None
    accepted: Literal["", "at once", "after feedback", "after repair"] = ""
    rounds: tuple[Round, ...] = ()
    reason: str = ""
    """Why it was discarded, in a sentence."""


class _Discard(Exception):
    """A draft that cannot be judged; the text is the reason."""


async def draft(
    capabilities: Mapping[str, str],
    brief: str,
    complete: Complete,
    validate: Validate,
    repair: Repair,
    certify: Certify,
    rounds: int = ROUNDS,
) -> Drafted:
    """An environment about these capabilities (id and definition), from a brief in a few words.

    The model drafts, and gets what is found back at most `rounds` times. The best draft that is then not sound is
    repaired, and discarded where that does not do. Never raises for what a model answers.
    """
    request = drafting(capabilities, brief)
    asked, done, silence = request, list[Round](), ""
    for left in range(rounds, -1, -1):
        try:
            answer = await complete(asked)
        except NoAnswer as error:
            silence = str(error)
            break
        done.append(await _examined(answer, tuple(capabilities), validate))
        if done[-1].sound:
            break
        asked = feedback(request, done[-1].text, done[-1].findings, left - 1)
    return await _concluded(done, tuple(capabilities), silence, validate, repair, certify)


async def _concluded(
    done: list[Round],
    capabilities: tuple[str, ...],
    silence: str,
    validate: Validate,
    repair: Repair,
    certify: Certify,
) -> Drafted:
    """The environment of the best round, repaired if need be, with its receipt; or why there is none."""
    rounds = tuple(done)
    if not rounds:
        return Drafted(rounds=rounds, reason=f"the model gave no draft: {silence}")
    best = min(reversed(rounds), key=lambda one: (one.validation is None, not one.text, one.defects))
    try:
        if best.validation is None:
            best = await _readable(best, capabilities, validate)
        assert best.validation is not None
        repaired = Repaired(validation=best.validation)
        if not best.sound:
            repaired = await _guarded(repair(best.validation.environment, best.validation))
            _require(repaired, capabilities)
        receipt = await _guarded(certify(repaired))
        if not receipt.sound or receipt.measured is None:
            raise _Discard("its receipt is not complete.")
    except _Discard as discard:
        after = f", and then no more answers: {silence}" if silence else ""
        return Drafted(rounds=rounds, reason=f"discarded after {len(rounds)} drafts{after}: {discard}")
    how: Literal["at once", "after feedback", "after repair"] = "after feedback" if len(rounds) > 1 else "at once"
    return Drafted(
        environment=repaired.environment,
        receipt=receipt,
        accepted=how if rounds[-1].sound else "after repair",
        rounds=rounds,
    )


async def _readable(best: Round, capabilities: tuple[str, ...], validate: Validate) -> Round:
    """A draft that could not be read, with the edits made that its findings propose. Raises `_Discard`."""
    if not best.text or any(_oversized(best.text)):
        raise _Discard(_first(best.findings))
    try:
        text, _ = legible(best.text)
    except InvalidEnvironment as error:
        raise _Discard(str(error.problems[0])) from None
    better = await _judged(text, capabilities, validate)
    if better.validation is None:
        raise _Discard(_first(better.findings))
    return better


def _require(repaired: Repaired, capabilities: tuple[str, ...]) -> None:
    """Raises `_Discard` where repair did not do."""
    own = [*_unruly(repaired.environment, capabilities)]
    if own:
        raise _Discard(_first(own))
    if not repaired.validation.sound:
        raise _Discard(repaired.given_up or _first(repaired.validation.errors))


def _first(findings: list[Finding] | tuple[Finding, ...]) -> str:
    return next((finding.observed for finding in findings if finding.severity == "error"), "it is not sound.")


# --- examining ---------------------------------------------------------------------------------------------


async def _examined(answer: str, capabilities: tuple[str, ...], validate: Validate) -> Round:
    """The draft in an answer, and all that is found in it."""
    found = document_in(answer)
    if found is None or not found.text.strip():
        return Round(text="", findings=(_finding("", "There is no YAML document in the answer."),))
    if len(found.text) > LARGEST:
        return Round(
            text="", findings=(_finding("", f"The document has {len(found.text)} characters, over {LARGEST}."),)
        )
    judged = await _judged(found.text, capabilities, validate)
    if not found.cut:
        return judged
    cut = _finding("", "The answer ends within the document; make it shorter.", "warning")
    return msgspec.structs.replace(judged, findings=(cut, *judged.findings))


async def _judged(text: str, capabilities: tuple[str, ...], validate: Validate) -> Round:
    oversized = tuple(_oversized(text))  # First: even to read what is too large takes long.
    if oversized or problems(text):
        return Round(text=text, findings=oversized or tuple(finding for finding, _ in read_findings(text)))
    environment = _bounded(read_environment(text))
    unruly = tuple(_unruly(environment, capabilities))
    try:
        validation = await _guarded(validate(environment))
    except _Discard as discard:
        return Round(text=text, findings=(*unruly, _finding("", str(discard))))
    return Round(text=text, findings=(*unruly, *validation.findings), validation=validation)


async def _guarded(work: Awaitable[_T]) -> _T:
    """What examines a draft. Raises `_Discard` where that breaks over it.

    This is the one place that takes any exception: a draft holds what nobody has thought of, and one that breaks a
    validator must cost itself, not the run in which it was made. The reason names what to report.
    """
    try:
        return await work
    except Exception as error:
        raise _Discard(f"it cannot be examined: {type(error).__name__}: {str(error)[:300]}") from error


# --- what is asked of drafts beside validity ---------------------------------------------------------------

EVENTS = 5_000
"""Events of one episode. Those of sound environments have a few hundred."""
_MOST: Mapping[str, int] = {
    "people": 20, "services": 20, "faults": 40, "timeline": 60, "checks": 100, "oracle": 100, "traps": 20, "twins": 12,
}  # fmt: skip
_MOST_RECORDS = 500
_ID = re.compile(r"[A-Za-z0-9][\w-]{0,60}(?:[./][\w-]{1,60}){0,4}")


def _bounded(environment: Environment) -> Environment:
    """Without what only `env freeze` may say, and with episodes that end soon."""
    given, most = environment.limits, Limits()
    limits = Limits(
        decisions=min(given.decisions, most.decisions),
        calls=min(given.calls, most.calls),
        events=min(given.events, EVENTS),
        tokens=min(given.tokens, most.tokens),
    )
    return msgspec.structs.replace(environment, frozen=None, limits=limits)


def _unruly(environment: Environment, capabilities: tuple[str, ...]) -> Iterator[Finding]:
    """What is wrong with a readable draft, whatever it is about."""
    if not _ID.fullmatch(environment.id):
        yield _finding("/id", f"The id {environment.id[:80]!r} is not like `office.laptop/0001`.")
    if environment.scoring != "coworkenv":
        yield _finding("/scoring", "The scoring rule is another than `coworkenv`; leave it out.")
    if set(environment.capabilities) != set(capabilities):
        yield _finding("/capabilities", f"The capabilities are not {', '.join(capabilities)}.")
    for name in capabilities:
        if not any(check.lower().startswith(f"{name.lower()}-") for check in environment.checks):
            yield _finding("/checks", f"No check's name begins with {name.lower()}-, so nothing tests {name}.")


def _oversized(text: str) -> Iterator[Finding]:
    """What makes a draft too large to be looked at; what is wrong with it otherwise is found elsewhere."""
    try:
        data = parse(text)
    except DocumentError:
        return
    for key, most in _MOST.items():
        count = _count(_inner(data, key))
        if count > most:
            yield _finding(pointer(key), f"There are {count} entries in {key}; at most {most} are allowed.")
    for name in _keys(_inner(data, "services")):
        tables = _inner(_inner(_inner(data, "services"), name), "records")
        records = sum(_count(_inner(tables, table)) for table in _keys(tables))
        if records > _MOST_RECORDS:
            yield _finding(pointer("services", name), f"It has {records} records; at most {_MOST_RECORDS} are allowed.")


def _inner(data: Json, key: str) -> Json:
    return data.get(key) if isinstance(data, dict) else None


def _keys(data: Json) -> list[str]:
    return list(data) if isinstance(data, dict) else []


def _count(data: Json) -> int:
    return len(data) if isinstance(data, dict | list) else 0


def _finding(at: str, observed: str, severity: Literal["error", "warning"] = "error") -> Finding:
    return Finding(validator=1, severity=severity, at=at, observed=observed, expected=_EXPECTED)


_EXPECTED = "One whole YAML document of an environment, as the request describes it."
