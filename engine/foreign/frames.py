"""What parent and worker say to each other: JSON arrays, each after its length in four bytes.

Knows the limit of their size. Does not know what they say. Used on both sides, so it imports next to nothing.
"""

from __future__ import annotations

from ...events.codec import to_json
from ...events.event import Json

HEADER = 4
"""Bytes of a length."""

LIMIT = 16 << 20
"""Bytes of a frame."""


class TooLarge(Exception):
    """A frame would have more bytes than `LIMIT`."""


def packed(frame: list[Json]) -> bytes:
    """The bytes of `frame`. Raises TooLarge."""
    data = to_json(frame)
    if len(data) > LIMIT:
        raise TooLarge(f"has {len(data):,} bytes as JSON, and {LIMIT:,} are allowed")
    return len(data).to_bytes(HEADER, "big") + data


def announced(header: bytes) -> int:
    """How many bytes follow. Raises TooLarge."""
    size = int.from_bytes(header, "big")
    if size > LIMIT:
        raise TooLarge(f"announces {size:,} bytes, and {LIMIT:,} are allowed")
    return size
