"""Standings: what the grades of many episodes say of each agent, as leaderboards have it.

Knows trials, and that one which is missing is worth nothing there. Does not know where grades are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from ..worlds.checks.scoring import rule, trials


class Graded(msgspec.Struct, frozen=True):
    """One trial."""

    agent: str
    environment: str
    rule: str
    score: Fraction


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One agent in all environments that are graded by one rule. Shares are means over the environments."""

    agent: str
    rule: str
    environments: int
    graded: int
    missing: int
    """Trials that an environment has too few of; each counts as a score of 0."""
    mean: Fraction
    pass_at_1: Fraction
    pass_at: Fraction
    """pass@k."""
    pass_hat: Fraction
    """pass^k, by the rule's own formula."""
    averages: int
    """Environments whose mean over the trials is a pass; then those of which any, and of which every, trial passed."""
    anys: int
    alls: int


def standings(graded: Iterable[Graded], k: int) -> list[Standing]:
    """Who stands where when each environment takes `k` trials: by rule, the best mean first."""
    groups: dict[tuple[str, str], dict[str, list[Fraction]]] = {}
    for each in graded:
        groups.setdefault((each.rule, each.agent), {}).setdefault(each.environment, []).append(each.score)
    found = [_standing(name, agent, list(scores.values()), k) for (name, agent), scores in groups.items()]
    return sorted(found, key=lambda standing: (standing.rule, -standing.mean, standing.agent))


def _standing(name: str, agent: str, scores: Sequence[Sequence[Fraction]], k: int) -> Standing:
    whole = [[*given, *[Fraction(0)] * (k - len(given))] for given in scores]
    means = [sum(each, Fraction(0)) / len(each) for each in whole]
    threshold = rule(name).threshold
    one, all_ = ([trials(name, each, n) for each in whole] for n in (1, k))
    return Standing(
        agent=agent,
        rule=name,
        environments=len(whole),
        graded=sum(map(len, scores)),
        missing=sum(map(len, whole)) - sum(map(len, scores)),
        mean=_mean(means),
        pass_at_1=_mean([each.pass_at for each in one]),
        pass_at=_mean([each.pass_at for each in all_]),
        pass_hat=_mean([each.pass_hat for each in all_]),
        averages=sum(mean >= threshold for mean in means),
        anys=sum(each.passed > 0 for each in all_),
        alls=sum(each.passed == len(given) for each, given in zip(all_, whole, strict=True)),
    )


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
