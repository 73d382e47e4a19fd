"""From a requirement to an environment that is fit to be used, or to the reason why there is none.

Knows the order: make, validate, repair, try other facts, freeze, receipt. Does not know files, processes, or how many
are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..compiling import digest
from ..writing import write
from .capabilities.registry import FRAGMENTS
from .coverage import Wanted
from .draft import NoGuise
from .family import families
from .freezing import scored
from .grammar import LANGUAGES, STYLES
from .making import Impossible, make, mismatch
from .origin import Origin
from .playing import Play
from .receipt import encode, receipt
from .repairing import Repaired, repair
from .solving import Unsolvable
from .structure import structural_key
from .validating import Validation, validate
from .validators.leakage import Rank, ranks

ATTEMPTS = 3
"""How often an environment is made, with other facts each time, before it is given up."""


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one origin."""

    origin: Origin
    """With the attempt that it ended with."""
    text: str = ""
    """The environment as a file, frozen; empty where it was discarded."""
    receipt: bytes = b""
    digest: str = ""
    key: str = ""
    """Structural key."""
    request: str = ""
    """What people write to the agent at the start, facts in place."""
    ranks: tuple[Rank, ...] = ()
    """Where the records that the job is about stand in their collections."""
    failed: tuple[int, ...] = ()
    """Validators that failed as it was made first."""
    repairs: int = 0
    """Edits that mended it."""
    discarded: tuple[int, ...] = ()
    """Validators that failed to the end."""
    reason: str = ""
    """Why it was discarded, in a sentence."""


async def produce(origin: Origin, play: Play, release: str) -> Product:
    """Make, validate, and if need be repair, the environment of an origin. `release` goes into its receipt.

    Raises nothing that the requirement could be to blame for: what cannot be made is discarded with the reason.
    """
    first: tuple[int, ...] | None = None
    found: Repaired | None = None
    for attempt in range(origin.attempt, origin.attempt + ATTEMPTS):
        tried = msgspec.structs.replace(origin, attempt=attempt)
        try:
            validation = await validate(make(tried), play)
        except (Impossible, NoGuise, Unsolvable) as error:
            if isinstance(error, Unsolvable) and attempt + 1 < origin.attempt + ATTEMPTS:
                continue
            return Product(origin=tried, reason=str(error))
        first = failing(validation) if first is None else first
        found = Repaired(validation=validation) if validation.sound else await repair(
            validation.environment, play, validation=validation
        )  # fmt: skip
        if found.validation.sound:
            return await _product(tried, found, first, release)
    assert found is not None
    left = found.validation.errors
    reason = found.given_up or (left[0].observed if left else "It is not sound.")
    return Product(origin=tried, failed=first or (), discarded=failing(found.validation), reason=reason)


async def _product(origin: Origin, found: Repaired, failed: tuple[int, ...], release: str) -> Product:
    case = found.validation.case
    assert case is not None
    environment = msgspec.structs.replace(found.environment, frozen=await scored(case))
    return Product(
        origin=origin,
        text=write(environment),
        receipt=encode(await receipt(found, release=release, origin=origin)),
        digest=digest(environment),
        key=structural_key(environment),
        request="\n".join(opening.text for opening in case.worlds[""].openings),
        ranks=tuple(await ranks(case)),
        failed=failed,
        repairs=len(found.mends),
    )


def failing(validation: Validation) -> tuple[int, ...]:
    """The numbers of the validators that failed, in order."""
    return tuple(sorted(outcome.number for outcome in validation.outcomes if outcome.verdict == "failed"))


def wanted(
    capabilities: Sequence[str] = (),
    of: Sequence[str] = (),
    languages: Sequence[str] = LANGUAGES,
    styles: Sequence[str] = STYLES,
    depth: tuple[int, int] = (1, 8),
) -> Wanted:
    """What a plan can choose from: these capabilities and families, or all, and what of them goes together."""
    known = families()
    modes = {family.mode for family in known.values()}

    def compatible(chosen: frozenset[str]) -> bool:
        fragments = [FRAGMENTS[name] for name in chosen]
        needs = {fragment.mode for fragment in fragments} - {None}
        apart = any(other in chosen for fragment in fragments for other in fragment.alone)
        return not apart and len(needs) <= 1 and needs <= modes

    def fits(family: str, chosen: frozenset[str]) -> bool:
        return not mismatch(known[family], [FRAGMENTS[name] for name in sorted(chosen)])

    return Wanted(
        capabilities=tuple(name for name in FRAGMENTS if not capabilities or name in capabilities),
        families=tuple(name for name in known if not of or name in of),
        languages=tuple(languages),
        styles=tuple(styles),
        compatible=compatible,
        fits=fits,
        depth=depth,
    )
