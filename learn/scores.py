"""What episodes were worth, and what the twins of an environment were worth together.

Knows logs, graders, and what is known of environments. Does not know who played, nor how scores become a report.

A *twin set* is an environment with all its twins. Its **score** is the mean over its variants (base and twins), each
variant being the mean over its trials. Its **twin score** is the *minimum* over its variants, trials averaged first:
who decides the same whatever the hidden fact is gets what the worst variant gives, however lucky in the others.
Its **pass rate** is to passed trials what its score is to scores. What is said of many sets is a mean over sets, each
counting the same, whatever number of twins and trials it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import msgspec

from ..engine.plan import document_of, world_from
from ..events.coherence import events_of
from ..events.event import (
    AGENT,
    ActorFailed,
    EffectResolved,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    MessageSent,
    ToolCalled,
)
from ..events.log import Log
from ..worlds.checks.scoring import Rubric
from ..worlds.world import World
from .bootstrap import NothingToCompare
from .splits import About, base_of

Metric: TypeAlias = Literal["score", "twin score", "pass rate"]
METRICS: tuple[Metric, ...] = get_args(Metric)


class EpisodeScore(msgspec.Struct, frozen=True, kw_only=True):
    """What one episode was worth."""

    episode: str
    environment: str
    """Without the twin's name."""
    twin: str
    """Empty for the base."""
    ring: str
    family: str
    capabilities: tuple[str, ...]
    trial: int
    seed: int
    score: Fraction
    passed: bool
    gated: bool
    """A gate was tripped."""
    calls: int
    """Calls of tools by the agent."""
    messages: int
    """Messages from the agent."""
    tokens: int
    """Tokens that the agent wrote, as far as anybody counted."""
    checks: dict[str, bool]
    """Of those that apply: whether each was passed."""
    reason: str
    """Why it ended."""


class NotGraded(ValueError):
    """An episode without a score: it has not ended, or nobody says how it is graded."""


# --- from a log --------------------------------------------------------------------------------------------


def scores_of(
    log: Log, streams: Iterable[str], about: Mapping[str, About], graders: Mapping[str, World] | None = None
) -> list[EpisodeScore]:
    """Scores of episodes in a log, each graded anew by its own checks, or by those of the world of its id in `graders`.

    Raises NotGraded.
    """
    return [_score(log, stream, about, graders or {}) for stream in streams]


def _score(log: Log, stream: str, about: Mapping[str, About], graders: Mapping[str, World]) -> EpisodeScore:
    row = log.row(stream)
    if row.status != "ended":
        raise NotGraded(f"episode {row.id} of {row.environment} has not ended, so nobody knows what it is worth")
    return score_of(events_of(log, row.id), about, graders, episode=row.id)


def score_of(
    events: Sequence[Event],
    about: Mapping[str, About],
    graders: Mapping[str, World] | None = None,
    *,
    episode: str = "",
) -> EpisodeScore:
    """The score of a stream. Raises NotGraded, StreamError if `graders` have a world that is not the episode's."""
    document, started, last = document_of(events), events[0].body, events[-1].body
    assert isinstance(started, EpisodeStarted)
    other = (graders or {}).get(started.id)
    rubric = rubric_of(document if other is None else other.document)
    if rubric is None:
        raise NotGraded(f"nothing says how episodes of {started.id} are graded")
    grader = rubric.grader()
    for event in events:
        grader.apply(event)
    grade = grader.grade()
    applying = [verdict for verdict in grade.verdicts if verdict.applicable]
    known = about.get(base_of(started.id), About(""))
    mine = [event.body for event in events if event.actor == AGENT]
    return EpisodeScore(
        episode=episode,
        environment=base_of(started.id),
        twin=started.id.partition("@")[2],
        ring=known.ring,
        family=known.family,
        capabilities=known.capabilities,
        trial=started.trial,
        seed=started.seed,
        score=grader.score(),
        passed=grade.passed,
        gated=any(verdict.gate and not verdict.passed for verdict in applying),
        calls=sum(isinstance(body, ToolCalled) for body in mine),
        messages=sum(isinstance(body, MessageSent) for body in mine),
        tokens=sum(body.tokens or 0 for body in mine if isinstance(body, EffectResolved)),
        checks={verdict.name: verdict.passed for verdict in applying},
        reason=last.reason if isinstance(last, EpisodeEnded) else "",
    )


