"""Evaluations: who was tested on what, and the report of it beside its baselines.

Knows scores of episodes and how they are told apart: by ring, by family (every one that there is, also those that
nobody was trained on), by capability, by kind of check. Does not know who played, nor how.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ..engine.files import write_whole
from .bootstrap import Interval, NothingToCompare, difference, interval
from .scores import METRICS, EpisodeScore, Metric, TwinSet, played, twin_sets, values_of

FILE = "evaluation.json"
FOLDER = "evaluations"
"""Of a run: one file for each evaluation while it was trained."""


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Who was tested, on what, and what each episode was worth."""

    who: str
    """A name for people: the run's folder, `explore`, …"""
    scores: tuple[EpisodeScore, ...]
    left_out: tuple[str, ...] = ()
    """Environments of which nothing is told, since somebody else than who was tested failed in them."""
    sets: dict[str, str] = {}
    """Digests of the sets that were played, by path."""
    weights: str = ""
    """Digest of the policy's weights; empty if it has none."""
    seed: int | None = None
    """Of the training."""
    update: int | None = None
    sampled: int = 0
    """Tokens that the policy had sampled in training by then: what methods are compared at."""
    temperature: float | None = None


# --- reports -----------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["all", "ring", "family", "capability"]


class Chosen(NamedTuple):
    """Twin sets that are reported together."""

    kind: Kind
    value: str = ""
    """Of their ring, family or capability."""

    @property
    def name(self) -> str:
        return self.value or ("all" if self.kind == "all" else f"no {self.kind}")

    def fits(self, each: TwinSet) -> bool:
        match self.kind:
            case "ring":
                return each.ring == self.value
            case "family":
                return each.family == self.value
            case "capability":
                return self.value in each.capabilities
        return True


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Twin sets that are reported together, and what was found of each who was tested."""

    kind: Kind
    name: str
    sets: int
    episodes: int
    """Of the first who was tested."""
    values: dict[str, dict[Metric, Interval]]
    """By who was tested, then by metric."""
    ahead: dict[str, dict[Metric, Interval]]
    """The first who was tested less each other one, paired by twin set."""


class CheckRate(msgspec.Struct, frozen=True, kw_only=True):
    """How often checks of one kind were passed, where they applied."""

    kind: str
    passed: int
    of: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a table of an evaluation shows."""

    who: tuple[str, ...]
    """The one whom it is about, then the baselines."""
    groups: tuple[Group, ...]
    checks: dict[str, tuple[CheckRate, ...]]
    totals: dict[str, dict[str, float]]
    """By who was tested: means over episodes of calls, messages and tokens, and the share that tripped a gate."""
    left_out: tuple[str, ...]
    """Environments of which nothing is told, since a coworker failed in them with one of those who were tested."""


def report(evaluations: Sequence[Evaluation], *, seed: int = 0) -> Report:
    """What was found, by ring, family and capability; every one that there is.

    Raises NothingToCompare where not all were tested on the same variants of the same twin sets.
    """
    left_out = [name for each in evaluations for name in each.left_out]
    evaluations = without(evaluations, left_out)
    if not evaluations or not all(each.scores for each in evaluations):
        spoilt = f": in every environment a coworker failed, such as {left_out[0]}" if left_out else ""
        raise NothingToCompare(f"there is no episode to score{spoilt}")
    sets = {each.who: twin_sets(each.scores) for each in evaluations}
    if len(sets) < len(evaluations):
        raise NothingToCompare("two who were tested have the same name, so a table could not tell them apart")
    first = next(iter(sets.values()))
    for who, others in sets.items():
        if played(others) != played(first):
            raise NothingToCompare(f"{evaluations[0].who} and {who} were not tested on the same twin sets")
    return Report(
        who=tuple(sets),
        groups=tuple(_group(chosen, sets, seed) for chosen in groups_of(first)),
        checks={each.who: check_rates(each.scores) for each in evaluations},
        totals={each.who: totals(each.scores) for each in evaluations},
        left_out=tuple(sorted(set(left_out))),
    )


