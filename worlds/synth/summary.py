"""What the receipts of a set say together: whether its graders are sharp, and whether it tells good agents from bad.

Knows receipts. Does not know where they are kept, nor how anything in them was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from .programs.panel import AGENTS, ranked
from .receipt import Measured, Receipt

APART = Fraction(2, 5)
"""So much more the strongest agent of the panel must have than the weakest, for a capability to be told apart."""


class Capability(msgspec.Struct, frozen=True):
    """How agents of the panel do where one capability is asked for."""

    environments: int
    weakest: str
    strongest: str
    lacking: str
    """Mean of the lowest scores of its own traps: what is left to an agent that lacks nothing but this."""
    apart: bool


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    environments: int
    sound: int
    oracle: str
    """The lowest score of any oracle in any variant."""
    idle: dict[str, str]
    """By agent that must earn nothing (`noop`, `readonly`, `spam`), the greatest of its lowest scores."""
    traps: int
    killed: int
    mutants: int
    worst: str
    """The lowest mutation score of one environment."""
    survivors: dict[str, int]
    """By operator, mutants that no check tells from the oracle."""
    panel: dict[str, str]
    """Mean score of each agent over all environments, from the one that is meant to be weakest on."""
    kendall: str
    """τ-b between the panel's order and these scores."""
    capabilities: dict[str, Capability]
    difficulty: dict[str, int]
    """How many environments, by difficulty in tenths."""
    knobs: dict[str, str]
    """Mean of each measured knob."""
    warnings: dict[str, int]
    """By validator, environments with warnings."""

    @property
    def apart(self) -> int:
        """Capabilities that the panel is told apart by."""
        return sum(capability.apart for capability in self.capabilities.values())


def summary(receipts: Sequence[Receipt]) -> Summary:
    """The figures of a set. Receipts without measurements count as environments only."""
    measured = [receipt.measured for receipt in receipts if receipt.measured is not None]
    means = _means(measured)
    warned = Counter(
        f"{outcome.number} {outcome.name}" for receipt in receipts for outcome in receipt.validators if outcome.findings
    )
    return Summary(
        environments=len(receipts),
        sound=sum(receipt.sound for receipt in receipts),
        oracle=min((each.scores["oracle"].lowest for each in measured), key=Fraction, default="0"),
        idle={agent: _greatest(measured, agent) for agent in ("noop", "readonly", "spam")},
        traps=sum(name.startswith("trap:") for each in measured for name in each.scores),
        killed=sum(each.mutation.killed for each in measured),
        mutants=sum(each.mutation.total for each in measured),
        worst=_text(min((_share(each) for each in measured), default=Fraction(1))),
        survivors=dict(Counter(name.partition(":")[0] for each in measured for name in each.mutation.survivors)),
        panel={agent: _text(score) for agent, score in means.items()},
        kendall=f"{ranked(means):.3f}",
        capabilities=_capabilities(receipts),
        difficulty=dict(sorted(Counter(f"{float(each.difficulty) // 0.1 / 10:.1f}" for each in measured).items())),
        knobs=_knobs(measured),
        warnings=dict(sorted(warned.items())),
    )


def _greatest(measured: Sequence[Measured], agent: str) -> str:
    return max((each.scores[agent].lowest for each in measured if agent in each.scores), key=Fraction, default="0")


def _share(measured: Measured) -> Fraction:
    return Fraction(measured.mutation.killed, measured.mutation.total) if measured.mutation.total else Fraction(1)


def _means(measured: Iterable[Measured]) -> Mapping[str, Fraction]:
    """Mean score of each agent of the panel, in the panel's order."""
    panels = [each.panel for each in measured]
    return {agent: _mean(Fraction(panel[agent]) for panel in panels) for agent in AGENTS}


def _mean(numbers: Iterable[Fraction]) -> Fraction:
    some = list(numbers)
    return sum(some, Fraction(0)) / len(some) if some else Fraction(0)


def _lacking(measured: Sequence[Measured], capability: str) -> Fraction:
    own = f"trap:{capability.lower()}-"
    return _mean(
        Fraction(spread.lowest) for each in measured for name, spread in each.scores.items() if name.startswith(own)
    )


def _capabilities(receipts: Sequence[Receipt]) -> dict[str, Capability]:
    found: dict[str, Capability] = {}
    for name in sorted({name for receipt in receipts if receipt.origin for name in receipt.origin.capabilities}):
        of = [each.measured for each in receipts if each.origin and name in each.origin.capabilities and each.measured]
        means = _means(of)
        weakest, strongest = means[AGENTS[1]], means[AGENTS[-1]]  # the first does nothing at all
        found[name] = Capability(
            len(of), _text(weakest), _text(strongest), _text(_lacking(of, name)), strongest - weakest >= APART
        )
    return found


def _knobs(measured: Sequence[Measured]) -> dict[str, str]:
    names = sorted({name for each in measured for name in each.knobs})
    return {name: f"{sum(each.knobs.get(name, 0) for each in measured) / len(measured):.1f}" for name in names}


def _text(number: Fraction) -> str:
    return f"{float(number):.3f}"
