"""What each operation of an actor does to an episode.

Knows one operation at a time: what is appended, what goes onto the heap. Does not know the order in which the heap is
worked off, nor what an actor may give (`given`). A handler returns what its operation gives the actor at once, or
`WAITS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..events.event import AGENT, ContextCut, EffectCancelled, EffectRequested, MessageSent
from .calls import begin_call
from .context import DoCalls, DoCancel, DoCut, DoEffect, DoReceive, DoSend, DoSleep
from .effects import fingerprints, prompt_change, request_digest
from .order import TIMER
from .seats import Batch, Pending, Seat

if TYPE_CHECKING:
    from .kernel import Kernel

WAITS = object()
"""What the handler of an operation that waits returns."""


def do_calls(kernel: Kernel, seat: Seat, operation: DoCalls) -> object:
    if not operation.calls:
        return []
    seat.wait = "calls"
    seat.batch = Batch(operation.calls, [])
    begin_call(kernel, seat, seat.batch)
    return WAITS


def do_send(kernel: Kernel, seat: Seat, operation: DoSend) -> object:
    body = MessageSent(
        to=operation.to,
        text=operation.text,
        reply_to=operation.reply_to,
        gives=operation.gives,
        mark=operation.mark,
    )
    return kernel.send(seat.name, seat.cause, seat, body)


def do_receive(kernel: Kernel, seat: Seat, operation: DoReceive) -> object:
    if seat.unread or (operation.answers and seat.answers):
        return seat.take_unread(), seat.take_answers() if operation.answers else {}
    if operation.timeout == 0:
        return [], {}
    seat.wait = "answers" if operation.answers else "receive"
    seat.since = kernel.now
    if operation.timeout is not None:
        kernel.push(kernel.now + operation.timeout, TIMER, seat, kernel.wake_timed, (seat, seat.waits))
    return WAITS


def do_sleep(kernel: Kernel, seat: Seat, operation: DoSleep) -> object:
    seat.wait = "sleep"
    kernel.push(kernel.now + operation.duration, TIMER, seat, kernel.wake_timed, (seat, seat.waits))
    return WAITS


def do_effect(kernel: Kernel, seat: Seat, operation: DoEffect) -> object:
    request = operation.request
    prints = fingerprints(request.prompt)
    bound = kernel.now + max(1, request.price.base)
    body = EffectRequested(
        kind=request.kind,
        digest=request_digest(request, prints),
        bound=bound,
        settings=request.settings,
        prompt=prompt_change(seat.prompts.get(request.kind, ()), prints, request.prompt),
    )
    seat.prompts[request.kind] = prints
    seq = kernel.emit(seat.name, seat.cause, body)
    pending = Pending(seq, seat, request, kernel.now, bound, operation.waits, operation.interruptible)
    kernel.ask(pending, operation.perform)
    if seat.name == AGENT:
        kernel.decisions += 1
        if kernel.decisions > kernel.world.limits.decisions:
            kernel.stop("decisions", f"{kernel.world.limits.decisions} decisions")
    if not operation.waits:
        return seq
    seat.wait = "effect"
    seat.effect = pending
    return WAITS


def do_cancel(kernel: Kernel, seat: Seat, operation: DoCancel) -> object:
    pending = kernel.asking.give_up(operation.effect)
    if pending is not None:
        kernel.emit(seat.name, seat.cause, EffectCancelled(effect=pending.seq, reason=operation.reason))
    return None


def do_cut(kernel: Kernel, seat: Seat, operation: DoCut) -> object:
    body = ContextCut(reason=operation.reason, messages=operation.messages, shortened=operation.shortened)
    kernel.emit(seat.name, seat.cause, body)
    return None


OPERATIONS: dict[type, Callable[[Kernel, Seat, Any], object]] = {
    DoCalls: do_calls,
    DoSend: do_send,
    DoReceive: do_receive,
    DoSleep: do_sleep,
    DoEffect: do_effect,
    DoCancel: do_cancel,
    DoCut: do_cut,
}
