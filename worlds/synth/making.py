"""An origin becomes an environment: the fragments of its capabilities, built in order over its family.

Knows the order of building. Does not know any capability, nor whether what comes out is any good (`validating`).
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from ..environment import Environment
from .assembling import assemble, settle_sources
from .capabilities.fragment import Fragment, Stage
from .capabilities.registry import FRAGMENTS
from .draft import Draft
from .family import Family, families
from .origin import Origin


class Impossible(ValueError):
    """A requirement that no environment can fulfil."""


def make(origin: Origin) -> Environment:
    """The environment of an origin, not yet frozen; always the same. Raises `Impossible`, `NoGuise`, `Unsolvable`."""
    family = families()[origin.family]
    fragments = [FRAGMENTS[capability] for capability in origin.capabilities]
    reason = mismatch(family, fragments)
    if reason:
        raise Impossible(reason)
    draft = Draft(origin, family)
    fragments.sort(key=lambda fragment: (fragment.stage, fragment.order, fragment.id))
    several = sum(fragment.several for fragment in fragments)
    for stage in Stage:
        for fragment in fragments:
            if fragment.stage is stage:
                fragment.build(draft)
        if stage is Stage.SOURCE:
            settle_sources(draft, several)
    return assemble(draft, identity(origin), origin.capabilities)


def mismatch(family: Family, fragments: list[Fragment]) -> str:
    """Why these cannot be one workflow of the family; empty if they can."""
    present = {fragment.id for fragment in fragments}
    for fragment in fragments:
        if fragment.mode is not None and fragment.mode != family.mode:
            return f"{fragment.id} needs a family of mode {fragment.mode}, and {family.family} is not one"
        for other in fragment.alone:
            if other in present:
                return f"{fragment.id} and {other} cannot be in one workflow"
    return ""


def identity(origin: Origin) -> str:
    """The id of an origin's environment, whatever the attempt: area, family, and a hash of the rest."""
    first = msgspec.structs.replace(origin, attempt=0)
    digest = blake2b(msgspec.json.encode(first, order="deterministic"), digest_size=5).hexdigest()
    return f"{families()[origin.family].area}.{origin.family}/{digest}"
