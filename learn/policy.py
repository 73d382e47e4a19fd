"""The policy server: many episodes ask, one batch answers.

Knows seats, waves and trio. Does not know models: it is given what generates.

In `lockstep` a wave's batch is run as soon as every episode of the wave either waits for an answer or is over, its rows
in the order of seats. Who is in it follows from the episodes alone and never from who came first, so the same waves
give the same bits; caches are part of that, so whoever wants the bits again begins with the wave, not within it (and
runs waves one after the other: those under way together share the memory for caches, and may take it from each other).
In `throughput` a batch is whoever waits when the model is free: nobody waits for the slowest, an agent may be
interrupted, and the same run need not give the same tokens twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import trio

from ..agents.agent import ActorError
from .student import Asked, Sampled

Mode: TypeAlias = Literal["lockstep", "throughput"]

GATHER = 0.005
"""Seconds for which a batch of `throughput` waits for others."""


class NotInLockstep(ValueError):
    """What `lockstep` cannot promise bits for."""

    def __init__(self) -> None:
        super().__init__(
            "an agent that messages may interrupt cannot be served in lockstep: when it stops waiting depends on the "
            "clock. Serve it with mode `throughput`, or set `interruptible` to false"
        )


class BatchFailed(Exception):
    """The batch that an episode waited for could not be computed; nobody in it has an answer."""


class Generates(Protocol):
    """What computes the answers of a batch, in a thread; one batch at a time."""

    def generate(self, rows: Sequence[Asked], given_up: Callable[[], bool]) -> list[Sampled]:
        """Answer all rows, in their order. May raise, once `given_up` says that nobody waits any more."""
        ...

    def forget(self, life: object | None = None) -> None:
        """Drop what is cached of a life, or of all."""
        ...


class PolicyServer:
    """Answers for many episodes, wave after wave. `rows` is how many may be in one batch of `throughput`."""

    def __init__(self, generator: Generates, mode: Mode = "lockstep", rows: int = 64) -> None:
        self.mode: Mode = mode
        self.rows = rows
        self._generator = generator
        self._ready: deque[list[_Ticket]] = deque()
        """Batches that are complete: of `lockstep`."""
        self._arrived: list[_Ticket] = []
        """Those who wait, by arrival: of `throughput`."""
        self._over: list[object] = []
        """Lives that have ended and may still be in the cache."""
        self._busy = False
        self._open = 0

    def wave(self, count: int, *, interruptible: bool = False) -> list[Seat]:
        """Seats for episodes that begin together. Each is to be closed when its episode is over, however it ends.

        Raises NotInLockstep for agents that may be interrupted.
        """
        if interruptible and self.mode == "lockstep":
            raise NotInLockstep
        wave: list[Seat] = []
        wave.extend(Seat(self, wave) for _ in range(count))
        self._open += count
        return wave

    def forget(self) -> None:
        """The weights have changed: what was computed with the old ones is of no use. For when no batch is running."""
        if self._busy:
            raise RuntimeError("weights were changed while a batch was computed with them; end the wave first")
        self._over.clear()
        self._generator.forget()

    # --- who is in a batch ---------------------------------------------------------------------------------

    def _asked(self, ticket: _Ticket) -> None:
        if self.mode == "throughput":
            self._arrived.append(ticket)
            self._wake()
        else:
            self._look(ticket.seat.wave)

    def _look(self, wave: Sequence[Seat]) -> None:
        """Make a batch of a wave if all who are open in it wait."""
        tickets = [seat.ticket for seat in wave if seat.open]
        waiting = [ticket for ticket in tickets if ticket is not None and not ticket.taken]
        if waiting and len(waiting) == len(tickets):
            for ticket in waiting:
                ticket.taken = True
            self._ready.append(waiting)
            self._wake()

    def _closed(self, seat: Seat) -> None:
        self._open -= 1
        self._over += seat.lives
        if not self._busy:
            self._drop()
        if self.mode == "lockstep":
            self._look(seat.wave)

    def _drop(self) -> None:
        for life in self._over:
            self._generator.forget(life)
        self._over.clear()

    # --- running it ----------------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Have batches run, in a task of their own: whoever waits may be cancelled without harm to the others."""
        if not self._busy:
            self._busy = True
            trio.lowlevel.spawn_system_task(self._work)

    async def _work(self) -> None:
        try:
            while self._ready or self._arrived:
                await self._run(self._ready.popleft() if self._ready else await self._gathered())
        finally:
            self._busy = False
            self._drop()

    async def _gathered(self) -> list[_Ticket]:
        if len(self._arrived) < min(self._open, self.rows):
            await trio.sleep(GATHER)
        batch, self._arrived = self._arrived[: self.rows], self._arrived[self.rows :]
        return batch

    async def _run(self, batch: list[_Ticket]) -> None:
        """Compute a batch, and tell everybody in it. Never raises for what goes wrong with it."""
        batch = [ticket for ticket in batch if not ticket.gone] if self.mode == "throughput" else batch
        if all(ticket.gone for ticket in batch):
            return
        self._drop()
        asked = [ticket.asked for ticket in batch]
        answers: Sequence[Sampled | Exception]
        try:
            answers = await trio.to_thread.run_sync(
                self._generator.generate, asked, lambda: all(ticket.gone for ticket in batch)
            )
        except Exception as error:
            answers = [error] * len(batch)
        for ticket, answer in zip(batch, answers, strict=True):
            ticket.tell(answer)


class _Ticket:
    """One question of one episode."""

    def __init__(self, seat: Seat, asked: Asked) -> None:
        self.seat = seat
        self.asked = asked
        self.answer: Sampled | Exception | None = None
        self.told = trio.Event()
        self.taken = False
        """It is in a batch."""
        self.gone = False
        """Nobody waits for the answer any more."""

    def tell(self, answer: Sampled | Exception) -> None:
        self.answer = answer
        if self.seat.ticket is self:
            self.seat.ticket = None
        self.told.set()


class Seat:
    """The place of one episode in a wave."""

    def __init__(self, server: PolicyServer, wave: Sequence[Seat]) -> None:
        self.wave = wave
        self.open = True
        self.ticket: _Ticket | None = None
        """What it waits for."""
        self.lives: list[object] = []
        """Those who have asked from here."""
        self._server = server
        self._left = False
        """It stopped waiting once, and its episode went on."""

    def close(self) -> None:
        """The episode is over: nobody waits for it, and its caches are dropped."""
        if self.open:
            self.open = False
            self._server._closed(self)

    async def sample(self, asked: Asked) -> Sampled:
        """The policy's answer: a `student.Sample`. Raises BatchFailed if there is none."""
        if not self.open:
            raise ActorError("an episode asked its policy after its seat was closed")
        if self.ticket is not None:
            raise ActorError("two agents asked from one seat at the same time; each needs its own")
        if self._left and self._server.mode == "lockstep":
            raise ActorError(str(NotInLockstep()))
        if not any(life is asked.life for life in self.lives):
            self.lives.append(asked.life)
        self.ticket = ticket = _Ticket(self, asked)
        self._server._asked(ticket)
        try:
            await ticket.told.wait()
        finally:
            if ticket.answer is None:
                self.ticket, ticket.gone, self._left = None, True, True
        return _opened(ticket.answer)


def _opened(answer: Sampled | Exception | None) -> Sampled:
    if isinstance(answer, Exception):
        raise BatchFailed(f"the policy could not answer: {answer}") from answer
    assert answer is not None
    return answer
