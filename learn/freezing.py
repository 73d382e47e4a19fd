"""From environments to frozen logs, in as many processes as there are cores.

Knows where environments come from and how the work is shared: one process makes the logs of all twins of one
environment. Does not know what is in the logs (`frozen`), nor what they are for. The same sources and settings give
the same logs, in however many processes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import msgspec
import trio

from ..engine.playing import play_program
from ..engine.sets import origin
from ..engine.workers import workers
from ..worlds.environment import Environment
from ..worlds.problems import InvalidEnvironment
from ..worlds.reading import read_environment
from ..worlds.synth.coverage import plan
from ..worlds.synth.freezing import case_of
from ..worlds.synth.origin import Origin
from ..worlds.synth.playing import Case
from ..worlds.synth.producing import produce, wanted
from .frozen import Header, Rollout, Variant, frozen
from .noise import Noise, noised
from .truth import EXACT, FORKS, Tree

Source: TypeAlias = Environment | Origin
"""An environment, or where a synthesised one comes from."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what is in the logs, beside the environments."""

    seed: int = 0
    share: Fraction = Fraction(1, 4)
    """Epsilon of the noise."""
    others: int = 2
    """Alternatives to the oracle's step, at most."""
    rollouts: int = 128
    """Of each twin."""
    continuations: int = 8
    """Of each state, for methods that fork."""
    forks: int = FORKS
    """Of each state whose value is no exact one."""
    exact: int = EXACT
    """Twins with at most so many episodes are enumerated."""
    twins: int = 4
    """Variants of one environment, at most; the base is the first."""

    def header(self) -> Header:
        return Header(seed=self.seed, share=float(self.share), forks=self.forks, continuations=self.continuations)


class Logs(msgspec.Struct, frozen=True):
    """The logs of one environment, or why there are none."""

    parts: tuple[tuple[Variant, tuple[Rollout, ...]], ...] = ()
    played: int = 0
    """Episodes that were played."""
    reason: str = ""


def synthesised(count: int, seed: int) -> list[Origin]:
    """Where so many small environments come from: one or two capabilities each, in English."""
    choice = wanted(languages=("en",), depth=(1, 2))
    return [origin(seed, each) for each in plan(count, seed, choice)]


def freeze(sources: Sequence[Source], settings: Settings, jobs: int) -> Generator[Logs, None, None]:
    """The logs of each source, in their order. Raises BrokenProcessPool where one of the processes was killed."""
    work = partial(_frozen, settings=settings)
    if jobs < 2:
        yield from map(work, sources)
        return
    with workers(jobs) as pool:
        yield from pool.map(work, sources)


def _frozen(source: Source, settings: Settings) -> Logs:
    return trio.run(logs_of, source, settings)


async def logs_of(source: Source, settings: Settings) -> Logs:
    """The logs of one source. What cannot be played with profit has none, and a reason."""
    if isinstance(source, Origin):
        product = await produce(source, play_program, "")
        if not product.text:
            return Logs(reason=f"an environment of {source.family} could not be made: {product.reason}")
        source = read_environment(product.text)
    try:
        case = await case_of(source, play_program)
    except InvalidEnvironment as error:
        return Logs(reason=str(error))
    return await _logs(case, settings)


async def _logs(case: Case, settings: Settings) -> Logs:
    name = case.environment.id
    if not case.worlds[""].oracle:
        return Logs(reason=f"{name} has no oracle that could be noised")
    parts: list[tuple[Variant, tuple[Rollout, ...]]] = []
    played = 0
    found = await noised(case, Noise(share=settings.share, others=settings.others, seed=settings.seed))
    for oracle in list(found.values())[: settings.twins]:
        tree = Tree(oracle, forks=settings.forks, exact=settings.exact, seed=settings.seed)
        variant, rollouts = await frozen(tree, settings.rollouts, settings.continuations, settings.seed)
        parts.append((variant, tuple(rollouts)))
        played += tree.played
    return Logs(tuple(parts), played)
