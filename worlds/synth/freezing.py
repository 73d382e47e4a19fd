"""Freezing: the frame that an environment's oracle draws, and the scores under it.

Knows what the oracle and the traps are played for. Does not know files, nor whether an environment is fair: one that is
not should not be frozen, since what its oracle changes says nothing about what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from ..checks.frame import frame_of, free_entries
from ..checks.scoring import Rubric, decimal_text
from ..compiling import digest, is_stale, written_out
from ..environment import Environment, Frozen
from ..trapping import BadTrap
from .playing import Case, Play, Program


async def freeze(environment: Environment, play: Play) -> Frozen:
    """The frame over the base and all twins, and the lowest score of the oracle and of each trap under it.

    The frame is what the oracle changes anywhere, and the fields that are free. A trap that does not fit the oracle has
    no score. Raises `InvalidEnvironment`.
    """
    return await scored(await framed(environment, play))


async def scored(case: Case) -> Frozen:
    """The `frozen` block of a case, with the scores under its frame. What the case has played is not played again."""
    frozen = case.environment.frozen
    assert frozen is not None
    return msgspec.structs.replace(frozen, scores=await _scores(case))


async def framed(environment: Environment, play: Play, *, before: Case | None = None) -> Case:
    """A case whose frame is the one that freezing would give the environment now. See `Case` for `before`.

    Raises `InvalidEnvironment`.
    """
    bare = msgspec.structs.replace(environment, frozen=None)
    case = Case(bare, play, before=before)
    entries: set[str] = set()
    for variant, world in case.worlds.items():
        examination = Rubric(world).examine()
        for event in (await case.run(case.oracle(variant), variant)).events:
            examination.apply(event)
        entries.update(frame_of(examination.evidence))
    services = {name: written_out(spec, ("services", name)) for name, spec in bare.services.items()}
    entries.update(free_entries(services))
    return case.under(Frozen(digest=digest(bare), frame=tuple(sorted(entries))))


async def case_of(environment: Environment, play: Play) -> Case:
    """The case of an environment as it is, or, where it is not frozen or was changed since, as freezing would leave it.

    Raises `InvalidEnvironment`.
    """
    fresh = environment.frozen is not None and not is_stale(environment)
    return Case(environment, play) if fresh else await framed(environment, play)


async def _scores(case: Case) -> dict[str, str]:
    scores: dict[str, str] = {}
    for agent, programs in _agents(case):
        found = [(await case.run(program, variant)).score for variant, program in programs]
        scores[agent] = decimal_text(min(found, default=Fraction(0)))
    return scores


def _agents(case: Case) -> Iterator[tuple[str, list[tuple[str, Program]]]]:
    """The oracle and each trap that can be played, with its program in every variant that has it."""
    yield "oracle", [(variant, case.oracle(variant)) for variant in case.worlds]
    for name in case.environment.traps:
        try:
            yield f"trap:{name}", [(v, case.trap(name, v)) for v, world in case.worlds.items() if name in world.traps]
        except BadTrap:
            continue
