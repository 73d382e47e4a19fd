"""Playing programs against an environment: what validators need of whoever can play.

Knows programs (steps that an agent follows), runs (what came of one) and the protocol `Play`, which a higher floor
implements. A `Case` is an environment with all that its validators share: its variants, compiled once, and the runs
that were made already. Does not know how an episode is played, nor any validator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Protocol, TypeAlias

import msgspec

from ...events.codec import from_json, to_json
from ...events.event import ActorFailed, Event, Json
from ..checks.evaluate import Verdict
from ..checks.scoring import Rubric
from ..compiling import plain, under_frame, variants
from ..environment import Environment, Frozen, Step
from ..trapping import bound, edited
from ..world import World


class Program(msgspec.Struct, frozen=True):
    """Steps that a scripted agent follows, like an oracle's. Programs of the same name must be the same."""

    name: str
    steps: tuple[Step, ...] = ()
    seen: dict[str, Json] = {}
    """Values that steps already have, by name: what a spoilt agent believes to have seen."""


class Play(Protocol):
    """Plays a program in a world, in memory, with the world's scripted coworkers and seed 0: the whole stream."""

    async def __call__(self, world: World, program: Program) -> Sequence[Event]: ...


class Run(msgspec.Struct, frozen=True, dict=True):
    """What came of one program in one variant."""

    variant: str
    program: Program
    events: Sequence[Event]
    score: Fraction
    passed: bool
    rubric: Rubric

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.rubric.grade(self.events).verdicts

    @property
    def failed(self) -> tuple[str, ...]:
        """Checks that apply and were not passed."""
        return tuple(verdict.name for verdict in self.verdicts if verdict.applicable and not verdict.passed)

    @property
    def failure(self) -> str:
        """What was wrong with the program itself, where a step could not be carried out."""
        found = next((event.body for event in self.events if isinstance(event.body, ActorFailed)), None)
        return "" if found is None else f"{found.error}: {found.message}"


class Case:
    """An environment under examination. `environment` should be frozen, or its frame is not held against anybody."""

    def __init__(
        self,
        environment: Environment,
        play: Play,
        *,
        before: Case | None = None,
        worlds: Mapping[str, World] | None = None,
    ) -> None:
        """Raises `InvalidEnvironment` where it, or a twin, cannot be compiled.

        `before` is a case of the environment as it was: what was played in a variant that is only judged otherwise now
        is not played again. `worlds` are its variants, where they are compiled already.
        """
        self.environment = environment
        self.play = play
        self.worlds: Mapping[str, World] = variants(environment) if worlds is None else worlds
        """The base under "", then each twin."""
        self._rubrics = {name: Rubric(world) for name, world in self.worlds.items()}
        self._runs: dict[tuple[str, str], Run] = {}
        self._played: dict[str, bytes] = {}
        self._streams: _Streams = {} if before is None else before._streams

    def under(self, frozen: Frozen) -> Case:
        """The case of the same environment under this frame. Nothing else is compiled, or played, again."""
        environment = msgspec.structs.replace(self.environment, frozen=frozen)
        worlds = {variant: under_frame(world, frozen) for variant, world in self.worlds.items()}
        case = Case(environment, self.play, before=self, worlds=worlds)
        case._played = self._played
        return case

    @cached_property
    def data(self) -> dict[str, Json]:
        """The environment as data, references and all. Not to be changed."""
        return plain(self.environment)

    async def run(self, program: Program, variant: str = "") -> Run:
        """What comes of a program in a variant. A run that was made before is not made again."""
        known = self._runs.get((program.name, variant))
        if known is None or known.program != program:
            known = await self._run(program, variant)
            self._runs[program.name, variant] = known
        return known

    async def _run(self, program: Program, variant: str) -> Run:
        events = await self._stream(program, variant)
        rubric = self._rubrics[variant]
        grader = rubric.grader()
        for event in events:
            grader.apply(event)
        score = grader.score()
        return Run(variant, program, events, score, score >= rubric.rule.threshold, rubric)

    async def _stream(self, program: Program, variant: str) -> Sequence[Event]:
        if variant not in self._played:
            self._played[variant] = _what_is_played(self.worlds[variant])
        key = (self._played[variant], to_json((program.steps, program.seen)))
        known = self._streams.get(key)
        if known is None:
            known = self._streams[key] = await self.play(self.worlds[variant], program)
        return known

    def oracle(self, variant: str = "") -> Program:
        """The oracle of a variant (a twin may have steps of its own)."""
        return Program(f"oracle@{variant}", self.worlds[variant].oracle)

    def trap(self, name: str, variant: str = "") -> Program:
        """A trap of a variant. Raises `trapping.BadTrap`."""
        world = self.worlds[variant]
        trap = world.traps[name]
        return Program(f"trap:{name}@{variant}", edited(world.oracle, trap), bound(trap))


_Streams: TypeAlias = dict[tuple[bytes, bytes], Sequence[Event]]
"""By what is played in a world, and what the program does, whatever it is called."""

_JUDGES = ("title", "capabilities", "checks", "scoring", "oracle", "traps", "frozen")
"""Parts of a world's document that decide nothing while it is played. Only the first event, which holds the document,
tells worlds apart that differ in nothing else; no check looks at it."""


def _what_is_played(world: World) -> bytes:
    data = from_json(world.document)
    return sha256(to_json({name: part for name, part in data.items() if name not in _JUDGES})).digest()
