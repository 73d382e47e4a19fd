"""Sets and splits: which origins belong to a set, ring by ring, and which of what is made of them belongs there.

Knows plans and rings, and calls whatever produces. Does not know files, processes or progress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from ..worlds.synth.coverage import Requirement, Wanted, plan
from ..worlds.synth.manifest import RINGS, Ring
from ..worlds.synth.origin import Origin
from ..worlds.synth.producing import Product
from ..worlds.synth.splits import (
    KNOWN_WORKFLOWS,
    SplitPlan,
    origin_of,
    plan_splits,
    requirement_of,
    requirements_for,
)

Produce: TypeAlias = Callable[[Sequence[Origin]], list[Product]]
"""Makes what is there not yet; gives what came of each origin, in their order."""

TRAINED = 5
"""The most capabilities that an environment for training has."""
APART = 1 << 32
"""Between the seed of what is learnt and that of what is tuned by."""
TRIES = 3
"""A ring that has the workflows of train asks for at most so many times what it needs."""


def whole_set(count: int, seed: int, choice: Wanted, knobs: Mapping[str, int], produce: Produce) -> list[Product]:
    """What came of a plan of so many. Raises `CannotCover`."""
    return produce([origin(seed, each, knobs) for each in plan(count, seed, choice)])


def tuned_set(
    count: int, val: int, seed: int, choice: Wanted, knobs: Mapping[str, int], produce: Produce
) -> dict[str, list[Product]]:
    """By ring: what came of `count` for training, and of `val` others of the same kind. Raises `CannotCover`."""
    train = whole_set(count, seed, choice, knobs, produce)
    known = {product.digest for product in train}
    others = whole_set(val, seed + APART, choice, knobs, produce)
    return {"train": train, "val-iid": [product for product in others if product.digest not in known]}


def origin(seed: int, each: Requirement, knobs: Mapping[str, int] = MappingProxyType({})) -> Origin:
    """Where the environment for a requirement comes from."""
    return Origin(
        seed=seed,
        family=each.family,
        capabilities=each.capabilities,
        index=each.index,
        language=each.language,
        style=each.style,
        knobs=dict(knobs),
    )


def split_set(
    count: int, test: int, seed: int, choice: Wanted, knobs: Mapping[str, int], produce: Produce
) -> dict[str, list[Product]]:
    """By ring: what came of `count` for training and `test` for each other ring. Raises `CannotCover`.

    Four families are held out, fewer where there are not so many.
    """
    low, high = choice.depth
    trained = msgspec.structs.replace(choice, depth=(min(low, TRAINED), min(high, TRAINED)))
    splits = plan_splits(seed, trained, families=min(4, len(choice.families) - 1))
    made: dict[str, list[Product]] = {}
    for ring in RINGS:
        train = [product for product in made.get("train", []) if product.digest]
        made[ring] = _ring(ring, count if ring == "train" else test, splits, trained, train, knobs, produce)
    return made


def _ring(
    ring: Ring,
    count: int,
    splits: SplitPlan,
    trained: Wanted,
    train: Sequence[Product],
    knobs: Mapping[str, int],
    produce: Produce,
) -> list[Product]:
    """What a ring has. An environment whose workflow turns out not to be one of train's, where it should be, since a
    capability can show itself in several ways or an edit has mended it, is left out, and another one made."""
    requirements = [requirement_of(product.origin) for product in train]
    keys = {product.key for product in train}
    asked = count
    while True:
        wanted = requirements_for(ring, asked, splits, trained, requirements)
        products = produce([origin_of(each, ring, splits, knobs) for each in wanted])
        if ring not in KNOWN_WORKFLOWS:
            return products
        products = [product for product in products if not product.digest or product.key in keys]
        if len(products) >= count or asked >= TRIES * count:
            return products[:count]
        asked += count - len(products)
