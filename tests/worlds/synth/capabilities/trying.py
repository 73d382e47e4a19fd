"""Environments made for one capability or several, and what any of them must hold.

`settings` names where a capability is tried: alone in both languages and modes, and with others that change most of
what a workflow is. `assert_fair` plays there.
"""

from fractions import Fraction
from typing import Any

from coworkenv.engine.playing import play_program
from coworkenv.worlds.compiling import with_twin
from coworkenv.worlds.facts import resolve
from coworkenv.worlds.synth.capabilities.registry import FRAGMENTS
from coworkenv.worlds.synth.family import families
from coworkenv.worlds.synth.freezing import framed
from coworkenv.worlds.synth.making import make, mismatch
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.playing import Case, Program

FAMILIES = ("refunds", "leave")
"""One of each mode."""
PARTNERS = ("B1", "C2", "E1", "H1", "H3")

Setting = tuple[tuple[str, ...], str, str]


def settings(capability: str) -> list[Setting]:
    """Capabilities, family and language: alone everywhere, then each pair that is possible."""
    alone = [((capability,), family, language) for family in FAMILIES for language in ("en", "de")]
    pairs = [
        (tuple(sorted((capability, partner))), family, "en")
        for partner in PARTNERS
        for family in FAMILIES
        if partner != capability
    ]
    return [setting for setting in (*alone, *pairs) if _possible(setting)]


def _possible(setting: Setting) -> bool:
    capabilities, family, _ = setting
    return not mismatch(families()[family], [FRAGMENTS[capability] for capability in capabilities])


async def tried(*capabilities: str, family: str = "refunds", language: str = "en", seed: int = 1) -> Case:
    """The case of an environment with these capabilities."""
    origin = Origin(seed=seed, family=family, capabilities=capabilities, language=language)
    return await framed(make(origin), play_program)


async def scores(case: Case, program: str) -> dict[str, Fraction]:
    """What a trap scores in each variant."""
    return {variant: (await case.run(case.trap(program, variant), variant)).score for variant in case.worlds}


async def failed(case: Case, trap: str, variant: str = "") -> tuple[str, ...]:
    """The checks that a trap fails in a variant."""
    return (await case.run(case.trap(trap, variant), variant)).failed


def facts(case: Case, variant: str = "") -> dict[str, Any]:
    """The facts of a variant, worked out."""
    written = with_twin(case.data, variant or None)["facts"]
    found: dict[str, Any] = resolve({"facts": written, "all": written})["all"]
    return found


async def assert_fair(setting: Setting) -> None:
    """The oracle wins in all variants, doing nothing never pays, and each trap is held in some variant."""
    capabilities, family, language = setting
    case = await tried(*capabilities, family=family, language=language)
    for variant in case.worlds:
        run = await case.run(case.oracle(variant), variant)
        assert run.score == 1, (variant, run.failed, run.failure)
        assert (await case.run(Program("nothing"), variant)).score == 0, variant
    assert case.environment.traps
    for name, trap in case.environment.traps.items():
        assert min((await scores(case, name)).values()) <= Fraction(trap.ceiling), name
