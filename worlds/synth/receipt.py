"""The receipt that travels with an environment: what its validation came to, in figures, and how it became what it is.

Knows what a receipt says and how it is kept beside its environment: `refund.yaml` has `refund.receipt.json`. Does not
know how anything in it is shown. Nothing in a receipt depends on the machine or the clock, so the same environment has
the same receipt everywhere.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Literal

import msgspec

from ...events.codec import BAD_JSON
from ..checks.scoring import decimal_text
from ..compiling import digest
from ..environment import Environment
from .difficulty import difficulty, knobs
from .origin import Origin
from .programs.panel import AGENTS, panel, ranked
from .repairing import Mend, Repaired
from .scores import Figure, Spread, scores
from .validating import Outcome, Validation
from .validators.mutation import mutation
from .validators.registry import FOUNDATIONS

SUFFIX = ".receipt.json"


class ReceiptError(ValueError):
    """A receipt that cannot be read: which, and why."""


class MutationScore(msgspec.Struct, frozen=True):
    """How many spoilt versions of the oracle the checks tell from it."""

    killed: int
    total: int
    survivors: tuple[str, ...] = ()
    """Names of those that they do not."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Figures that only an environment has that can be played."""

    mutation: MutationScore
    scores: dict[str, Spread]
    """By agent: `oracle`, `noop`, `readonly`, `spam`, `trap:NAME`."""
    panel: dict[str, Figure]
    """Mean scores over all variants, from the weakest agent to the strongest."""
    kendall: Figure
    """τ-b between the panel's order and its scores."""
    knobs: dict[str, int]
    """See `difficulty`."""
    difficulty: Figure
    """1 - the mean score of the middle of the panel."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    format: Literal["coworkenv-receipt/1"]
    id: str
    digest: str
    """Of the environment without its `frozen` block. A receipt for another digest is stale."""
    release: str
    """Of coworkenv, that made this receipt."""
    sound: bool
    validators: tuple[Outcome, ...]
    measured: Measured | None = None
    repairs: tuple[Mend, ...] = ()
    origin: Origin | None = None
    """Where it comes from, if it was synthesised."""


async def receipt(found: Validation | Repaired, *, release: str, origin: Origin | None = None) -> Receipt:
    """The receipt of a validated, or a repaired, environment."""
    validation = found.validation if isinstance(found, Repaired) else found
    return Receipt(
        format="coworkenv-receipt/1",
        id=validation.environment.id,
        digest=digest(validation.environment),
        release=release,
        sound=validation.sound,
        validators=validation.outcomes,
        measured=await measured(validation),
        repairs=found.mends if isinstance(found, Repaired) else (),
        origin=origin,
    )


def with_history(fresh: Receipt, older: Receipt) -> Receipt:
    """A receipt with the origin and the repairs of an older one of the same environment."""
    return msgspec.structs.replace(fresh, origin=older.origin, repairs=older.repairs)


async def measured(validation: Validation) -> Measured | None:
    """The figures of an environment; None where it cannot be played, or nobody can win it, so that they mean nothing.

    What validation has played is not played again.
    """
    case = validation.case
    if case is None or any(outcome.errors for outcome in validation.outcomes if outcome.number in FOUNDATIONS):
        return None
    mutants, ranking = await mutation(case), await panel(case)
    return Measured(
        mutation=MutationScore(mutants.killed, mutants.total, tuple(mutant.name for mutant in mutants.survivors)),
        scores=await scores(case),
        panel={agent: decimal_text(score) for agent, score in ranking.items()},
        kendall=f"{ranked(ranking):.4f}",
        knobs=await knobs(case),
        difficulty=decimal_text(difficulty(ranking)),
    )


# --- beside the environment --------------------------------------------------------------------------------


def path_of(environment: Path) -> Path:
    """Where the receipt of an environment's file is."""
    return environment.with_name(environment.stem + SUFFIX)


def encode(value: Receipt) -> bytes:
    """A receipt as its file holds it: JSON, indented, with a line end."""
    return msgspec.json.format(_encoder.encode(value), indent=1) + b"\n"


def decode(content: bytes) -> Receipt:
    """The receipt that a file holds. Raises `ReceiptError`."""
    try:
        found = _decoder.decode(content)
    except BAD_JSON as error:
        raise ReceiptError(_foreign(str(error))) from None
    if found.measured is not None and (tuple(found.measured.panel) != AGENTS or "oracle" not in found.measured.scores):
        raise ReceiptError(_foreign("Others are in its panel, or its oracle has no score"))
    return found


def _foreign(why: str) -> str:
    return f"this is no receipt of this release ({why}); remove it, and make it anew with `env receipt --write`."


def read(path: Path) -> Receipt | None:
    """The receipt in a file; None where there is none. Raises `ReceiptError`."""
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReceiptError(f"{path} cannot be read: {error.strerror}.") from None
    except ReceiptError as error:
        raise ReceiptError(f"{path}: {error}") from None


def is_stale(value: Receipt, environment: Environment) -> bool:
    """Whether a receipt is about another version of the environment."""
    return value.digest != digest(environment)


_encoder = msgspec.json.Encoder(decimal_format="number")
_decoder = msgspec.json.Decoder(Receipt, float_hook=Decimal)
