"""18, trap ceiling: plausible bad agents that get more than they may.

Each trap is played in one variant after the other until one holds it at or under its ceiling. Details: `agent`,
`score` (the lowest anywhere), `ceiling`, `passed` (checks that it passes there), `failed`. Proposes `to_gate` for the
weighted checks that it fails where it scores lowest, and last `drop_trap`. A trap that does not fit the oracle of some
variant is an error, and less than three traps a warning.
"""

from __future__ import annotations

from fractions import Fraction

from ...checks.scoring import decimal_text
from ...trapping import BadTrap
from ..findings import Edit, Finding, pointer
from ..playing import Case, Run
from .places import told, written_at

NUMBER = 18
EXPECTED = 3
"""So many traps an environment should have."""


async def find(case: Case) -> list[Finding]:
    found = [] if len(case.environment.traps) >= EXPECTED else [_few(case)]
    for name in case.environment.traps:
        found += await _trap(case, name)
    return found


async def _trap(case: Case, name: str) -> list[Finding]:
    ceiling = Fraction(case.environment.traps[name].ceiling)
    lowest: Run | None = None
    for variant, world in case.worlds.items():
        if name not in world.traps:
            continue
        try:
            program = case.trap(name, variant)
        except BadTrap as error:
            return [_unplayable(name, variant, str(error))]
        run = await case.run(program, variant)
        if run.failure and not run.failure.startswith("StepFailed"):
            return [_unplayable(name, variant, run.failure)]
        if run.score <= ceiling:
            return []
        if lowest is None or run.score < lowest.score:
            lowest = run
    return [] if lowest is None else [_too_good(case, name, lowest)]


def _too_good(case: Case, name: str, run: Run) -> Finding:
    ceiling = case.environment.traps[name].ceiling
    weights = [v.name for v in run.verdicts if v.applicable and not v.passed and not v.gate]
    gates = tuple(Edit("to_gate", written_at(case, run.variant, "checks", check), cost=2) for check in weights)
    return Finding(
        validator=NUMBER,
        at=pointer("traps", name),
        twin=run.variant,
        observed=f"The trap {name} scores at least {float(run.score):.2f} everywhere, as {told(run.variant)}.",
        expected=f"It scores at most {ceiling} in some variant.",
        details={
            "agent": f"trap:{name}",
            "score": decimal_text(run.score),
            "ceiling": ceiling,
            "passed": [v.name for v in run.verdicts if v.applicable and v.passed],
            "failed": list(run.failed),
        },
        candidates=(*gates, Edit("drop_trap", pointer("traps", name), cost=6)),
    )


def _unplayable(name: str, variant: str, why: str) -> Finding:
    return Finding(
        validator=NUMBER,
        at=pointer("traps", name),
        twin=variant,
        observed=f"The trap {name} cannot be played {told(variant)}: {why}.",
        expected="It can be played in every variant.",
        details={"agent": f"trap:{name}"},
        candidates=(Edit("drop_trap", pointer("traps", name), cost=6),),
    )


def _few(case: Case) -> Finding:
    number = len(case.environment.traps)
    return Finding(
        validator=NUMBER,
        severity="warning",
        at="/traps",
        observed=f"There {'is 1 trap' if number == 1 else f'are {number} traps'}.",
        expected=f"At least {EXPECTED} plausible bad agents show what the checks are for.",
    )
