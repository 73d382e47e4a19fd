"""17, mutation score: checks so weak that an oracle with a mistake in it still gets everything.

Each mutant (`programs.mutants`) is played in the base and then in the twins until it scores less than 1: it is killed.
One whose outcome (`programs.outcomes`) is the oracle's in every variant is no mistake and does not count. Each survivor
is a finding: a warning while at least 0.98 are killed, else an error. Details: `mutant` (its name), `old`, `new`.

Proposes, by what survived: `add_where` for the field that was wrong, `declare_free` for it; `add_count` for what was
done twice; `add_gate` for what was done too early; `replace` of a check's `after` for what was done too late, and of
its `mentions`, or of the oracle's text, for a value that nobody missed; `drop_step` for a step that nobody missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from weakref import WeakKeyDictionary

import msgspec

from ...checks.frame import free_entries
from ...compiling import written_out
from ..findings import Finding, Severity
from ..playing import Case
from ..programs.mending import candidates
from ..programs.mutants import OPERATORS, ORDERED, Mutant, Operator, mutants
from ..programs.outcomes import outcome
from ..programs.scenes import Scene, scene

NUMBER = 17
GOAL = Fraction(98, 100)
"""The share of mutants that must be killed."""


class Mutation(msgspec.Struct, frozen=True):
    """How many mutants the checks find out."""

    killed: int
    total: int
    """Without those that make no difference."""
    survivors: tuple[Mutant, ...] = ()
    """As they are in the first variant that has them."""

    @property
    def score(self) -> Fraction:
        """The share that is killed; 1 where there are none."""
        return Fraction(self.killed, self.total) if self.total else Fraction(1)


async def find(case: Case) -> list[Finding]:
    found = await mutation(case)
    severity: Severity = "warning" if found.score >= GOAL else "error"
    scenes = {variant: await scene(case, variant) for variant in case.worlds} if found.survivors else {}
    return [
        Finding(
            validator=NUMBER,
            severity=severity,
            at=mutant.at,
            observed=f"The mutant {mutant.name} scores 1.00 in every variant.",
            expected="It scores less in some variant.",
            details={"mutant": mutant.name, "old": mutant.old, "new": mutant.new},
            candidates=tuple(candidates(case, scenes, mutant)),
        )
        for mutant in found.survivors
    ]


async def mutation(case: Case, operators: Mapping[str, Operator] = OPERATORS) -> Mutation:
    """Play all mutants of these operators. What came of the usual ones is kept as long as the case."""
    if operators is not OPERATORS:
        return await _hunted(case, operators)
    if case not in _MUTATIONS:
        _MUTATIONS[case] = await _hunted(case, operators)
    return _MUTATIONS[case]


_MUTATIONS: WeakKeyDictionary[Case, Mutation] = WeakKeyDictionary()


async def _hunted(case: Case, operators: Mapping[str, Operator]) -> Mutation:
    hunt = _Hunt(case, operators)
    base = await hunt.of("")
    await hunt.over("", base)
    for variant in case.worlds:
        if variant:
            await hunt.over(variant, await hunt.of(variant))
    return Mutation(hunt.killed, hunt.killed + len(hunt.survivors), tuple(hunt.survivors))


class _Hunt:
    """The mutants of each variant, and what has become of those that were looked at."""

    def __init__(self, case: Case, operators: Mapping[str, Operator]) -> None:
        self._case = case
        self._operators = operators
        self._scenes: dict[str, Scene] = {}
        self._mutants: dict[str, dict[str, Mutant]] = {}
        self._done: set[str] = set()
        services = case.environment.services.items()
        self._free = frozenset(free_entries({name: written_out(spec, ("services", name)) for name, spec in services}))
        self.killed = 0
        self.survivors: list[Mutant] = []

    async def of(self, variant: str) -> dict[str, Mutant]:
        """The mutants of a variant, by name."""
        if variant not in self._mutants:
            self._scenes[variant] = await scene(self._case, variant)
            found = mutants(self._scenes[variant], self._scenes[""], self._operators)
            self._mutants[variant] = {mutant.name: mutant for mutant in found}
        return self._mutants[variant]

    async def over(self, variant: str, found: Mapping[str, Mutant]) -> None:
        """Look at those of a variant that were not looked at before."""
        for name, mutant in found.items():
            if name not in self._done:
                self._done.add(name)
                if await self._is_killed(name, variant):
                    self.killed += 1
                elif not await self._is_equivalent(name):
                    self.survivors.append(mutant)

    async def _is_killed(self, name: str, first: str) -> bool:
        for variant in (first, *(other for other in self._case.worlds if other != first)):
            mutant = (await self.of(variant)).get(name)
            if mutant is not None and (await self._case.run(mutant.program, variant)).score < 1:
                return True
        return False

    async def _is_equivalent(self, name: str) -> bool:
        """Whether it makes no difference in any variant."""
        for variant, world in self._case.worlds.items():
            mutant = (await self.of(variant)).get(name)
            if mutant is None:
                continue
            run = await self._case.run(mutant.program, variant)
            ordered, oracle = mutant.operator in ORDERED, self._scenes[variant].run
            if outcome(world, run, self._free, ordered) != outcome(world, oracle, self._free, ordered):
                return False
        return True
