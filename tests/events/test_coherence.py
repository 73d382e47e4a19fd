"""Events that cannot belong together are refused at the first that cannot be where it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from coworkenv.events.coherence import LATEST, check_coherent
from coworkenv.events.errors import DamagedStream
from coworkenv.events.event import (
    AnyBody,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeStarted,
    Event,
    FaultInjected,
    MessageReceived,
    MessageSent,
    ToolCalled,
    ToolReturned,
)


def started(start: str = "2026-03-02T09:00:00+01:00") -> EpisodeStarted:
    return EpisodeStarted(environment="{}", id="e", start=start, seed=0)


def stream(*bodies: AnyBody) -> list[Event]:
    return [Event(seq, seq, "agent", seq - 1 if seq else None, body) for seq, body in enumerate([started(), *bodies])]


SOUND = stream(
    MessageSent(to="ann", text="Hello"),
    MessageReceived(message=1),
    MessageSent(to="agent", text="Hello", reply_to=1),
    ToolCalled(tool="t"),
    ToolReturned(call=4),
    EffectRequested(kind="model", digest="", bound=9, prompt=([0, 2], {"role": "user"})),
    EffectResolved(effect=6, due=9),
    EffectCancelled(effect=6, reason="interrupted", paid=1),
)


def test_what_belongs_together_passes() -> None:
    check_coherent(SOUND)
    check_coherent([])


@pytest.mark.parametrize("length", range(1, len(SOUND)))
def test_so_does_its_beginning(length: int) -> None:
    check_coherent(SOUND[:length])


@pytest.mark.parametrize(
    ("events", "seq"),
    [
        (SOUND[1:], 0),
        ([SOUND[0], SOUND[2]], 1),
        (stream(started()), 1),
        (stream(MessageReceived(message=0)), 1),
        (stream(MessageReceived(message=1)), 1),
        (stream(MessageReceived(message=-1)), 1),
        (stream(MessageReceived(message=2), MessageSent(to="agent", text="")), 1),
        (stream(MessageSent(to="ann", text="", reply_to=7)), 1),
        (stream(ToolCalled(tool="t"), ToolReturned(call=0)), 2),
        (stream(ToolCalled(tool="t"), ToolReturned(call=1), ToolReturned(call=1)), 3),
        (stream(ToolCalled(tool="t"), EffectResolved(effect=1, due=0)), 2),
        (stream(FaultInjected(fault="f", call=0, kind="slow")), 1),
        (stream(EffectCancelled(effect=0, reason="")), 1),
        (stream(EffectRequested(kind="model", digest="", bound=0, prompt=([0],))), 1),
        (stream(EffectRequested(kind="model", digest="", bound=0, prompt=("text",))), 1),
        ([Event(0, 0, "world", None, started("soon"))], 0),
        ([Event(0, 0, "world", None, started("2026-03-02T09:00:00"))], 0),
        ([Event(0, 0, "world", None, started("9999-03-02T09:00:00+01:00"))], 0),
        ([Event(0, -1, "world", None, started())], 0),
        ([Event(0, LATEST + 1, "world", None, started())], 0),
        ([Event(0, 0, "world", 0, started())], 0),
        ([SOUND[0], Event(1, 5, "agent", 0, ToolCalled(tool="t")), Event(2, 4, "agent", 0, ToolCalled(tool="t"))], 2),
    ],
)
def test_the_first_that_does_not_belong_is_named(events: Sequence[Event], seq: int) -> None:
    with pytest.raises(DamagedStream, match=f"event {seq} cannot be where it is") as caught:
        check_coherent(events)
    assert caught.value.seq == seq
