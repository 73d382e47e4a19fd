"""How much the kernel lets this process, and what it starts, take. Knows limits; does not know what they are for."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping


def limit(limits: Mapping[int, int]) -> None:
    """So much of each `resource.RLIMIT_…` from now on, or less where there is less already. Raises OSError, ValueError
    where the kernel refuses; on macOS, which has no limit of address space, such a limit is left out."""
    for name, most in limits.items():
        _, hard = resource.getrlimit(name)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(name, (most, most))
        except (OSError, ValueError):
            if sys.platform == "linux":
                raise
