"""A panel of scripted agents from weak to strong: each masters more capabilities than the one before.

Knows which capabilities are commonly mastered first, and that an agent falls into the traps of those it has not
mastered. A trap belongs to the capability that its name begins with (`a1-guesses`); where no trap of an environment
says so, they are spread over the levels in their order. Does not know what the scores must be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import msgspec

from ...environment import Step, Trap
from ...trapping import BadTrap, bound, edited
from ..playing import Case, Program

LEARNT: tuple[tuple[str, ...], ...] = (
    (),
    ("F4", "G2", "C1", "A4", "B3"),
    ("F2", "H1", "G1", "B2", "C2"),
    ("A1", "F1", "G4", "F3", "A3"),
    ("B1", "D1", "E2", "C3", "G3"),
    ("A2", "D4", "D2", "B4"),
    ("E1", "C4", "D3", "H4"),
    ("E3", "E4", "H3", "H2"),
)
"""What each level learns beyond the one before, from commonly mastered first to last."""

_LEARNABLE = frozenset(name for group in LEARNT for name in group)

IDLE = "level-0"
"""Does nothing."""
WEAK, STRONG = "level-1", f"level-{len(LEARNT)}"
"""Falls into every trap; and into none: the oracle."""
AGENTS: tuple[str, ...] = (IDLE, *(f"level-{level}" for level in range(1, len(LEARNT) + 1)))
"""From weak to strong."""


async def panel(case: Case) -> dict[str, Fraction]:
    """For each agent its mean score over all variants."""
    return {agent: await mean(case, agent) for agent in AGENTS}


async def mean(case: Case, agent: str) -> Fraction:
    """The mean score of one of the panel's agents over all variants."""
    level = AGENTS.index(agent)
    total = Fraction(0)
    for variant in case.worlds:
        total += (await case.run(program(case, level, variant), variant)).score
    return total / len(case.worlds)


def program(case: Case, level: int, variant: str = "") -> Program:
    """What the agent of a level does in a variant; 0 is the one that does nothing."""
    if level == 0:
        return Program("nothing")
    world = case.worlds[variant]
    fallen = [name for name in world.traps if not _is_avoided(name, list(world.traps), level)]
    fitting = [(name, trap) for name in fallen if _fits(world.oracle, trap := world.traps[name])]
    if not fitting:
        return case.oracle(variant)
    if len(fitting) == 1:
        return case.trap(fitting[0][0], variant)
    united = union([trap for _, trap in fitting])
    name = f"traps:{'+'.join(name for name, _ in fitting)}@{variant}"
    return Program(name, edited(world.oracle, united), bound(united))


def union(traps: Sequence[Trap]) -> Trap:
    """Several traps laid over one another: all that any of them does; of two changes of one place the first counts."""
    changes, binds = dict[str, object](), dict[str, object]()
    for trap in reversed(traps):
        changes |= trap.change
        binds |= trap.bind
    return Trap(
        ceiling=min(trap.ceiling for trap in traps),
        drop=_once(trap.drop for trap in traps),
        bind=binds,
        change=changes,
        add=tuple(step for trap in traps for step in trap.add),
        repeat=_once(trap.repeat for trap in traps),
    )


def capability(trap: str) -> str | None:
    """The capability whose trap it is, by its name; None where the name does not say."""
    prefix = trap.partition("-")[0].upper()
    return prefix if prefix in _LEARNABLE else None


def _is_avoided(trap: str, traps: Sequence[str], level: int) -> bool:
    mastered = {name for group in LEARNT[:level] for name in group}
    if level == len(LEARNT):
        return True
    named = [name for name in traps if capability(name) is not None]
    if trap in named:
        return capability(trap) in mastered
    others = [name for name in traps if name not in named]
    return others.index(trap) * (len(LEARNT) - 1) < (level - 1) * len(others)


def _fits(steps: Sequence[Step], trap: Trap) -> bool:
    try:
        edited(steps, trap)
    except BadTrap:
        return False
    return True


def _once(names: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for some in names for name in some))


class Pairs(msgspec.Struct, frozen=True):
    """How the pairs of two rankings agree."""

    concordant: int = 0
    discordant: int = 0
    tied: tuple[int, int] = (0, 0)
    """Pairs that are tied in the first ranking, and in the second."""


def kendall(ranks: Sequence[int | Fraction], scores: Sequence[int | Fraction]) -> Decimal:
    """Kendall's rank correlation τ-b of two rankings of the same agents, in [-1, 1]; 0 where one of them is all ties.

    τ-b = (C - D) / sqrt((n0 - n1) (n0 - n2)), with C concordant and D discordant of n0 = n (n - 1) / 2 pairs, and n1,
    n2 pairs tied in the one and the other (Kendall, 1945). Raises ValueError for rankings of different lengths.
    """
    pairs = _pairs(ranks, scores)
    total = len(ranks) * (len(ranks) - 1) // 2
    below = (total - pairs.tied[0]) * (total - pairs.tied[1])
    return Decimal(pairs.concordant - pairs.discordant) / Decimal(below).sqrt() if below else Decimal(0)


def _pairs(ranks: Sequence[int | Fraction], scores: Sequence[int | Fraction]) -> Pairs:
    pairs = Pairs()
    together = list(zip(ranks, scores, strict=True))
    for number, (rank, score) in enumerate(together):
        for other_rank, other_score in together[:number]:
            a, b = _sign(rank - other_rank), _sign(score - other_score)
            tied = (pairs.tied[0] + (a == 0), pairs.tied[1] + (b == 0))
            pairs = Pairs(pairs.concordant + (a * b > 0), pairs.discordant + (a * b < 0), tied)
    return pairs


def _sign(number: int | Fraction) -> int:
    return (number > 0) - (number < 0)


def ranked(scores: Mapping[str, Fraction]) -> Decimal:
    """Kendall's τ-b between the panel's order, from weak to strong, and its scores."""
    return kendall(range(len(AGENTS)), [scores[agent] for agent in AGENTS])
