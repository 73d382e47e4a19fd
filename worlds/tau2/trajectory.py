"""A stream as the messages that upstream's evaluators take, and how upstream would say that it ended.

Knows events. Does not know how a trajectory is graded. A call stands where it took effect, followed by its result, so
that running the calls again in this order gives the databases that the stream has, whoever of the two acted between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from ...events.event import (
    AGENT,
    ActorFinished,
    EpisodeEnded,
    Event,
    Json,
    MessageSent,
    ToolCalled,
    ToolReturned,
)
from .reference import USER
from .task import AGENT_SIDE, GREETING, USER_SIDE, Task

Termination: TypeAlias = Literal["user_stop", "agent_stop", "max_steps", "too_many_errors", "agent_error", "timeout"]

ERRORS = 10
"""Failed calls with which upstream gives a conversation up."""

_SIDES = {AGENT: AGENT_SIDE, USER: USER_SIDE}


def trajectory(task: Task, events: Sequence[Event]) -> list[dict[str, Json]]:
    """The messages of an episode, in order."""
    return [] if not events else list(_messages(task, events))


def _messages(task: Task, events: Sequence[Event]) -> Iterator[dict[str, Json]]:
    before = history(task)
    if before:
        yield from before
    elif not task.solo:
        yield {"role": AGENT_SIDE, "content": GREETING}
    for event in events:
        body, side = event.body, _SIDES.get(event.actor)
        if side is None or (task.solo and side == USER_SIDE):
            continue
        if isinstance(body, MessageSent) and body.text:
            yield {"role": side, "content": body.text}
        elif isinstance(body, ToolReturned):
            yield from _call(events[body.call], body, side)
        elif isinstance(body, ActorFinished) and body.summary and (task.solo or side == USER_SIDE):
            yield {"role": side, "content": body.summary}


def history(task: Task) -> list[dict[str, Json]]:
    """What was said and done before the episode, as the task's file has it."""
    return list((task.raw.get("initial_state") or {}).get("message_history") or ())


def _call(called: Event, returned: ToolReturned, side: str) -> Iterator[dict[str, Json]]:
    body = called.body
    assert isinstance(body, ToolCalled)
    if not isinstance(body.args, dict):
        return  # Upstream knows no such call; nothing came of it.
    call = {"id": str(called.seq), "name": body.tool, "arguments": body.args, "requestor": side}
    yield {"role": side, "tool_calls": [call]}
    failed = returned.error is not None
    content = returned.result if returned.error is None else returned.error.detail
    yield {"role": "tool", "id": call["id"], "content": content, "requestor": side, "error": failed}


def termination(task: Task, events: Sequence[Event]) -> Termination:
    """How upstream would call an episode's end. Only conversations that were stopped are worth anything there."""
    end = events[-1].body
    failed = sum(isinstance(event.body, ToolReturned) and event.body.error is not None for event in events)
    if failed >= ERRORS:
        return "too_many_errors"
    reason = end.reason if isinstance(end, EpisodeEnded) else ""
    stopped = any(event.actor == USER and isinstance(event.body, ActorFinished) for event in events)
    if reason in ("finished", "idle") and stopped:
        return "user_stop"
    if reason != "finished":
        return "agent_error" if reason == "failed" else "timeout" if reason == "deadline" else "max_steps"
    return "max_steps" if task.turns and not task.solo else "agent_stop"
