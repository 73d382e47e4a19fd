"""How many mutants of the held-out operators the checks of environments find out.

Knows how a folder of environments is read, and the mutation validator's way of counting. Does not know any operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec

from coworkenv.engine.playing import play_program
from coworkenv.worlds.document import parse
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.freezing import case_of
from coworkenv.worlds.synth.playing import Case
from coworkenv.worlds.synth.programs.held_out import HELD_OUT
from coworkenv.worlds.synth.programs.mutants import Mutant, Operator
from coworkenv.worlds.synth.programs.scenes import Scene, scene
from coworkenv.worlds.synth.validators.mutation import mutation


class Survivor(msgspec.Struct, frozen=True):
    environment: str
    operator: str
    mutant: str


class Count(msgspec.Struct, frozen=True):
    """Mutants; those that make no difference to the outcome in any variant are not counted."""

    total: int = 0
    killed: int = 0
    stopped: int = 0
    """Of the killed, those that lost points only where they could not go on: what they had missed was needed."""

    @property
    def score(self) -> Fraction:
        """The share that is killed; 1 where there are none."""
        return Fraction(self.killed, self.total) if self.total else Fraction(1)

    @property
    def running(self) -> Fraction:
        """The same without those that could not go on, which any check finds out."""
        total = self.total - self.stopped
        return Fraction(self.killed - self.stopped, total) if total else Fraction(1)

    def __add__(self, other: Count) -> Count:
        return Count(self.total + other.total, self.killed + other.killed, self.stopped + other.stopped)


class Meeting(msgspec.Struct, frozen=True):
    """What came of one environment."""

    environment: str
    counts: dict[str, Count]
    """By operator."""
    survivors: tuple[Survivor, ...]
    broken: tuple[str, ...]
    """Operators that failed, with what they said. What they had made by then counts."""


def files(folder: Path) -> list[Path]:
    """The environments in a folder and those below it, by name; lists and receipts are none."""
    found = sorted(folder.rglob("*.yaml"))
    return [path for path in found if "environment" in (parse(path.read_text(encoding="utf-8")) or {})]


async def meet(path: Path, operators: Mapping[str, Operator] = HELD_OUT) -> Meeting:
    """Play all mutants of an environment. Raises `InvalidEnvironment`."""
    environment = read_environment(path)
    case = await case_of(environment, play_program)
    counts, survivors, broken = {}, [], []
    for name, operator in operators.items():
        guarded = _Guarded(operator)
        found = await mutation(case, {name: guarded})
        counts[name] = Count(found.total, found.killed, await _stopped(case, guarded))
        survivors += [Survivor(environment.id, name, mutant.name) for mutant in found.survivors]
        broken += [f"{name}: {error}" for error in dict.fromkeys(guarded.errors)]
    return Meeting(environment.id, counts, tuple(survivors), tuple(broken))


class _Guarded:
    """An operator whose failures are noted: it is counted as it is, and the others go on."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.errors: list[str] = []

    def __call__(self, scene: Scene, base: Scene) -> Iterator[Mutant]:
        try:
            yield from self._operator(scene, base)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")


async def _stopped(case: Case, operator: Operator) -> int:
    """How many are killed only where the program could not go on."""
    scenes = {variant: await scene(case, variant) for variant in case.worlds}
    made: dict[str, list[tuple[str, Mutant]]] = {}
    for variant, known in scenes.items():
        for mutant in operator(known, scenes[""]):
            made.setdefault(mutant.name, []).append((variant, mutant))
    return sum([await _only_stops(case, places) for places in made.values()])


async def _only_stops(case: Case, places: Sequence[tuple[str, Mutant]]) -> bool:
    lost = False
    for variant, mutant in places:
        run = await case.run(mutant.program, variant)
        if run.score < 1 and not run.failure:
            return False
        lost = lost or run.score < 1
    return lost
