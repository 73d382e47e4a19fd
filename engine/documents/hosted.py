"""Inside a worker: one document that a stranger made, read. Knows nothing of who asks, nor what for."""

from __future__ import annotations

from pathlib import Path

from ...events.event import Json
from .packages import Unreadable
from .reading import read


class Reader:
    """What the worker hosts."""

    def pages(self, path: str) -> Json:
        """The pages of a PDF, as `pages` and the `count` of all; or what it `says` where it cannot be read."""
        try:
            found = read("pdf", Path(path).read_bytes())
        except Unreadable as unreadable:
            return {"says": unreadable.says}
        return {"pages": list(found.pages), "count": found.count}
