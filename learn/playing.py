"""Those who are tested, and their test: every environment of a set with all its twins, so many trials each.

Knows players, sets and logs. Does not know what a player is: a policy, a scripted agent, a baseline. Nobody learns
anything here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from ..agents.agent import Actor
from ..agents.building import build_agent, build_coworkers
from ..engine.plan import Plan
from ..engine.rollouts import Result, rollout
from ..events.log import Log
from ..worlds.world import World
from .evaluating import Evaluation
from .lessons import Lesson
from .memoriser import memoriser
from .scores import EpisodeScore, scores_of, spoilt_sets
from .splits import NotForThis, Split, base_of


class Draft(msgspec.Struct, frozen=True):
    """An episode that is to be played, without who plays it."""

    world: World
    seed: int = 0
    trial: int = 0


Told: TypeAlias = Callable[[Result], None]
"""Is told each result, in the order of the drafts."""


class Player(Protocol):
    """Whoever is tested."""

    @property
    def who(self) -> str:
        """A name for people."""
        ...

    @property
    def weights(self) -> str:
        """Digest of the policy's weights; empty if it has none."""
        ...

    @property
    def temperature(self) -> float | None: ...

    def play(self, drafts: Sequence[Draft], log: Log, finished: Told) -> Awaitable[list[Result]]:
        """Play each draft into a log that is being written to; what is there already is not played again."""
        ...


class Scripted:
    """A player whose weights, if it has any, are not at hand: `agent_for` says who plays in a world."""

    weights = ""

    def __init__(
        self,
        who: str,
        agent_for: Callable[[World], Actor],
        concurrency: int = 32,
        temperature: float | None = None,
    ) -> None:
        self.who = who
        self.temperature = temperature
        self._agent_for = agent_for
        self._concurrency = concurrency

    async def play(self, drafts: Sequence[Draft], log: Log, finished: Told) -> list[Result]:
        plans = [
            Plan(each.world, self._agent_for(each.world), build_coworkers(each.world), each.seed, each.trial)
            for each in drafts
        ]
        return await rollout(plans, log, concurrency=self._concurrency, finished=finished)


def named(who: str) -> Scripted:
    """A scripted agent that comes with coworkenv, such as `explore` or `noop`. Raises `UnknownName`."""
    build_agent(who)
    return Scripted(who, lambda _: build_agent(who))


def remembering(lessons: Sequence[Lesson], splits: Sequence[Split]) -> Scripted:
    """The memoriser of these lessons. Raises NotForThis, as `check_unseen` does."""
    check_unseen(lessons, splits)
    return Scripted("memoriser", lambda world: memoriser(lessons, world))


def check_unseen(lessons: Sequence[Lesson], splits: Sequence[Split]) -> None:
    """Raises NotForThis where lessons hold an environment that whoever remembers them will be tested on."""
    for split in splits:
        seen = [each.environment for each in lessons if base_of(each.environment) in split.about]
        if seen and split.role != "train":
            raise NotForThis(f"the demonstrations hold {seen[0]}, which is in {split.says}: who remembers it cheats")


# --- the test ----------------------------------------------------------------------------------------------


class Unfinished(Exception):
    """Episodes have not ended, so there is nothing to report yet: leaving them out would flatter or slander."""

    def __init__(self, who: str, results: Sequence[Result]) -> None:
        self.results = results
        first = results[0]
        super().__init__(
            f"{len(results)} of the episodes of {who} did not end ({first.environment}: {first.reason}), and a report "
            "without them would not be true. The same command goes on"
        )


def drafts_of(split: Split, trials: int, seed: int) -> list[Draft]:
    """Every variant of every environment, trial by trial.

    Each has a seed of its own: with the same one, a policy that samples would draw the same numbers everywhere, and no
    two episodes would be independent.
    """
    return [
        Draft(world, seed + place * trials + trial, trial)
        for place, world in enumerate(split.worlds)
        for trial in range(trials)
    ]


async def evaluate(
    player: Player,
    splits: Sequence[Split],
    log: Log,
    *,
    trials: int = 1,
    seed: int = 0,
    finished: Told = lambda result: None,
    graders: Mapping[str, World] | None = None,
) -> Evaluation:
    """Test a player. `log` is being written to; `graders` grade instead of the environments' own, by id.

    Twin sets of which an episode was spoilt by somebody else are left out whole, and named. Raises Unfinished; the same
    again goes on.
    """
    scores: list[EpisodeScore] = []
    for split in splits:
        results = await player.play(drafts_of(split, trials, seed), log, finished)
        streams = [result.id for result in results if result.id is not None and result.status == "ended"]
        if len(streams) < len(results):
            raise Unfinished(player.who, [result for result in results if result.status != "ended"])
        scores += scores_of(log, streams, split.about, graders)
    broken = spoilt_sets(log, scores)
    return Evaluation(
        who=player.who,
        scores=tuple(each for each in scores if each.environment not in broken),
        left_out=tuple(sorted(broken)),
        sets={split.path: split.digest for split in splits},
        weights=player.weights,
        temperature=player.temperature,
    )