def spoilt(log: Log, stream: str) -> str | None:
    """Why an episode that ended says nothing of the agent: somebody else in it failed. None for one that does."""
    for event in events_of(log, stream):
        if isinstance(event.body, ActorFailed) and event.actor != AGENT:
            return f"{event.actor} failed: {event.body.error} {event.body.message}".rstrip()
    return None


def spoilt_sets(log: Log, scores: Iterable[EpisodeScore]) -> frozenset[str]:
    """Environments of which an episode, of whatever twin, says nothing of the agent."""
    return frozenset(each.environment for each in scores if each.reason == "failed" and spoilt(log, each.episode))


@lru_cache(maxsize=256)
def rubric_of(document: str) -> Rubric | None:
    world = world_from(document)
    return None if world.scoring is None else Rubric(world)


# --- twin sets ---------------------------------------------------------------------------------------------


class TwinSet(msgspec.Struct, frozen=True, kw_only=True):
    """What an environment and its twins were worth together."""

    ring: str
    environment: str
    family: str
    capabilities: tuple[str, ...]
    variants: tuple[str, ...]
    """Names of the twins that were played, in order of name; the base is the empty one."""
    episodes: int
    score: Fraction
    twin_score: Fraction
    pass_rate: Fraction

    @property
    def key(self) -> tuple[str, str]:
        return self.ring, self.environment

    def value(self, metric: Metric) -> Fraction:
        match metric:
            case "score":
                return self.score
            case "twin score":
                return self.twin_score
        return self.pass_rate


def twin_sets(scores: Iterable[EpisodeScore]) -> list[TwinSet]:
    """The twin sets that episodes belong to, in order of ring and environment."""
    groups: dict[tuple[str, str], dict[str, list[EpisodeScore]]] = {}
    for each in scores:
        groups.setdefault((each.ring, each.environment), {}).setdefault(each.twin, []).append(each)
    return [_twin_set(groups[key]) for key in sorted(groups)]


def _twin_set(variants: Mapping[str, Sequence[EpisodeScore]]) -> TwinSet:
    names = tuple(sorted(variants))
    worth = [mean([each.score for each in variants[name]]) for name in names]
    first = variants[names[0]][0]
    return TwinSet(
        ring=first.ring,
        environment=first.environment,
        family=first.family,
        capabilities=first.capabilities,
        variants=names,
        episodes=sum(map(len, variants.values())),
        score=mean(worth),
        twin_score=min(worth),
        pass_rate=mean([mean([Fraction(each.passed) for each in variants[name]]) for name in names]),
    )


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def twin_score(scores: Iterable[EpisodeScore]) -> Fraction:
    """The mean over twin sets of the minimum over variants. Raises NothingToCompare without an episode."""
    sets = twin_sets(scores)
    if not sets:
        raise NothingToCompare("there is no episode to score")
    return mean([each.twin_score for each in sets])


def played(sets: Sequence[TwinSet]) -> list[tuple[str, str, tuple[str, ...]]]:
    """What was played: rings, environments and their variants."""
    return [(*each.key, each.variants) for each in sets]


def values_of(sets: Iterable[TwinSet], metric: Metric) -> dict[str, list[float]]:
    """What a bootstrap draws from: the values of twin sets, by ring and family."""
    values: dict[str, list[float]] = {}
    for each in sets:
        values.setdefault(f"{each.ring}/{each.family}", []).append(float(each.value(metric)))
    return values
