"""Ctrl-C: work stops where it is safe to, once; a second one stops at once.

Knows signals. Does not know what is stopped.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

T = TypeVar("T")


class Interrupted(Exception):
    """The work was stopped by a signal. All that had been promised to be durable is."""


def run_until_interrupted(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` under trio. Raises Interrupted if a signal stopped it, and whatever it raises itself, unwrapped."""
    result: T = trio.run(_watched, work)
    return result


async def _watched(work: Callable[[], Awaitable[T]]) -> T:
    results: list[T] = []
    failures: list[BaseException] = []

    async def watch(scope: trio.CancelScope) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            watching.set()
            async for _ in signals:
                scope.cancel()
                # From here on a signal does what it always does: whoever is impatient presses the keys again.
                return

    watching = trio.Event()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            nursery.start_soon(watch, scope)
            await watching.wait()
            try:
                results.append(await work())
            except Exception as failure:
                # Raised below, outside of the nursery, which would wrap it.
                failures.append(failure)
        nursery.cancel_scope.cancel()
    if failures:
        raise failures[0]
    if not results:
        raise Interrupted
    return results[0]