def without(evaluations: Iterable[Evaluation], environments: Iterable[str]) -> list[Evaluation]:
    """Evaluations without the twin sets of these environments."""
    names = frozenset(environments)
    return [
        msgspec.structs.replace(each, scores=tuple(score for score in each.scores if score.environment not in names))
        for each in evaluations
    ]


def groups_of(sets: Sequence[TwinSet]) -> list[Chosen]:
    """What is told apart: all, every ring, every family, every capability that there is."""
    rings = sorted({each.ring for each in sets})
    families = sorted({each.family for each in sets})
    capabilities = sorted({name for each in sets for name in each.capabilities})
    return [
        Chosen("all"),
        *(Chosen("ring", ring) for ring in rings),
        *(Chosen("family", family) for family in families),
        *(Chosen("capability", capability) for capability in capabilities),
    ]


def _group(chosen: Chosen, sets: Mapping[str, Sequence[TwinSet]], seed: int) -> Group:
    kept = {who: list(filter(chosen.fits, found)) for who, found in sets.items()}
    values = {who: {metric: values_of(found, metric) for metric in METRICS} for who, found in kept.items()}
    first, *others = values
    return Group(
        kind=chosen.kind,
        name=chosen.name,
        sets=len(kept[first]),
        episodes=sum(each.episodes for each in kept[first]),
        values={who: {m: interval(found[m], seed=seed) for m in METRICS} for who, found in values.items()},
        ahead={
            who: {m: interval(difference(values[first][m], values[who][m]), seed=seed) for m in METRICS}
            for who in others
        },
    )


def check_rates(scores: Iterable[EpisodeScore]) -> tuple[CheckRate, ...]:
    """How often each kind of check was passed, those that failed most often first."""
    counts: dict[str, list[int]] = {}
    for each in scores:
        for name, passed in each.checks.items():
            count = counts.setdefault(kind_of(name), [0, 0])
            count[0] += passed
            count[1] += 1
    rates = [CheckRate(kind=kind, passed=passed, of=of) for kind, (passed, of) in counts.items()]
    return tuple(sorted(rates, key=lambda rate: (Fraction(rate.passed, rate.of), rate.kind)))


def kind_of(check: str) -> str:
    """The kind of a check, from its name: what it is about without which target it is about (`done-t2`: `done`)."""
    return re.sub(r"-[a-z]?\d+$", "", check)


def totals(scores: Sequence[EpisodeScore]) -> dict[str, float]:
    """Means over episodes."""
    counted = {
        "calls": sum(each.calls for each in scores),
        "messages": sum(each.messages for each in scores),
        "tokens": sum(each.tokens for each in scores),
        "gated": sum(each.gated for each in scores),
    }
    return {name: number / len(scores) for name, number in counted.items()}


# --- files -------------------------------------------------------------------------------------------------


def write_evaluation(path: Path, evaluation: Evaluation) -> None:
    """Write an evaluation, whole or not at all. Scores are written as exact fractions. Raises OSError."""
    plain = msgspec.to_builtins(evaluation, enc_hook=str)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, msgspec.json.encode(plain) + b"\n")


def read_evaluation(path: Path) -> Evaluation:
    """The evaluation in a file. Raises OSError, NothingToCompare for one that is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Evaluation, dec_hook=_fraction)
    except (msgspec.MsgspecError, ValueError, ZeroDivisionError) as error:
        raise NothingToCompare(f"{path} is no evaluation: {error}") from None


def _fraction(type_: type, value: object) -> object:
    return type_(value)


def evaluations_in(folder: Path) -> list[Evaluation]:
    """The evaluations of a folder: of a run, while it was trained, or of one that `evaluate` made."""
    files = [folder / FILE] if (folder / FILE).is_file() else sorted((folder / FOLDER).glob("*.json"))
    return sorted(map(read_evaluation, files), key=lambda each: (each.sampled, each.update or 0))
