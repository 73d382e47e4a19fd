"""Where in an environment's data something stands that was seen in one of its variants.

Knows twins' patches and JSON pointers. Does not know any validator.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..findings import pointer
from ..playing import Case


def written_at(case: Case, variant: str, *path: str | int) -> str:
    """The pointer to a place of a variant: into the twin's patch, where that is what the variant has from there."""
    if not variant:
        return pointer(*path)
    inside = case.environment.twins[variant]
    depth = 0
    while isinstance(inside, Mapping) and depth < len(path) and path[depth] in inside:
        inside = inside[str(path[depth])]
        depth += 1
    own = depth == len(path) or (depth > 0 and not isinstance(inside, Mapping))
    return pointer("twins", variant, *path) if own else pointer(*path)


def told(variant: str) -> str:
    """A variant in a sentence."""
    return f"in the twin {variant}" if variant else "in the base"
