"""A tool call, from its start to its return.

Knows latencies, faults and services, and that the calls of one decision run one after the other. Does not know who
decided on them, nor the order in which the heap is worked off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..agents.agent import Call, Result
from ..events.event import AGENT, WORLD, FaultInjected, ToolCalled, ToolReturned
from ..worlds.faults import Injection
from ..worlds.service import Instant, Outcome
from .order import RETURN
from .seats import Batch, Seat

if TYPE_CHECKING:
    from .kernel import Kernel

_UnderWay: TypeAlias = "tuple[Kernel, Seat, Batch, int, Injection | None]"
"""Besides the kernel: who called, the calls of their decision, the `seq` of this one, and what goes wrong with it."""


def begin_call(kernel: Kernel, seat: Seat, batch: Batch) -> None:
    """Append the next call of a batch; it returns a latency later."""
    call = batch.calls[len(batch.results)]
    seq = kernel.emit(seat.name, seat.cause, ToolCalled(tool=call.tool, args=call.args))
    world = kernel.world
    if seat.name == AGENT:
        kernel.calls += 1
        if kernel.calls > world.limits.calls:
            kernel.stop("calls", f"{world.limits.calls} calls")
    injection = None
    if world.faults:
        injection = kernel.faults.decide(call.tool, call.args, kernel.drawer(seat.place, "fault"))
    latency = world.latencies.get(call.tool, world.call)
    if injection is not None:
        latency += injection.delay
    kernel.push(kernel.now + max(1, latency), RETURN, seat, _return, (kernel, seat, batch, seq, injection))


def _return(under_way: _UnderWay) -> None:
    kernel, seat, batch, seq, injection = under_way
    call = batch.calls[len(batch.results)]
    outcome = _evaluate(kernel, seat, call, injection)
    if injection is not None:
        kernel.emit(WORLD, seq, FaultInjected(fault=injection.fault, call=seq, kind=injection.kind))
    kernel.change(seat.name, seq, outcome.changes)
    body = ToolReturned(call=seq, result=outcome.result, error=outcome.error, status=outcome.status)
    returned = kernel.emit(seat.name, seq, body)
    if seat.batch is not batch:
        return  # asked for by an actor who has been replaced since: the work is done, and nobody wants to know
    seat.cause = returned
    batch.results.append(Result(seq, call.tool, outcome.result, outcome.error, outcome.status))
    if len(batch.results) < len(batch.calls):
        begin_call(kernel, seat, batch)
    else:
        seat.batch = None
        kernel.advance(seat, batch.results)


def _evaluate(kernel: Kernel, seat: Seat, call: Call, injection: Injection | None) -> Outcome:
    world = kernel.world
    service = world.routes.service(call.tool)
    if service is None:
        return world.routes.unknown(call.tool)
    if injection is not None and not injection.reaches:
        return injection.outcome()
    outcome = service.call(
        call.tool,
        call.args,
        kernel.state[service.name],
        Instant(world.start, kernel.now),
        kernel.drawer(seat.place, "service"),
    )
    return outcome if injection is None else injection.applied_to(outcome)
