"""Replay: is a stream what it was, and does executing it again give the same bytes?

Knows what can be wrong: the stored bytes, what is repeated from them, their fold, their re-execution. Changes nothing
and asks nobody: every answer of the outside world comes from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import trio

from ..agents.agent import Unavailable
from ..events.chain import Finding
from ..events.codec import decode_many
from ..events.coherence import check_coherent
from ..events.errors import LogError
from ..events.event import SEMANTICS, EpisodeEnded, EpisodeStarted, Event, RecordChanged, RecordCreated, RecordDeleted
from ..events.log import Log
from ..events.verify import verify_stream
from ..worlds.imported import CheckoutError
from ..worlds.records import State
from ..worlds.service import RecordEvent
from ..worlds.world import World
from .agreeing import disagreements
from .episode import execute
from .hosting import Differs, Unhosted, drive_again
from .kernel import Kernel
from .plan import EpisodeError, Unplayable, forks_of, journal_of, plan_of
from .recording import Comparing, Divergence, Exhausted

Verdict = Literal["identical", "identical so far", "damaged", "different", "not executed", "not driven"]

_RECORDS = (RecordCreated, RecordChanged, RecordDeleted)


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` found about one stream."""

    stream: str
    verdict: Verdict
    """`identical so far` for an episode that has not ended; `not executed` for one of other semantics, one in which an
    actor plays who is not known here, or a grading; `not driven` for one that is identical, while the foreign code that
    was to be driven again, too, is not to be had."""
    events: int
    damage: tuple[Finding, ...] = ()
    seq: int | None = None
    """The first event that differs, with what the log holds and what execution gave."""
    stored: str | None = None
    executed: str | None = None
    says: str = ""

    @property
    def good(self) -> bool:
        return self.verdict in ("identical", "identical so far", "not executed")


async def verify(log: Log, stream: str, foreign: bool = False) -> Verified:
    """Check what is stored of a stream (chain, blobs, observations, row, grades) and, if it is an episode, execute it
    again. With `foreign`, its foreign services' code is driven through all its calls, too, and must answer the same.
    """
    row = log.row(stream)

    def damaged(findings: Sequence[Finding]) -> Verified:
        return Verified(
            stream=row.id, verdict="damaged", events=row.count, damage=tuple(findings), says=findings[0].message
        )

    if damage := verify_stream(log, row.id):
        return damaged(damage)
    try:
        raw = [data for _, data, _ in log.read_raw(row.id)]
        events = decode_many(raw, log.recent)
        check_coherent(events)
        disagreeing = list(disagreements(log, row, events)) if events else []
    except LogError as error:
        return Verified(stream=row.id, verdict="damaged", events=row.count, says=str(error))
    if disagreeing:
        return damaged(disagreeing)
    if not events:
        return Verified(stream=row.id, verdict="identical so far", events=0, says="no events yet")
    if row.kind != "episode":
        return Verified(stream=row.id, verdict="not executed", events=row.count, says="a grading: its chain is sound")
    # A process that dies between its last event and the row's status leaves an episode that has ended all the same.
    ended = row.status == "ended" or isinstance(events[-1].body, EpisodeEnded)
    found = await _execute_again(row.id, raw, events, ended)
    return await _drive_again(found, events) if foreign and found.verdict.startswith("identical") else found


async def _drive_again(found: Verified, events: Sequence[Event]) -> Verified:
    differs: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            await drive_again(plan_of(events).world, events, nursery)
        except Exception as error:  # Kept, and raised outside of the nursery: there it would become a group.
            differs = error
        nursery.cancel_scope.cancel()
    if differs is None:
        return found
    if isinstance(differs, Differs):
        return msgspec.structs.replace(found, verdict="different", says=str(differs))
    if isinstance(differs, Unavailable | Unhosted | CheckoutError):
        return msgspec.structs.replace(found, verdict="not driven", says=str(differs))
    raise differs


async def _execute_again(stream: str, raw: list[bytes], events: list[Event], ended: bool) -> Verified:
    def verified(verdict: Verdict, says: str = "") -> Verified:
        return Verified(stream=stream, verdict=verdict, events=len(raw), says=says)

    started = events[0].body
    if isinstance(started, EpisodeStarted) and started.semantics != SEMANTICS:
        return verified("not executed", f"recorded under semantics {started.semantics}; its chain is sound")
    recorder = Comparing(raw)
    try:
        plan = plan_of(events)
        kernel = Kernel(plan.world, plan.started(), plan.actors(), recorder, None, journal_of(events))
        try:
            await execute(kernel, forks_of(events), None if ended else len(raw) - 1)
            recorder.finish()
        finally:
            await kernel.close()
    except Unplayable as error:
        return verified("not executed", f"its chain is sound; it cannot be executed again here, since {error}")
    except (EpisodeError, Exhausted, Differs) as error:
        return verified("different", str(error))
    except Divergence as difference:
        return Verified(
            stream=stream,
            verdict="different",
            events=len(raw),
            seq=difference.seq,
            stored=_text(difference.stored),
            executed=_text(difference.executed),
            says=str(difference),
        )
    folded = state_after(plan.world, events)
    if folded != kernel.state:
        return verified("different", "the records that the events give are not those that execution gives")
    return verified("identical" if ended else "identical so far")


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def state_after(world: World, events: Iterable[Event]) -> State:
    """The records after `events`, by projection: no actor and no service runs. Raises EpisodeError for events that
    cannot be folded."""
    written = [(event.seq, event.body) for event in events if isinstance(event.body, _RECORDS)]
    try:
        return world.state.apply(*(body for _, body in written))
    except KeyError:
        raise EpisodeError(_first_loose(world.state, written)) from None


def _first_loose(state: State, written: Sequence[tuple[int, RecordEvent]]) -> str:
    """What is wrong with the first record event that does not fit those before it."""
    for seq, body in written:
        try:
            state = state.apply(body)
        except KeyError:
            where = f"{body.service}.{body.collection}:{body.key}"
            return f"event {seq} changes the record {where:.120}, which is not there"
    return "the record events do not fit one another"
