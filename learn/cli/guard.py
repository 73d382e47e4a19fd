"""What every command that trains needs: torch, sentences instead of tracebacks, and a Ctrl-C that waits for a step.

Knows which errors say what is wrong. Does not know what is trained.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ...engine.cli.failures import Told


@contextmanager
def told() -> Iterator[None]:
    """Raises Told for what a person can mend."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Told("this needs torch; install it with `pip install 'coworkenv[learn]'`") from None
    from ..folders import NotWritten
    from ..lessons import BadLesson
    from ..models import ModelError
    from ..planning import TooMuch
    from ..rl import BadSettings
    from ..runs import RunError
    from ..training import NotFinite

    try:
        yield
    except (NotWritten, BadLesson, ModelError, TooMuch, BadSettings, RunError, NotFinite) as error:
        raise Told(str(error)) from None


class Stopping:
    """Whether somebody has pressed Ctrl-C."""

    asked = False


@contextmanager
def stopping() -> Iterator[Stopping]:
    """The first Ctrl-C only says that the step under way shall be the last; a second one stops at once."""
    found = Stopping()

    def ask(number: int, _: FrameType | None) -> None:
        found.asked = True
        signal.signal(number, signal.default_int_handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
