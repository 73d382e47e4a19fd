"""Where in its code an actor failed, for its author.

Knows coroutines and tracebacks. What it says depends on the machine, so it is kept beside the log and is in no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from traceback import StackSummary, format_exception
from types import FrameType
from typing import Any

TRACEBACK = "traceback"
"""The name of this observation, at the event that says an actor failed."""


def traceback_of(error: BaseException, coroutine: Any = None) -> str:
    """As Python prints it; with `coroutine`, which raised nothing yet, from where that one waits."""
    if coroutine is None:
        return "".join(format_exception(error))
    stack = StackSummary.extract(iter([(frame, frame.f_lineno) for frame in _frames(coroutine)]))
    last = "".join(format_exception(error.with_traceback(None)))
    return "Traceback (most recent call last):\n" + "".join(stack.format()) + last


def _frames(awaitable: Any) -> Iterator[FrameType]:
    """Those that a coroutine waits in, the outermost first."""
    while awaitable is not None:
        frame = getattr(awaitable, "cr_frame", None) or getattr(awaitable, "gi_frame", None)
        if frame is not None:
            yield frame
        awaitable = getattr(awaitable, "cr_await", None) or getattr(awaitable, "gi_yieldfrom", None)
