"""Values as foreign code expects them: JSON as Python's own reader gives it.

Knows that a number with a point is a float there, and a decimal here.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def doubles(value: Any) -> Any:
    """The same value, its decimals as floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {key: doubles(item) for key, item in value.items()}
    return [doubles(item) for item in value] if isinstance(value, list) else value
