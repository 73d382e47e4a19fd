"""Plays tasks with an agent that reads everything and one that writes everywhere, and sorts what came of each call.

Knows what counts as a read and as a write, by kind of service. Does not know what a service means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from coworkenv.agents.explore import Explore
from coworkenv.agents.scripted import Script
from coworkenv.engine.plan import Plan
from coworkenv.engine.replay import Verified, verify
from coworkenv.engine.rollouts import Result, rollout
from coworkenv.events.event import (
    Event,
    Json,
    RecordChanged,
    RecordCreated,
    RecordDeleted,
    ToolCalled,
    ToolReturned,
)
from coworkenv.events.log import Log
from coworkenv.worlds.claw_eval import Task, world_of
from coworkenv.worlds.service import Tool

from .writes import script

_HAPPENED = {RecordCreated: "created", RecordChanged: "changed", RecordDeleted: "deleted"}


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """One call of an episode and what came of it."""

    task: str
    kind: str
    service: str
    tool: str
    path: str
    """Of the endpoint; empty for a tool that leads nowhere."""
    came: Literal["read", "nothing", "written", "refused"]
    """`nothing`: an answer without anything in it. `refused`: an error, or an answer that says that it is one."""
    reason: str = ""
    """Why it was refused."""
    leaves: tuple[str, ...] = ()
    """The record events that it caused, in order."""


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """One task, played twice."""

    task: Task
    results: tuple[Result, Result]
    """Of the agent that reads and of the one that writes."""
    verified: tuple[Verified, Verified]
    calls: tuple[Answered, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of one kind of service."""

    kind: str
    tasks: int
    with_data: int
    """Tasks in which it starts with records."""
    reads: int
    nothing: int
    writes: int
    refused: dict[str, int]
    """Tool and reason, and how often."""


async def play(tasks: Sequence[Task], log: Log) -> list[Played]:
    """Play, verify and sort; all tasks at once, in a log that is being written to."""
    agents = [actor for task in tasks for actor in (Explore(), Script(script(task)))]
    worlds = [world for task in tasks for world in (world_of(task),) * 2]
    results = await rollout([Plan(world, agent) for world, agent in zip(worlds, agents, strict=True)], log)
    played = []
    for task, reading, writing in zip(tasks, results[::2], results[1::2], strict=True):
        streams = [result.id or "" for result in (reading, writing)]
        calls = [call for stream in streams for call in answered(task, list(log.read(stream)))]
        verified = (await verify(log, streams[0]), await verify(log, streams[1]))
        played.append(Played(task=task, results=(reading, writing), verified=verified, calls=tuple(calls)))
    return played


def answered(task: Task, events: Sequence[Event]) -> Iterator[Answered]:
    """The calls of a stream that were answered, in their order."""
    services = {tool.name: service for service in task.services for tool in service.tools}
    tools = {tool.name: tool for tool in task.tools}
    called = {event.seq: event.body.tool for event in events if isinstance(event.body, ToolCalled)}
    for event in events:
        body = event.body
        if not isinstance(body, ToolReturned):
            continue
        tool = called[body.call]
        service = services[tool]
        reason = _reason(body)
        yield Answered(
            task=task.id,
            kind=service.kind,
            service=service.name,
            tool=tool,
            path=service.routes.get(tool, ""),
            came="refused" if reason else _came(tools[tool], body.result),
            reason=reason,
            leaves=tuple(
                f"{_HAPPENED[type(other.body)]} {other.body.collection}"
                for other in events
                if isinstance(other.body, RecordCreated | RecordChanged | RecordDeleted) and other.cause == body.call
            ),
        )


def _reason(returned: ToolReturned) -> str:
    """Claw-Eval's services answer with HTTP 200 that there is no such record, and that a page has failed."""
    error, found = returned.error, returned.result
    if error is not None:
        return f"{error.message} ({error.type}, {error.status})"
    if not isinstance(found, dict) or "error" not in found:
        return ""
    if set(found) == {"error"}:
        return "answers that there is no such record"
    return str(found["error"]) if "status_code" in found else ""


def _came(tool: Tool, result: Json) -> Literal["read", "nothing", "written"]:
    if not tool.reads:
        return "written"
    lists = [value for value in result.values() if isinstance(value, list)] if isinstance(result, dict) else []
    return "nothing" if tool.opens is None and lists and not any(lists) else "read"


def table(played: Iterable[Played]) -> list[Row]:
    """A row for each kind of service, by name."""
    kinds: dict[str, list[tuple[bool, list[Answered]]]] = {}
    for one in played:
        for service in one.task.services:
            calls = [call for call in one.calls if call.service == service.name]
            kinds.setdefault(service.kind, []).append((any(service.records.values()), calls))
    return [_row(kind, kinds[kind]) for kind in sorted(kinds)]


def _row(kind: str, served: Sequence[tuple[bool, list[Answered]]]) -> Row:
    calls = [call for _, calls in served for call in calls]
    came = Counter(call.came for call in calls)
    return Row(
        kind=kind,
        tasks=len(served),
        with_data=sum(data for data, _ in served),
        reads=came["read"],
        nothing=came["nothing"],
        writes=came["written"],
        refused=dict(Counter(f"{call.tool}: {call.reason}" for call in calls if call.came == "refused")),
    )


def unread(played: Iterable[Played]) -> dict[tuple[str, str], str]:
    """Services that start with records of which nothing was read, by task and name, and the reasons."""
    found: dict[tuple[str, str], str] = {}
    for one in played:
        for service in one.task.services:
            calls = [call for call in one.calls if call.service == service.name]
            if any(service.records.values()) and not any(call.came == "read" for call in calls):
                reasons = dict.fromkeys(f"{call.tool}: {call.reason or call.came}" for call in calls)
                found[one.task.id, service.name] = "; ".join(reasons) or "no tool reads it"
    return found
