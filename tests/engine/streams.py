"""Streams written by hand: what a timeline, a comparison or a count has to cope with, event by event."""

from __future__ import annotations

from coworkenv.events.event import (
    ActorFinished,
    AnyBody,
    EffectCancelled,
    EffectRequested,
    EffectResolved,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    MessageReceived,
    MessageSent,
    RecordCreated,
    TimelineFired,
    ToolCalled,
    ToolError,
    ToolReturned,
)

SECOND = 1_000_000

STARTED = EpisodeStarted(
    environment="{}",
    id="office.test/1",
    start="2026-03-03T09:00:00+01:00",
    seed=7,
    agent={"kind": "openai", "model": "m"},
    coworkers={"ada": {"kind": "rules"}, "bo": {"kind": "rules"}},
)


def stream(*steps: tuple[float, str, AnyBody] | tuple[float, str, AnyBody, int]) -> list[Event]:
    """Events from (seconds, actor, body) or (seconds, actor, body, cause)."""
    return [
        Event(seq, int(step[0] * SECOND), step[1], step[3] if len(step) > 3 else (seq - 1 if seq else None), step[2])
        for seq, step in enumerate(steps)
    ]


def asynchronous() -> list[Event]:
    """An agent that thinks while a message crosses its own, is interrupted, and calls a tool that fails."""
    return stream(
        (0, "world", STARTED),
        (0, "ada", MessageSent(to="agent", text="Please file it.")),
        (0, "agent", MessageReceived(message=1)),
        (0, "agent", MessageSent(to="bo", text="Which drawer, Bo?")),
        (0, "agent", EffectRequested(kind="model", digest="d", bound=2 * SECOND)),
        (1, "bo", MessageReceived(message=3), 3),
        (2, "agent", EffectResolved(effect=4, due=100 * SECOND, answer={"text": "Hm.", "calls": []}, tokens=4900), 4),
        (40, "world", TimelineFired(name="news"), 0),
        (40, "ada", MessageSent(to="agent", text="Stop!", mark="stopped"), 7),
        (41, "agent", MessageReceived(message=8), 8),
        (41, "agent", EffectCancelled(effect=4, reason="a message arrived", paid=1950), 9),
        (41, "agent", ToolCalled(tool="files.put", args={"drawer": "A"}), 9),
        (61, "agent", RecordCreated(service="files", collection="papers", key="P-1", value={"drawer": "A"}), 11),
        (61, "agent", ToolReturned(call=11, result={"id": "P-1"}), 11),
        (61, "agent", ToolCalled(tool="files.lock"), 13),
        (81, "agent", ToolReturned(call=14, error=ToolError(type="not_found", message="No such drawer.")), 14),
        (81, "agent", MessageSent(to="ada", text="Filed."), 15),
        (81, "agent", ActorFinished(summary="Done."), 15),
        (81, "world", EpisodeEnded(reason="finished")),
    )
