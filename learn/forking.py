"""Monte-Carlo credit of a policy that is at hand: what it comes to from behind each decision, played out.

Knows the policy's rollouts and their log. Does not know how a policy learns. The world's noise in a continuation is
that of the rollout; only the policy draws anew. Before the first decision the other rollouts of the twin are such
continuations, and behind the last one the rollout itself is, so these are not played again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..engine.draw import Drawer
from ..engine.rollouts import Result
from ..events.coherence import events_of
from ..events.event import AGENT, EffectResolved, EpisodeForked
from ..events.log import Log
from .collecting import Branch, Policy
from .credit import Rollout, from_forks
from .experience import Lived

SEEDS = 1 << 31


class Written(NamedTuple):
    """Tokens that a policy wrote, whatever came of them."""

    episodes: int
    forks: int
    """Those of continuations, from where they part on."""


def written(log: Log) -> Written:
    """What all episodes of a log have cost: those that failed, too."""
    found = {False: 0, True: 0}
    for row in log.rows(kind="episode"):
        forked, tokens = False, 0
        for event in events_of(log, row.id):
            if isinstance(event.body, EpisodeForked):
                forked, tokens = True, 0
            elif event.actor == AGENT and isinstance(event.body, EffectResolved):
                tokens += event.body.tokens or 0
        found[forked] += tokens
    return Written(found[False], found[True])


async def continued(policy: Policy, rollouts: Sequence[Rollout], count: int, seed: int, log: Log) -> list[list[Result]]:
    """`count` continuations from behind each decision of each rollout but the last one, played into the log."""
    draw = Drawer([seed], 0, "forks")
    branches = [
        Branch(rollout.trajectory.episode, decision.seq, draw.below(SEEDS))
        for rollout in rollouts
        for decision in rollout.trajectory.decisions[:-1]
        for _ in range(count)
    ]
    results = iter(await policy.fork(branches, log))
    return [
        [next(results) for _ in range(count * max(0, len(rollout.trajectory.decisions) - 1))] for rollout in rollouts
    ]


def forked(lived: Sequence[Lived], results: Sequence[Sequence[Result]], count: int) -> list[tuple[float, ...]]:
    """The advantages of each rollout's decisions, from final scores. Every twin has two rollouts at least.

    See `credit.from_forks`.
    """
    twins: dict[str, list[float]] = {}
    for each in lived:
        twins.setdefault(each.score.environment + "@" + each.score.twin, []).append(float(each.exact))
    advantages: list[tuple[float, ...]] = []
    for each, found in zip(lived, results, strict=True):
        others = list(twins[each.score.environment + "@" + each.score.twin])
        others.remove(float(each.exact))
        scores = [float(result.grade.score) if result.grade else 0.0 for result in found]
        inner = [scores[start : start + count] for start in range(0, len(scores), count)]
        advantages.append(from_forks([others, *inner, [float(each.exact)]]))
    return advantages
