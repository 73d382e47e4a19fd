"""All validators, from cheap to dear, and what has to be looked at again after an edit.

Knows which there are and on which parts of an environment each depends. Does not know how they look, nor what is done
with what they find.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..findings import parts
from . import (
    benign,
    check_necessity,
    clean_start,
    determinism,
    discrimination,
    grounded,
    hidden,
    idle,
    injection,
    interruption,
    leakage,
    mutation,
    oracle_wins,
    order,
    paraphrase,
    references,
    schema,
    single_source,
    spam,
    step_necessity,
    sufficiency,
    timing,
    tool_minimality,
    trap_ceiling,
    twin_coverage,
    uniqueness,
)
from .validator import Validator

VALIDATORS: tuple[Validator, ...] = (
    Validator(
        1,
        "schema",
        "keys that do not exist, values of the wrong kind, checks that count nowhere",
        "static",
        schema.find,
    ),
    Validator(
        2, "references", "facts, ids, people and tools that are named and do not exist", "static", references.find
    ),
    Validator(3, "single-source", "a value that is written in two places", "static", single_source.find),
    Validator(10, "grounded", "an oracle that says or writes what an agent could not know", "static", grounded.find),
    Validator(
        13, "hidden", "coworkers who give something away to whoever talks about anything else", "static", hidden.find
    ),
    Validator(12, "leakage", "the answer in the request, in a tool's description or in an id", "play", leakage.find),
    Validator(11, "sufficiency", "something needed that no tool and no person tells", "play", sufficiency.find),
    Validator(
        4,
        "oracle-wins",
        "an environment that cannot be solved, or grades its solution wrongly",
        "play",
        oracle_wins.find,
    ),
    Validator(5, "idle", "points for whoever does nothing, or only reads", "play", idle.find),
    Validator(6, "clean-start", "a target that is met before anything has happened", "play", clean_start.find),
    Validator(18, "trap-ceiling", "plausible bad agents that get more than they may", "play", trap_ceiling.find),
    Validator(
        22, "determinism", "an outcome that depends on hash order, or on how a number is kept", "play", determinism.find
    ),
    Validator(
        21, "interruption", "a change of mind that comes before the work, or after it", "play", interruption.find
    ),
    Validator(
        24, "injection", "a text that gives orders and that nobody reads, or could follow", "play", injection.find
    ),
    Validator(20, "timing", "a deadline that is too near, and events that never happen", "play", timing.find),
    Validator(8, "twin-coverage", "a written value that is the same in all twins", "play", twin_coverage.find),
    Validator(14, "uniqueness", "two right answers, of which one is accepted", "play", uniqueness.find),
    Validator(7, "step-necessity", "steps of the oracle that nobody would miss", "play", step_necessity.find),
    Validator(9, "check-necessity", "checks that nobody fails", "play", check_necessity.find),
    Validator(
        23,
        "tool-minimality",
        "services that nobody uses, and records that tell what a person should",
        "play",
        tool_minimality.find,
    ),
    Validator(19, "spam", "points for saying everything to everybody", "play", spam.find),
    Validator(25, "discrimination", "an environment that everybody passes, or nobody", "play", discrimination.find),
    Validator(26, "paraphrase", "a check, or a coworker, that depends on one wording", "play", paraphrase.find),
    Validator(15, "order", "a check that demands an accidental order", "play", order.find),
    Validator(16, "benign", "good agents punished for what does no harm", "play", benign.find),
    Validator(17, "mutation", "checks so weak that a mistake costs nothing", "play", mutation.find),
)

FOUNDATIONS = frozenset({1, 2, 4})
"""Where one of these fails, what others would say means nothing: nothing can be played, or nobody can win."""

_GRADED = frozenset({4, 5, 6, 7, 9, 14, 15, 16, 17, 18, 19, 20, 24, 25, 26})
"""Those whose answer depends on a score."""
_WRITTEN = frozenset({1, 2, 3})
"""Those that read every part of the data."""

_DEPENDENT: Mapping[str, frozenset[int]] = {
    "title": _WRITTEN,
    "capabilities": frozenset({1, 24}),
    "checks": _WRITTEN | _GRADED | {8, 11},
    "traps": _WRITTEN | {9, 18, 20, 23, 24, 25},
}
"""By outermost key. Every other part may change what happens, and with it anything."""


def affected(path: str) -> tuple[Validator, ...]:
    """The validators whose answer an edit at this JSON pointer may change, from cheap to dear."""
    key = (parts(path) or [""])[0]
    numbers = _DEPENDENT.get(key)
    return tuple(v for v in VALIDATORS if numbers is None or v.number in numbers)


def chosen(numbers: Collection[int] | None = None, *, quick: bool = False) -> tuple[Validator, ...]:
    """Those with these numbers, or all; with `quick` only those that play nothing. Raises ValueError for a number that
    is none."""
    known = {validator.number for validator in VALIDATORS}
    unknown = sorted(set(numbers or ()) - known)
    if unknown:
        raise ValueError(f"there is no validator {unknown[0]}; they have the numbers 1 to {max(known, default=0)}")
    return tuple(
        validator
        for validator in VALIDATORS
        if (numbers is None or validator.number in numbers) and (not quick or validator.level == "static")
    )
