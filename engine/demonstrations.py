"""Demonstrations: which episodes of oracles and teachers are worth learning from, and why the others are not.

Knows who may teach, what is demanded of a demonstration, and the line that one becomes. Does not know files, nor how
episodes are played. What is rejected is kept, with the reason: it is the other half of a preference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from ..agents.agent import Actor
from ..agents.building import build_agent, build_coworkers
from ..agents.scripted import Oracle
from ..events.codec import to_json
from ..events.coherence import events_of
from ..events.event import AGENT, Event, Json, ToolCalled
from ..events.log import Log
from ..worlds.trapping import mistake
from ..worlds.world import World
from .enacting import Enacted
from .episode import play
from .plan import EpisodeError, Plan, check_agent
from .rollouts import Result
from .transcripts import Transcript, transcript

CALLS = 2
"""A demonstration may make so many times the calls that the oracle makes in the same variant."""

TEACHERS = "oracle, forks, traps, trap:NAME or openai:MODEL"

FORKS = Fraction(1, 5)
"""Of all demonstrations, at most so many make a mistake first."""

Reason: TypeAlias = Literal["trap", "not graded", "score", "gate", "calls", "duplicate", "share"]

REASONS: Mapping[Reason, str] = MappingProxyType(
    {
        "trap": "played by a trap",
        "not graded": "no grader",
        "score": "not the full score",
        "gate": "a gate was tripped",
        "calls": f"more than {CALLS} times the oracle's calls",
        "duplicate": "the same decisions as another",
        "share": f"more than one in {FORKS.denominator} would make a mistake first",
    }
)
"""What each reason says to people."""


class Demonstration(msgspec.Struct, frozen=True, kw_only=True):
    """An episode as something to learn from, or, with `reasons`, not."""

    environment: str
    variant: str
    """The twin; empty for the base."""
    episode: str
    teacher: str
    seed: int
    trial: int
    score: str | None
    calls: int
    oracle_calls: int | None
    """None where the environment has no oracle: calls are not limited then."""
    reasons: tuple[Reason, ...] = ()
    """Why it is rejected; none if it is not."""
    failed: tuple[str, ...] = ()
    """Checks that apply and were not passed."""

    @property
    def accepted(self) -> bool:
        return not self.reasons


def teachers(wanted: str, options: Mapping[str, Json], world: World) -> list[Actor]:
    """Whom a word means as teachers in a world: `oracle`, `trap:NAME`, `traps` (all that it has), or a model's agent.

    Oracle and traps teach as a model would act: through the model agent, so that they show what a student will see.
    Raises EpisodeError if the world has none such, or if it is an agent whose episodes are no chats.
    """
    kind, _, name = wanted.partition(":")
    wording = options.get("wording")
    if wanted == "forks":
        forks = [name for name, trap in world.traps.items() if mistake(world.oracle, trap) is not None]
        return [Enacted(name, wording, recovers=True) for name in forks]
    if wanted == "traps":
        return [Enacted(trap, wording) for trap in world.traps]
    if wanted == "oracle" or (kind == "trap" and name):
        enacted = Enacted(name or None, wording)
        check_agent(world, enacted.enacts)
        if not world.talks:
            raise EpisodeError(
                f"`{wanted}` cannot be shown as a model where agents have no tools to send, wait and finish; name "
                "openai:MODEL"
            )
        return [enacted]
    if kind in ("noop", "readonly", "explore", "script"):
        raise EpisodeError(f"`{wanted}` is no teacher: no model speaks there; name {TEACHERS}")
    return [build_agent(wanted, options)]


class Curator:
    """Decides which episodes are demonstrations. Of those that decide the same, the first counts."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._oracles: dict[tuple[str, int], int | None] = {}

    async def judge(self, plan: Plan, result: Result, events: Sequence[Event]) -> tuple[Demonstration, Transcript]:
        """What an ended episode is worth as a demonstration, and its chat. Raises EpisodeError if it is no chat."""
        chat = transcript(events)
        grade = result.grade
        failing = [check for check in grade.checks if check.applies and not check.passed] if grade else []
        limit = await self._oracle_calls(plan)
        found: dict[Reason, bool] = {
            # Where its guess happens to be right, a trap has the full score: what it did is wrong all the same.
            "trap": isinstance(plan.agent, Enacted) and plan.agent.name.startswith("trap:"),
            "not graded": grade is None,
            "score": grade is not None and Fraction(grade.score) != 1,
            "gate": any(check.gate for check in failing),
            "calls": limit is not None and result.calls > CALLS * limit,
        }
        reasons = [reason for reason, holds in found.items() if holds]
        if not reasons and self._is_known(result.environment, chat):
            reasons.append("duplicate")
        environment, _, variant = result.environment.partition("@")
        demonstration = Demonstration(
            environment=environment,
            variant=variant,
            episode=result.id or "",
            teacher=plan.agent.name if isinstance(plan.agent, Enacted) else result.agent,
            seed=result.seed,
            trial=result.trial,
            score=grade.score if grade else None,
            calls=result.calls,
            oracle_calls=limit,
            reasons=tuple(reasons),
            failed=tuple(check.check for check in failing),
        )
        return demonstration, chat

    def _is_known(self, environment: str, chat: Transcript) -> bool:
        """Whether the same was decided in the same environment before: the same words, calls and arguments."""
        key = to_json([environment, *chat.decisions])
        known = key in self._known
        self._known.add(key)
        return known

    async def _oracle_calls(self, plan: Plan) -> int | None:
        key = plan.world.document, plan.seed
        if key not in self._oracles:
            self._oracles[key] = await oracle_calls(plan.world, plan.seed)
        return self._oracles[key]


