"""What validators say: findings as data, which people, repair operators and models read alike.

Knows the shape of a finding and of the edits that may mend it. Does not know any validator, nor how edits are applied.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ...events.event import Json

Severity: TypeAlias = Literal["error", "warning"]


class Edit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way to mend a finding: a repair operator, and what it is to do where."""

    op: str
    """Name of a repair operator, such as `add_where`."""
    path: str = ""
    """Where: a JSON pointer (RFC 6901) into the environment's data, `/checks/moved/expect/where/day`."""
    value: Json = None
    """What the operator needs: a value, a patch, a name."""
    cost: int = 1
    """Cheaper edits are tried first."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that is wrong with an environment."""

    validator: int
    """Its number, 1 to 26."""
    severity: Severity = "error"
    at: str
    """Where: a JSON pointer into the environment's data; "" for the whole."""
    twin: str | None = None
    """The variant it was seen in: "" is the base; None where it is not about one."""
    observed: str
    """What was seen, in a sentence."""
    expected: str
    """What should have been seen, in a sentence."""
    evidence: tuple[int, ...] = ()
    """Events (`seq`) of the episode that shows it."""
    details: dict[str, Json] = {}
    """What the validator knows beyond that, by name; each validator says which names it uses."""
    candidates: tuple[Edit, ...] = ()
    """Edits that may mend it."""


def pointer(*path: str | int) -> str:
    """A JSON pointer to this place."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def parts(at: str) -> list[str]:
    """The parts of a JSON pointer; list positions are digits."""
    return [part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:]]
