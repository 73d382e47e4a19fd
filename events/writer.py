"""Group commit: one writer that commits for all open streams of a store, in one worker thread.

Knows when to commit: 1,000 events wait, or 50 ms passed, or a barrier waits. Does not know what a commit does. What an
episode may lose in a crash is what no barrier has waited for; what waits is bounded, because an append that finds far
too much waiting commits it itself, and so waits for the disk.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from .appender import Appender, Part
from .errors import LogError, LogUnusable
from .log import LEASE, writing_over

BATCH = 1000
"""Events that wait, at which a commit begins."""

DELAY = 0.05
"""Seconds after which a commit begins anyway."""

FLOOD = 4000
"""Events that wait, at which an append commits them itself."""

FLOOD_BYTES = 32 * 1024 * 1024


class _Batch:
    """Streams that something waits in, and the event that is set when it no longer does."""

    def __init__(self) -> None:
        self.appenders: dict[Appender, None] = {}
        self.events = 0
        self.size = 0
        self.done = trio.Event()


class Writer:
    """The sink of a store's appenders.

    `commit` writes parts in one transaction and fails the appenders whose lease is lost; if it raises, nothing was
    written. `renew` extends the leases of appenders until a wall-clock time. Both run in a worker thread or in the
    caller's, never two at a time. With `immediate`, each append is committed before it returns.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Part]], None],
        renew: Callable[[Sequence[tuple[Appender, float]]], None],
        immediate: bool,
    ) -> None:
        self._commit = commit
        self._renew = renew
        self.eager = immediate
        self._lock = threading.Lock()
        self._taken: deque[list[Part]] = deque()
        self._batch = _Batch()
        self._in: dict[Appender, _Batch] = {}
        self._opened: dict[Appender, float] = {}
        self._arrived = trio.Event()
        self._urgent = trio.Event()
        self._stopping = False
        self._renewed = trio.current_time()

    def opened(self, appender: Appender, now: float) -> None:
        """`appender` took its lease at wall clock `now`; from here on that lease is renewed by trio's clock."""
        self._opened[appender] = now - trio.current_time()

    def arrived(self, appender: Appender, events: int, size: int) -> None:
        batch = self._batch
        batch.appenders[appender] = None
        batch.events += events
        batch.size += size
        self._in[appender] = batch
        if self.eager or batch.events >= FLOOD or batch.size >= FLOOD_BYTES:
            self._next()
            self._run()
            batch.done.set()
        elif batch.events >= BATCH:
            self._hurry()
        elif not self._arrived.is_set():
            self._arrived.set()

    async def barrier(self, appender: Appender) -> None:
        batch = self._in.get(appender)
        if batch is None or batch.done.is_set():
            await trio.lowlevel.checkpoint()
            return
        self._hurry()
        await batch.done.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        finished = trio.Event()
        # A system task, so that what the body raises reaches the caller as it is and not in a group.
        trio.lowlevel.spawn_system_task(self._serve, finished, name="coworkenv log writer")
        try:
            yield
        finally:
            self._stopping = True
            self._hurry()
            with trio.CancelScope(shield=True):
                await finished.wait()
            untold = next((appender.untold for appender in self._opened if appender.untold is not None), None)
            for appender in self._opened:
                appender.fail(writing_over(appender.stream))
        if untold is not None:
            raise untold

    async def _serve(self, finished: trio.Event) -> None:
        limiter = trio.CapacityLimiter(1)
        with trio.CancelScope(shield=True):
            while not (self._stopping and not self._batch.appenders):
                with trio.move_on_after(LEASE / 3):
                    await self._arrived.wait()
                if self._arrived.is_set():
                    with trio.move_on_after(DELAY):
                        await self._urgent.wait()
                batch, leases = self._next(), self._due()
                if batch.appenders or leases:
                    await trio.to_thread.run_sync(self._run, leases, limiter=limiter)
                batch.done.set()
            finished.set()

    def _hurry(self) -> None:
        self._arrived.set()
        self._urgent.set()

    def _next(self) -> _Batch:
        """What waits, taken out, in order; a new batch begins."""
        batch = self._batch
        self._taken.append([appender.take() for appender in batch.appenders])
        self._hurry()
        self._batch = _Batch()
        self._arrived, self._urgent = trio.Event(), trio.Event()
        return batch

    def _due(self) -> list[tuple[Appender, float]]:
        """The leases that are to be renewed now, and until when."""
        now = trio.current_time()
        if now - self._renewed < LEASE / 3:
            return []
        self._renewed = now
        return [(appender, base + now + LEASE) for appender, base in self._opened.items() if not appender.failed]

    def _run(self, leases: Sequence[tuple[Appender, float]] = ()) -> None:
        """Commit what was taken, whichever thread took it, in that order."""
        with self._lock:
            while self._taken:
                parts = [part for part in self._taken.popleft() if not part.appender.failed]
                self._try([part.appender for part in parts], self._commit, parts)
                for part in parts:
                    if part.closing is not None and not part.appender.failed:
                        self._opened.pop(part.appender, None)
                        self._in.pop(part.appender, None)
            # Not of those that were closed just now.
            leases = [(appender, until) for appender, until in leases if appender in self._opened]
            # A lease that cannot be renewed fails nobody: the next commit says whether it was lost.
            self._try([], self._renew, leases)

    def _try(self, appenders: Sequence[Appender], work: Callable[[Sequence[Any]], None], items: Sequence[Any]) -> None:
        if not items:
            return
        try:
            work(items)
        except LogError as error:
            failure = error
        except Exception as error:
            # A bug of ours; without this, everyone at a barrier would wait for ever.
            failure = LogUnusable(f"the log could not be written: {type(error).__name__}: {error}")
            failure.__cause__ = error
        else:
            return
        for appender in appenders:
            appender.fail(failure)

    def abandoned(self) -> list[Appender]:
        """Those that nobody closed, or that failed."""
        return list(self._opened)
