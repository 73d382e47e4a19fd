"""All capabilities, in the order of the taxonomy.

Knows their modules. A new one is imported and named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import a1, b1, b2, b4, c2, c4, d1, e1, e2, e3, e4, g2, g4, h1, h2, h3, h4
from .fragment import Fragment

FRAGMENTS: Mapping[str, Fragment] = MappingProxyType(
    {
        module.FRAGMENT.id: module.FRAGMENT
        for module in (a1, b1, b2, b4, c2, c4, d1, e1, e2, e3, e4, g2, g4, h1, h2, h3, h4)
    }
)
