"""A tool call, from its start to its return.

Knows latencies, faults and services, and that the calls of one decision run one after the other. Does not know who
decided on them, nor the order in which the heap is worked off. What a foreign service answers is there when its call
returns: the kernel has waited for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..agents.agent import Call, Result
from ..events.event import AGENT, WORLD, EffectRequested, EffectResolved, FaultInjected, ToolCalled, ToolReturned
from ..worlds.faults import Injection
from ..worlds.foreign import ForeignService, HostedCall
from ..worlds.service import Instant, Outcome
from .hosting import fitting, hosted_digest
from .order import RETURN
from .seats import Batch, Seat

if TYPE_CHECKING:
    from .kernel import Kernel


class UnderWay(msgspec.Struct):
    """A call that has not returned: who called, the calls of their decision, and what goes wrong with this one."""

    kernel: Kernel
    seat: Seat
    batch: Batch
    seq: int
    injection: Injection | None
    hosted: HostedCall | None = None
    """Set for a call that reaches a foreign service."""
    answered: EffectResolved | None = None


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
    under_way = UnderWay(kernel, seat, batch, seq, injection)
    service = world.routes.service(call.tool, seat.name)
    if isinstance(service, ForeignService) and (injection is None or injection.reaches):
        under_way.hosted = HostedCall(seat.name, service.name, call.tool, call.args)
    kernel.push(kernel.now + max(1, latency), RETURN, seat, _return, under_way)


def _return(under_way: UnderWay) -> None:
    kernel, seat, batch, seq = under_way.kernel, under_way.seat, under_way.batch, under_way.seq
    injection = under_way.injection
    call = batch.calls[len(batch.results)]
    outcome = _evaluate(kernel, seat, call, injection) if under_way.hosted is None else _hosted(under_way)
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
    service = world.routes.service(call.tool, seat.name)
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


def _hosted(under_way: UnderWay) -> Outcome:
    """What foreign code has answered; the log has it as an effect, in the step of its call's return."""
    kernel, hosted, answered = under_way.kernel, under_way.hosted, under_way.answered
    assert hosted is not None
    assert answered is not None
    body = EffectRequested(
        kind="foreign", digest=hosted_digest(hosted), bound=kernel.now, settings={"call": under_way.seq}
    )
    requested = kernel.emit(WORLD, under_way.seq, body)
    kernel.emit(WORLD, requested, answered)
    outcome = fitting(answered, kernel.world, kernel.state)
    return outcome if under_way.injection is None else under_way.injection.applied_to(outcome)
