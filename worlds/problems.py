"""What is wrong with an environment, as sentences for the person who wrote it.

Knows how a problem is told. Does not know how problems are found.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong, where, and what may have been meant."""

    path: str
    """Where in the file: `people.lena.replies[0].say`."""
    line: int | None
    """Counted from 1; None where the environment did not come from a text."""
    message: str
    """One sentence."""
    hint: str | None = None
    """What to do about it, where that is more than the message says."""

    def __str__(self) -> str:
        where = ", ".join(part for part in (f"line {self.line}" if self.line else "", self.path) if part)
        text = (f"{where}: " if where else "") + self.message + (f" {self.hint}" if self.hint else "")
        # A name of the file's that holds a line break must not look like another problem.
        return text.replace("\n", "\\n")


class InvalidEnvironment(ValueError):
    """An environment that cannot be played. `problems` are all that were found, at least one."""

    def __init__(self, problems: Sequence[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        self.source = source
        heading = f"{source}: " if source else ""
        super().__init__("\n".join(f"{heading}{problem}" for problem in self.problems))
