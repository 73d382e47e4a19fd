"""All capabilities, in the order of the taxonomy.

Knows their modules. A new one is imported and named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import (
    a1,
    a2,
    a3,
    a4,
    b1,
    b2,
    b3,
    b4,
    c1,
    c2,
    c3,
    c4,
    d1,
    d2,
    d3,
    d4,
    e1,
    e2,
    e3,
    e4,
    f1,
    f2,
    f3,
    f4,
    g1,
    g2,
    g3,
    g4,
    h1,
    h2,
    h3,
    h4,
)
from .fragment import Fragment

_MODULES = (
    a1, a2, a3, a4, b1, b2, b3, b4, c1, c2, c3, c4, d1, d2, d3, d4,
    e1, e2, e3, e4, f1, f2, f3, f4, g1, g2, g3, g4, h1, h2, h3, h4,
)  # fmt: skip

FRAGMENTS: Mapping[str, Fragment] = MappingProxyType({module.FRAGMENT.id: module.FRAGMENT for module in _MODULES})
