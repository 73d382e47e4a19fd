"""The policy server: many episodes ask, one batch answers.

Knows seats, waves and trio. Does not know models: it is given a `Generator`. In `lockstep` a batch is run when every
episode of the wave either waits for an answer or is over, its rows in the order of seats: so who is in it follows from
the episodes alone, never from who came first, and the same wave gives the same bits. In `throughput` a batch is whoever
waits when the model is free: faster where episodes differ, and no such promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import trio

from ..agents.agent import ActorError
from .student import Asked, Sampled

Mode: TypeAlias = Literal["lockstep", "throughput"]


class Generates(Protocol):
    """What computes the answers of a batch."""

    def generate(self, rows: Sequence[Asked]) -> list[Sampled]: ...

    def forget(self, life: object | None = None) -> None: ...


class PolicyServer:
    """Answers for many episodes. `rows` is how many may be in one batch."""

    def __init__(self, generator: Generates, mode: Mode = "lockstep", rows: int = 64) -> None:
        self.mode: Mode = mode
        self.rows = rows
        self._generator = generator
        self._open: dict[int, Seat] = {}
        self._busy = False
        self._seats = 0

    def wave(self, count: int) -> list[Seat]:
        """Seats for episodes that begin together. Each is to be closed when its episode is over, however it ends."""
        seats = []
        for _ in range(count):
            seats.append(Seat(self, self._seats))
            self._open[self._seats] = seats[-1]
            self._seats += 1
        return seats

    def forget(self) -> None:
        """The weights have changed: what was computed with the old ones is of no use."""
        self._generator.forget()

    def _leave(self, seat: Seat) -> None:
        if self._open.pop(seat.number, None) is not None:
            for life in seat.lives:
                self._generator.forget(life)
            self._wake()

    def _ready(self) -> list[Seat]:
        """The rows of the next batch, if it is to be run now."""
        waiting = [seat for _, seat in sorted(self._open.items()) if seat.asked is not None]
        if self._busy or not waiting or (self.mode == "lockstep" and len(waiting) < len(self._open)):
            return []
        return waiting[: self.rows] if self.mode == "throughput" else waiting

    def _wake(self) -> None:
        """Have one of those who wait run the next batch. It does, since it has nothing else to do."""
        if ready := self._ready():
            ready[0].runs = True
            ready[0].woken.set()

    async def _run(self) -> None:
        """Run the next batch in a thread, and tell everybody in it."""
        ready = self._ready()
        if not ready:
            return
        self._busy = True
        asked = [seat.asked for seat in ready if seat.asked is not None]
        failure: Exception | None = None
        answers: Sequence[Sampled] = ()
        try:
            with trio.CancelScope(shield=True):
                answers = await trio.to_thread.run_sync(self._generator.generate, asked)
        except Exception as error:
            failure = error
        finally:
            self._busy = False
        for place, seat in enumerate(ready):
            seat.asked = None
            seat.answer = answers[place] if failure is None else failure
            seat.woken.set()
        self._wake()


class Seat:
    """The place of one episode in a wave. `sample` is a `student.Sample`."""

    def __init__(self, server: PolicyServer, number: int) -> None:
        self.number = number
        self.asked: Asked | None = None
        self.answer: Sampled | Exception | None = None
        self.woken = trio.Event()
        self.runs = False
        """It is its turn to run the batch."""
        self.lives: list[object] = []
        self._server = server

    def close(self) -> None:
        """The episode is over."""
        self._server._leave(self)

    async def sample(self, asked: Asked) -> Sampled:
        """The policy's answer. Raises what went wrong with the whole batch."""
        if self.number not in self._server._open:
            raise ActorError("an episode asked its policy after its seat was closed")
        if asked.life not in self.lives:
            self.lives.append(asked.life)
        self.asked, self.answer = asked, None
        try:
            self._server._wake()
            while self.answer is None:
                await self.woken.wait()
                self.woken, runs, self.runs = trio.Event(), self.runs, False
                if runs:
                    await self._server._run()
        finally:
            self.asked = None
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer
