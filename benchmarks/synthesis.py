"""Synthesis at work: environments made of capabilities, and validated by all validators, receipt included.

The figure that repeats on a shared machine is the last: how many episodes a core plays and grades in the time that one
such environment takes. It falls where validation plays less, or does less besides.
"""

from __future__ import annotations

import time

import msgspec

from coworkenv.engine.playing import play_program
from coworkenv.worlds.checks.scoring import Rubric
from coworkenv.worlds.compiling import compile_environment
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth.coverage import plan
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.playing import Program
from coworkenv.worlds.synth.producing import Product, produce, wanted

SEED = 7
PLANNED = 300
"""Environments of the plan that some are taken of; at most so many can be measured."""


class Making(msgspec.Struct, frozen=True):
    """How fast environments come about, on one core; seconds are those that the processor spent on them."""

    environments: int
    capabilities: float
    """The mean number of capabilities in one."""
    rate: float
    """Fully validated environments a second; those that were discarded count as time, not as environments."""
    episodes: float
    """Episodes of the oracles of some of them, played and graded a second."""

    @property
    def price(self) -> float:
        """Episodes that could have been played and graded in the time that one environment took."""
        return self.episodes / self.rate


def origins(count: int) -> list[Origin]:
    """All families, languages and depths from one capability to eight: so many of a plan, at even distances.

    A plan begins with each capability alone, so that the beginning of one would flatter.
    """
    required = plan(PLANNED, SEED, wanted())[:: PLANNED // count][:count]
    return [
        Origin(
            seed=SEED, family=r.family, capabilities=r.capabilities, index=r.index, language=r.language, style=r.style
        )
        for r in required
    ]


async def making(count: int) -> Making:
    """Make and validate so many environments, and play the oracles of some of them for comparison."""
    asked = origins(count)
    start = time.process_time()
    products = [await produce(origin, play_program, "benchmark") for origin in asked]
    taken = time.process_time() - start
    made = [product for product in products if product.digest]
    return Making(
        environments=len(made),
        capabilities=sum(len(product.origin.capabilities) for product in made) / len(made),
        rate=len(made) / taken,
        episodes=await _episodes(made),
    )


async def _episodes(made: list[Product], rounds: int = 20) -> float:
    """Episodes a second: the oracle of each, played and graded so many times."""
    worlds = [compile_environment(read_environment(product.text)) for product in made]
    ready = [(world, Rubric(world), Program("oracle", world.oracle)) for world in worlds]
    start = time.process_time()
    for world, rubric, program in ready * rounds:
        grader = rubric.grader()
        for event in await play_program(world, program):
            grader.apply(event)
        grader.score()
    return len(ready) * rounds / (time.process_time() - start)
