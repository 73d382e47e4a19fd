"""What the agents that come with an environment get in it, over the base and all twins.

Knows which agents these are, and how fractions are written. Does not know what they should get.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, TypeAlias

import msgspec

from ..checks.scoring import decimal_text
from .playing import Case, Program
from .programs.spam import spam
from .validators.programs import NOTHING, reading, traps

Figure: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]{1,9}(\.[0-9]{1,12})?\Z")]
"""A decimal number as a text, at most 12 places."""


class Spread(msgspec.Struct, frozen=True):
    """The scores of one agent in the variants that it can be played in."""

    lowest: Figure
    highest: Figure
    variants: int


async def scores(case: Case) -> dict[str, Spread]:
    """By agent: `oracle`, `noop`, `readonly`, `spam`, and `trap:NAME` for each trap that fits."""
    found: dict[str, list[Fraction]] = {}
    for variant in case.worlds:
        for agent, program in _agents(case, variant).items():
            found.setdefault(agent, []).append((await case.run(program, variant)).score)
    return {agent: Spread(decimal_text(min(some)), decimal_text(max(some)), len(some)) for agent, some in found.items()}


def _agents(case: Case, variant: str) -> Mapping[str, Program]:
    return {
        "oracle": case.oracle(variant),
        "noop": NOTHING,
        "readonly": reading(case, variant),
        "spam": spam(case, variant),
        **{program.name.partition("@")[0]: program for program in traps(case, variant)},
    }
