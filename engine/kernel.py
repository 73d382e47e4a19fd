"""The kernel: actors, services and the timeline on one heap of virtual time.

Knows in which order things happen and what each step appends. Does not know what an agent thinks, what becomes of a
tool call (`calls`), where events are kept or how the real world is asked. It drives its actors itself, with
`coroutine.send`, so that trio's order of tasks decides nothing; only at the bound of an effect does it wait for the
real world.

Order of items: (virtual time, rank, place and number of whoever created the item). Place 0 is the timeline, place 1 the
agent.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

import trio
from msgspec.structs import replace

from ..agents.agent import Actor, ActorError, Interrupted, Perform
from ..events.codec import to_json
from ..events.errors import LogError
from ..events.event import (
    AGENT,
    WORLD,
    ActorFailed,
    ActorFinished,
    ActorWaited,
    AnyBody,
    EffectCancelled,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    MessageReceived,
    MessageSent,
    TimelineFired,
)
from ..events.normalise import normalise
from ..worlds.faults import Faults
from ..worlds.service import RecordEvent
from ..worlds.timeline import Timeline, record_changes
from ..worlds.world import Happening, World
from . import given
from .asking import Asking, answer_of
from .calls import UnderWay
from .context import KernelContext
from .draw import Drawer
from .effects import Effects, Journal, cut_answer
from .failing import TRACEBACK, traceback_of
from .hosting import Host
from .operations import OPERATIONS, WAITS
from .order import BOUND, DELIVERY, DUE, LIMIT, RETURN, TIMELINE, TIMER
from .recording import Recorder
from .seats import ActorClosed, ForeignAwait, Pending, Seat, message_of, unwind

_LIVELOCK = 10_000
"""Steps at one instant of virtual time after which an episode is given up."""
_RUNAWAY = 100_000
"""Operations of an actor in one step after which it is given up."""
_BREATH = 200
"""Steps between two looks at trio, so that many episodes share a loop and all can be cancelled."""

ENDED = "the episode has ended"
"""Why the requests are cancelled that are under way at the end."""


class Kernel:
    """One episode while it runs. `events` is its stream so far, `state` the records, `now` virtual time."""

    def __init__(
        self,
        world: World,
        started: EpisodeStarted,
        actors: Mapping[str, Actor],
        recorder: Recorder,
        effects: Effects | None = None,
        journal: Journal | None = None,
        host: Host | None = None,
    ) -> None:
        """`actors` are the agent, named `agent`, and the coworkers by id; their order is that of their places.

        Without `effects` the real world cannot be asked, and without `host` no foreign service: each answer must be in
        the journal.
        """
        self.world = world
        self.started = started
        self.now = 0
        self.events: list[Event] = []
        self.marks: set[str] = set()
        self.people = {name: person.role for name, person in world.people.items()}
        self.people |= {name: "" for name in world.personas if name in actors}
        self.state = world.state
        self.reason: str | None = None
        self._detail = ""
        self.ended_by = ""
        """The actor who finished or failed, if that is the reason."""
        self.failure: str | None = None
        """The traceback of the first actor that failed: for its author, and in no event."""
        self._recorder = recorder
        self.asking = Asking(effects, journal or Journal(), host)
        self._timeline = Timeline(world.timeline)
        self.faults = Faults(world.faults)
        self.seed: list[int] = [started.seed]
        """What is drawn from; after a fork with another seed, that seed and the fork's `seq`."""
        self.drawers: dict[tuple[int, str], Drawer] = {}
        self.seeds: dict[int, list[int]] = {}
        """What those at a place draw from, where a fork gave them a seed of their own."""
        self._heap: list[tuple[int, int, int, int, Callable[[Any], object], Any]] = []
        self.seats = {name: Seat(name, place, actor) for place, (name, actor) in enumerate(actors.items(), 1)}
        self._strays: list[tuple[Seat, Any, ForeignAwait, Any]] = []
        self._stepped = 0
        """Events of complete steps."""
        self._recorded = 0
        """Events that the recorder has."""
        self._unsettled = False
        self._timeline_items = 0
        self._steps_now = 0
        self.calls = 0
        self.decisions = 0
        self._tokens = 0
        self._scope: object = None

    # --- the loop ------------------------------------------------------------------------------------------

    async def run(self, until: int | None = None) -> None:
        """Go on until the episode ends, or until the step that appends event `until` is complete.

        Raises Unavailable if an answer is not to be had, Divergence or Exhausted if the recorder compares.
        """
        self._scope = _trio_scope()
        if not self.events:
            self._begin()
            self.finish_step()
        await self._work(until)
        self._hand_over()

    async def _work(self, until: int | None) -> None:
        heap, steps = self._heap, 0
        while until is None or len(self.events) <= until:
            if self.reason is not None:
                if until is None:
                    await self._end()
                return
            if len(heap) == 1 and heap[0][1] == LIMIT:
                self.reason = "idle"
                continue
            at, rank, _, _, action, data = heappop(heap)
            if rank == BOUND:
                if data.seq not in self.asking.pending:
                    continue  # cancelled
                self._hand_over()
                data.answered = await self.asking.answer(data)
            elif rank == TIMER:
                if data[0].waits != data[1]:
                    continue  # it waits for something else by now
            elif rank == DUE and data.seq not in self.asking.pending:
                continue  # interrupted
            elif rank == RETURN and data.hosted is not None:
                await self._host(data, at)
            self._steps_now = self._steps_now + 1 if at == self.now else 0
            self.now = at
            action(data)
            self.finish_step()
            if self._unsettled:
                await self.settle()
            steps += 1
            if steps % _BREATH == 0:
                self._hand_over()
                await trio.lowlevel.checkpoint()

    async def _host(self, under_way: UnderWay, at: int) -> None:
        """Wait for what a foreign service answers, as it is now: nothing else happens meanwhile."""
        assert under_way.hosted is not None
        self._hand_over()
        call = replace(under_way.hosted, at=at, state=self.state)
        under_way.answered = await self.asking.hosted(len(self.events), call, at)

    def _begin(self) -> None:
        start = self.emit(WORLD, None, self.started)
        for opening in self.world.openings:
            sent = self.emit(opening.sender, start, MessageSent(to=AGENT, text=opening.text, media=opening.media))
            self.push(0, DELIVERY, None, self._deliver, sent)
        for seat in self.seats.values():
            self.push(0, TIMER, seat, self.wake_first, (seat, 0))
        for happening, at in self._timeline.at_start():
            self.push(at, TIMELINE, None, self._fire, (happening, start))
        self.push(self.world.deadline, LIMIT, None, self._meet_deadline, None)

    def finish_step(self) -> None:
        """What ends each step: a look at the timeline's conditions, and at the limits."""
        events = self.events
        if len(events) > self._stepped:
            if self._timeline:
                step = events[self._stepped :]
                for happening, at, cause in self._timeline.after_step(step, events):
                    self.push(at, TIMELINE, None, self._fire, (happening, cause))
            self._stepped = len(events)
            if self._stepped - self._recorded >= self._recorder.handful:
                self._hand_over()
            if self._stepped >= self.world.limits.events:
                self.stop("events", f"{self._stepped} events")
        if self._steps_now >= _LIVELOCK:
            self.stop("livelock", f"{_LIVELOCK} steps at one instant")

    def _hand_over(self) -> None:
        """Give the recorder the steps that are complete; several at once, since most of them are small."""
        if self._recorded < self._stepped:
            self._recorder.append(self.events[self._recorded : self._stepped])
            self._recorded = self._stepped

    async def settle(self) -> None:
        """What a step leaves to be waited for: actors that must be unwound, a commit, and then the requests.

        While a log is replayed, requests that it does not answer are kept back until its end is reached; and when the
        episode is over, nobody wants to know.
        """
        while self._strays:
            await unwind(*self._strays.pop())
        self._hand_over()
        await self._recorder.barrier()
        if self.reason is None and not self._recorder.replaying:
            self.asking.begin()
        self._unsettled = self.asking.waiting

    def revive(self) -> None:
        """Take back the end that is due after this step."""
        self.reason, self._detail, self.ended_by = None, "", ""

    def stop(self, reason: str, detail: str = "") -> None:
        """End the episode after this step; the first reason counts."""
        if self.reason is None:
            self.reason, self._detail = reason, detail

    def ask(self, pending: Pending, perform: Perform) -> None:
        """Have the outside world asked when this step is durable."""
        self.asking.add(pending, perform)
        self.push(pending.bound, BOUND, pending.seat, self._resolve, pending)
        self._unsettled = True

    async def _end(self) -> None:
        await self.close()
        for pending in list(self.asking.pending.values()):
            self.emit(pending.seat.name, pending.seq, EffectCancelled(effect=pending.seq, reason=ENDED))
        self.asking.pending.clear()
        self.emit(WORLD, len(self.events) - 1, EpisodeEnded(reason=self.reason or "", detail=self._detail))
        self._stepped = len(self.events)
        self._hand_over()

    async def close(self) -> None:
        """End all actors, in order of declaration; none of them can append anything more."""
        for seat in self.seats.values():
            await unwind(seat, seat.coroutine, ActorClosed())
        self.asking.cancel()

    # --- what all steps are made of --------------------------------------------------------------------------

    def emit(self, actor: str, cause: int | None, body: AnyBody) -> int:
        seq = len(self.events)
        self.events.append(Event(seq, self.now, actor, cause, body))
        return seq

    def push(self, at: int, rank: int, seat: Seat | None, action: Callable[[Any], object], data: Any) -> None:
        if seat is None:
            place, number = 0, self._timeline_items
            self._timeline_items += 1
        else:
            place, number = seat.place, seat.items
            seat.items += 1
        heappush(self._heap, (at, rank, place, number, action, data))

    def drawer(self, place: int, purpose: str) -> Drawer:
        drawer = self.drawers.get((place, purpose))
        if drawer is None:
            drawer = self.drawers[place, purpose] = Drawer(self.seeds.get(place, self.seed), place, purpose)
        return drawer

    def change(self, actor: str, cause: int, changes: Sequence[RecordEvent]) -> None:
        if changes:
            for change in changes:
                self.emit(actor, cause, change)
            self.state = self.state.apply(*changes)

    def send(self, sender: str, cause: int, seat: Seat | None, body: MessageSent) -> int:
        seq = self.emit(sender, cause, body)
        if body.mark is not None:
            self.marks.add(body.mark)
        if body.to in self.seats:
            other = sender if body.to == AGENT else body.to
            latency = self.world.messages.get(other, self.world.message)
            self.push(self.now + latency, DELIVERY, seat, self._deliver, seq)
        return seq

    # --- items -----------------------------------------------------------------------------------------------

    def _fire(self, data: tuple[Happening, int]) -> None:
        happening, cause = data
        fired = self.emit(WORLD, cause, TimelineFired(name=happening.name))
        self.change(WORLD, fired, record_changes(happening, self.state, self.world.keys))
        if happening.say is not None and happening.sender is not None:
            body = MessageSent(to=AGENT, text=happening.say, gives=happening.gives, mark=happening.mark)
            self.send(happening.sender, fired, None, body)

    def _deliver(self, sent: int) -> None:
        body = self.events[sent].body
        assert isinstance(body, MessageSent)
        seat = self.seats[body.to]
        if seat.ended:
            return
        seat.cause = self.emit(seat.name, sent, MessageReceived(message=sent))
        seat.unread.append(message_of(self.events, self.events[seat.cause]))
        if seat.wait == "receive":
            self.advance(seat, (seat.take_unread(), {}))
        elif seat.wait == "answers":
            self.advance(seat, (seat.take_unread(), seat.take_answers()))
        elif seat.wait == "effect" and seat.effect is not None and seat.effect.interruptible:
            self._interrupt(seat, seat.effect)

    def _interrupt(self, seat: Seat, pending: Pending) -> None:
        """A message arrived while the actor thought: before the bound there is no answer, after it a part of one."""
        self.asking.give_up(pending.seq)
        reason = "a message arrived"
        if pending.answered is None:
            self.emit(seat.name, seat.cause, EffectCancelled(effect=pending.seq, reason=reason))
            self.advance(seat, Interrupted())
            return
        paid = pending.request.price.tokens(self.now - pending.start)
        answer = cut_answer(answer_of(pending.answered[0]), paid)
        self.emit(seat.name, seat.cause, EffectCancelled(effect=pending.seq, reason=reason, paid=answer.paid))
        self.advance(seat, answer)

    def _resolve(self, pending: Pending) -> None:
        assert pending.answered is not None
        resolved, outside = pending.answered
        seq = self.emit(pending.seat.name, pending.seq, resolved)
        pending.resolved = seq
        if outside is not None and outside.observed:
            self._recorder.observe(seq, to_json(normalise(outside.observed)[0]))
        elif pending.seq in self.asking.journal.observed:
            self._recorder.observe(seq, self.asking.journal.observed[pending.seq])
        if pending.seat.name == AGENT:
            self._tokens += resolved.tokens or 0
            if self._tokens > self.world.limits.tokens:
                self.stop("tokens", f"{self.world.limits.tokens} tokens")
        self.push(resolved.due, DUE, pending.seat, self._learn, pending)
        self._unsettled = True

    def _learn(self, pending: Pending) -> None:
        """The actor learns the answer of its effect."""
        del self.asking.pending[pending.seq]
        assert pending.answered is not None
        seat, answer = pending.seat, answer_of(pending.answered[0])
        seat.cause = pending.resolved
        if pending.waits:
            self.advance(seat, answer)
            return
        seat.answers[pending.seq] = answer
        if seat.wait == "answers":
            self.advance(seat, (seat.take_unread(), seat.take_answers()))

    def wake_first(self, data: tuple[Seat, int]) -> None:
        seat = data[0]
        try:
            acts = seat.actor.act(KernelContext(self, seat))
            if not isinstance(acts, Coroutine):
                raise ActorError(f"`act` of {seat.name} gave {type(acts).__name__!r}; it must be an `async def`")
        except (Exception, SystemExit) as error:
            self._fail(seat, error)
            return
        seat.coroutine = acts
        self.advance(seat, None)

    def wake_timed(self, data: tuple[Seat, int]) -> None:
        seat = data[0]
        if seat.wait == "sleep":
            self.advance(seat, None)
        else:
            if seat.name == AGENT:  # for a coworker it is the moment that they planned to write at
                seat.cause = self.emit(AGENT, seat.cause, ActorWaited(since=seat.since))
            self.advance(seat, ([], {}))

    def _meet_deadline(self, _: None) -> None:
        self.stop("deadline")

    # --- driving an actor ------------------------------------------------------------------------------------

    def advance(self, seat: Seat, value: Any) -> None:
        """Run an actor until it yields an operation that waits."""
        seat.wait = ""
        seat.waits += 1
        coroutine = seat.coroutine
        assert coroutine is not None
        try:
            for _ in range(_RUNAWAY):
                operation = coroutine.send(value)
                handler = OPERATIONS.get(type(operation))
                if handler is None:
                    self._stray(seat, f"awaited {type(operation).__qualname__}", operation)
                    return
                value = handler(self, seat, operation)
                if value is WAITS:
                    if _trio_scope() is not self._scope:
                        self._stray(seat, "opened a trio nursery or cancel scope")
                    return
            raise ActorError(f"{seat.name} did {_RUNAWAY} things without waiting for anything")
        except StopIteration as stop:
            self._sum_up(seat, stop.value)
        except (Exception, SystemExit) as error:
            self._fail(seat, error)

    def _sum_up(self, seat: Seat, summary: object) -> None:
        """An actor has returned."""
        try:
            self._finish(seat, ActorFinished(summary=given.text(f"what `act` of {seat.name} returned", summary)))
        except ActorError as error:
            self._fail(seat, error)

    def _fail(self, seat: Seat, error: BaseException, coroutine: object = None) -> None:
        """An actor has raised; `coroutine` is one that did something else which ends it.

        Only our own sentences go into the event: another library's may hold an address or a path. The whole of it is
        kept beside the log.
        """
        said = traceback_of(error, coroutine)
        self.failure = self.failure or said
        self._hand_over()
        self._recorder.observe(len(self.events), said.encode("utf-8", "replace"), TRACEBACK)
        message = normalise(str(error))[0] if isinstance(error, ActorError | LogError | ForeignAwait) else ""
        self._finish(seat, ActorFailed(error=type(error).__name__, message=message))

    def _stray(self, seat: Seat, what: str, foreign: Any = None) -> None:
        """An actor did what only the kernel may do in its place. It is unwound when the step is complete."""
        error = ForeignAwait(f"{seat.name} {what}; an actor may await nothing but its context's operations")
        self._strays.append((seat, seat.coroutine, error, foreign))
        self._unsettled = True
        self._fail(seat, error, seat.coroutine)

    def _finish(self, seat: Seat, body: ActorFinished | ActorFailed) -> None:
        seat.wait = "ended"
        seat.coroutine = None
        self.emit(seat.name, seat.cause, body)
        if self.reason is None and (isinstance(body, ActorFailed) or seat.name == AGENT):
            self.ended_by = seat.name
        if isinstance(body, ActorFailed):
            self.stop("failed", f"{seat.name}: {body.error}")
        elif seat.name == AGENT:
            self.stop("finished")


def _trio_scope() -> object:
    """Another one when a nursery or cancel scope was opened in this task and not closed. A guard: no event has it."""
    return getattr(trio.lowlevel.current_task(), "_cancel_status", None)
