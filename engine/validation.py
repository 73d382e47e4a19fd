"""Is an environment fair? Solvable in all its twins, worth nothing to those who do nothing, not to be had by its traps.

Knows what is played to find out, and what the scores must be. Does not know files, nor how findings are told. Everybody
who plays here is scripted, so nothing outside is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

from ..agents.building import build_agent, build_coworkers
from ..events.event import ActorFailed, Event, Json, TimelineFired
from ..worlds.checks.frame import frame_of, free_entries
from ..worlds.checks.scoring import Grade, Rubric
from ..worlds.compiling import digest, is_stale, plain, variants, written_out
from ..worlds.environment import Environment, Frozen
from ..worlds.world import World
from .episode import play
from .plan import Plan

Severity: TypeAlias = Literal["error", "warning"]

IDLE = ("noop", "readonly")
"""Agents that change nothing, and must earn nothing."""


class Complaint(msgspec.Struct, frozen=True):
    """Something that is not as it should be. A warning does not make the environment unfair."""

    severity: Severity
    kind: Literal["oracle", "idle", "trap", "frame", "unused"]
    message: str


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """One episode that was played to find out."""

    variant: str
    """The twin; empty for the base."""
    agent: str
    score: str
    passed: bool
    failed: tuple[str, ...] = ()
    """Checks that apply and were not passed."""
    ended: str = ""
    fired: tuple[str, ...] = ()
    """Entries of the timeline that happened."""
    failure: str = ""
    """What was wrong with the agent itself, where its code failed."""


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found about an environment that can be read."""

    id: str
    played: tuple[Played, ...]
    complaints: tuple[Complaint, ...]

    @property
    def fair(self) -> bool:
        return all(complaint.severity != "error" for complaint in self.complaints)


async def validate(environment: Environment) -> Validation:
    """Play the oracle, the idle agents and all traps in the base and in each twin, and judge the scores.

    An environment that is not frozen, or was changed since, is judged by the frame that freezing would give it.
    """
    fresh = environment.frozen is not None and not is_stale(environment)
    worlds = variants(environment if fresh else msgspec.structs.replace(environment, frozen=await freeze(environment)))
    agents = ["oracle", *IDLE, *(f"trap:{name}" for name in environment.traps)]
    played = [await _played(variant, world, agent) for agent in agents for variant, world in worlds.items()]
    complaints = (
        *_oracle(environment, played),
        *_idle(played),
        *_traps(environment, played),
        *_frame(environment),
        *_unused(environment, worlds, played),
    )
    return Validation(id=environment.id, played=tuple(played), complaints=complaints)


async def _played(variant: str, world: World, agent: str) -> Played:
    events, grade = await _play(world, agent)
    failure = next((e.body for e in events if isinstance(e.body, ActorFailed)), None)
    return Played(
        variant=variant,
        agent=agent,
        score=grade.score,
        passed=grade.passed,
        failed=tuple(v.name for v in grade.verdicts if v.applicable and not v.passed),
        ended=getattr(events[-1].body, "reason", ""),
        fired=tuple(e.body.name for e in events if isinstance(e.body, TimelineFired)),
        failure=f"{failure.error}: {failure.message}".rstrip(": ") if failure else "",
    )


async def _play(world: World, agent: str) -> tuple[Sequence[Event], Grade]:
    plan = Plan(world=world, agent=build_agent(agent), coworkers=build_coworkers(world))
    events = (await play(plan)).events
    return events, Rubric(world).grade(events)


def _where(variant: str) -> str:
    return f"in the twin {variant}" if variant else "in the base"


# --- what the scores must be -------------------------------------------------------------------------------


def _oracle(environment: Environment, played: Iterable[Played]) -> Iterator[Complaint]:
    if not environment.oracle:
        yield Complaint("error", "oracle", "There is no oracle: nothing shows that the environment can be solved.")
        return
    for run in played:
        if run.agent == "oracle" and not (run.passed and Fraction(run.score) == 1):
            why = run.failure or (f"not passed: {', '.join(run.failed)}" if run.failed else f"it ended by {run.ended}")
            yield Complaint("error", "oracle", f"The oracle scores {_number(run)} {_where(run.variant)} ({why}).")


def _idle(played: Iterable[Played]) -> Iterator[Complaint]:
    for run in played:
        if run.agent in IDLE and Fraction(run.score) != 0:
            what = "does nothing" if run.agent == "noop" else "only reads"
            message = f"An agent that {what} scores {_number(run)} {_where(run.variant)}; it must be 0."
            yield Complaint("error", "idle", message)


def _traps(environment: Environment, played: Sequence[Played]) -> Iterator[Complaint]:
    for name, trap in environment.traps.items():
        runs = [run for run in played if run.agent == f"trap:{name}"]
        broken = next((run for run in runs if run.failure and not run.failure.startswith("StepFailed")), None)
        if broken is not None:
            yield Complaint(
                "error", "trap", f"The trap {name} cannot be played {_where(broken.variant)}: {broken.failure}"
            )
        lowest = min(runs, key=lambda run: Fraction(run.score), default=None)
        if lowest is not None and Fraction(lowest.score) > Fraction(trap.ceiling):
            message = f"The trap {name} scores at least {_number(lowest)} everywhere; its ceiling is {trap.ceiling}."
            yield Complaint("error", "trap", message)


def _number(run: Played) -> str:
    return f"{float(run.score):.2f}"


# --- what is there for nothing -----------------------------------------------------------------------------


def _unused(environment: Environment, worlds: Mapping[str, World], played: Sequence[Played]) -> Iterator[Complaint]:
    for fact in unused_facts(plain(environment)):
        yield Complaint("warning", "unused", f"Nothing refers to the fact {fact}.")
    fired = {name for run in played for name in run.fired}
    named = dict.fromkeys(happening.name for world in worlds.values() for happening in world.timeline)
    for name in named:
        if name not in fired:
            yield Complaint("warning", "unused", f"Nothing that was played makes the timeline's {name} happen.")
    failed = {name for run in played for name in run.failed}
    for name in dict.fromkeys(name for world in worlds.values() for name in world.checks):
        if name not in failed:
            yield Complaint(
                "warning", "unused", f"No agent here fails the check {name}; a trap should show what it is for."
            )


_REFERENCE = re.compile(r"(?<!\$)\$\{?([^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*)")


def unused_facts(data: Mapping[str, Json]) -> list[str]:
    """Facts of an environment's data that no text anywhere refers to, as `order.id`."""
    used = {found for text in _texts(data) for found in _REFERENCE.findall(text)}
    prefixes = {".".join(name.split(".")[:n]) for name in used for n in range(1, name.count(".") + 2)}
    return [name for name in _leaves(data.get("facts", {})) if not _is_used(name, used, prefixes)]


def _is_used(name: str, used: set[str], prefixes: set[str]) -> bool:
    """Whether it, something inside of it, or the whole that it belongs to is referred to."""
    parts = name.split(".")
    return name in prefixes or any(".".join(parts[:n]) in used for n in range(1, len(parts)))


def _leaves(facts: Mapping[str, Json], before: str = "") -> Iterator[str]:
    for name, value in facts.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))


# --- the frame ---------------------------------------------------------------------------------------------


def _frame(environment: Environment) -> Iterator[Complaint]:
    if environment.frozen is None:
        yield Complaint(
            "warning", "frame", "It is not frozen, so nobody's side effects are held against them; freeze it."
        )
    elif is_stale(environment):
        yield Complaint("error", "frame", "It was changed after it was frozen; freeze it again.")


async def freeze(environment: Environment) -> Frozen:
    """The frame over the base and all twins, and the scores under it.

    The frame is what the oracle changes anywhere, and the fields that are free. Raises `InvalidEnvironment`.
    """
    bare = msgspec.structs.replace(environment, frozen=None)
    entries: set[str] = set()
    for world in variants(bare).values():
        events, _ = await _play(world, "oracle")
        examination = Rubric(world).examine()
        for event in events:
            examination.apply(event)
        entries.update(frame_of(examination.evidence))
    services = {name: written_out(spec, ("services", name)) for name, spec in environment.services.items()}
    entries.update(free_entries(services))
    framed = msgspec.structs.replace(bare, frozen=Frozen(digest=digest(bare), frame=tuple(sorted(entries))))
    scores = await _scores(framed)
    assert framed.frozen is not None
    return msgspec.structs.replace(framed.frozen, scores=scores)


async def _scores(environment: Environment) -> dict[str, str]:
    """For the oracle and each trap its lowest score over the base and all twins."""
    worlds = variants(environment)
    scores: dict[str, str] = {}
    for agent in ["oracle", *(f"trap:{name}" for name in environment.traps)]:
        found = [(await _play(world, agent))[1].score for world in worlds.values()]
        scores[agent] = min(found, key=Fraction)
    return scores