async def oracle_calls(world: World, seed: int) -> int | None:
    """How many calls the oracle makes in a world, with its people going by their rules; None if it has no oracle."""
    if not world.oracle:
        return None
    episode = await play(Plan(world, Oracle(), build_coworkers(world), seed))
    return sum(event.actor == AGENT and isinstance(event.body, ToolCalled) for event in episode.events)


async def curated(
    log: Log, plans: Sequence[Plan], results: Mapping[str, Result], ids: Sequence[str]
) -> AsyncIterator[tuple[Demonstration, Transcript]]:
    """Each episode of `results` (by id) that has ended, in the order of the plans; `ids` are theirs.

    Episodes that are no chat, such as one that was stopped before its first decision, are passed over.
    """
    curator = Curator()
    for plan, name in zip(plans, ids, strict=True):
        result = results.get(name)
        if result is None or result.status != "ended":
            continue
        try:
            yield await curator.judge(plan, result, events_of(log, name))
        except EpisodeError:
            continue


def thinned(
    kept: Sequence[tuple[Demonstration, Transcript]],
) -> list[tuple[Demonstration, Transcript]]:
    """The same, in their order, with forks rejected of which there are too many: those that stay are spread evenly."""
    forks = [place for place, (one, chat) in enumerate(kept) if one.accepted and chat.unlearnt]
    straight = sum(one.accepted for one, _ in kept) - len(forks)
    most = int(straight * FORKS / (1 - FORKS))
    if len(forks) <= most:
        return list(kept)
    staying = {forks[number * len(forks) // most] for number in range(most)}
    going = set(forks) - staying
    return [
        (msgspec.structs.replace(one, reasons=("share",)) if place in going else one, chat)
        for place, (one, chat) in enumerate(kept)
    ]


def line(demonstration: Demonstration, chat: Transcript) -> bytes:
    """One line of a file of demonstrations: the chat as OpenAI's fine-tuning takes it, then where it is from."""
    about: dict[str, Json] = msgspec.to_builtins(demonstration)
    if demonstration.accepted:
        del about["reasons"], about["failed"]
    more: dict[str, Json] = {"left_out": chat.left_out} if chat.left_out else {}
    if chat.unlearnt:
        more["unlearnt"] = chat.unlearnt
    return to_json({"messages": chat.messages, "tools": chat.tools, **about, **more}) + b"\n"
