"""A τ² task as a world: who talks to whom, whose tools are whose, what time everything takes.

Knows how upstream's turn-based conversation maps onto actors and virtual time. Does not know who plays. The domains'
own clocks stand still, and are not virtual time.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from ...events.codec import to_json
from ...events.event import AGENT, Json
from ..environment import Limits, Person
from ..foreign import ForeignService
from ..world import Opening, Persona, World
from .reference import USER, play_of, reference_actions, to_communicate
from .task import Task, from_document

HOST = "tau2"
_CALL = 500_000
"""Latency of a tool call: upstream's answer at once, but not in no time."""
_DAY = 24 * 3_600_000_000
_STEPS = 200
"""Upstream's limit of messages; here one of the agent's decisions, and of what it may say."""

_EASTERN = timezone(timedelta(hours=-5))
_STORY = {
    "telecom": datetime(2025, 2, 25, 12, 8, tzinfo=_EASTERN),
    "telecom-workflow": datetime(2025, 2, 25, 12, 8, tzinfo=_EASTERN),
    "banking_knowledge": datetime(2025, 11, 14, 3, 40, tzinfo=_EASTERN),
    "airline": datetime(2024, 5, 15, 15, 0, tzinfo=_EASTERN),
}
"""What each domain's own clock stands at; where it has none, any day does."""
_ANY_DAY = datetime(2025, 1, 1, 12, 0, tzinfo=_EASTERN)


def world_of(task: Task) -> World:
    """The world of a task. Its grade is given by upstream's evaluators (`engine.tau2.grading`)."""
    play = play_of(reference_actions(task.raw), to_communicate(task.raw), task.solo)
    agent = ForeignService(name=task.domain, tools=task.agent.tools, records=task.agent.records)
    user = ForeignService(name=USER, tools=task.user.tools, records=task.user.records)
    ticket = str(task.raw.get("ticket") or "")
    persona = Persona(text=task.scenario, language="en", rounds=_STEPS, suffix=task.prompt)
    return World(
        id=task.name,
        document=to_json(task.document()).decode(),
        start=_STORY.get(task.domain, _ANY_DAY),
        services=(agent, user),
        owners={task.domain: AGENT, **({} if task.solo else {USER: USER})},
        host={
            "kind": HOST,
            "domain": task.domain,
            "digest": task.digest,
            "task": task.raw,
            "options": task.options,
            "solo": task.solo,
        },
        people={USER: Person(role="the user")} if task.solo else {},
        personas={} if task.solo else {USER: persona},
        openings=(Opening(USER, f"{task.prompt}\n\n{ticket}"),) if task.solo else (),
        call=_CALL,
        deadline=_DAY,
        on_text="finish" if task.solo else "round" if task.turns else "wait",
        talks=not (task.solo or task.turns),
        limits=Limits(decisions=_STEPS),
        oracle=play.steps,
    )


def world_from_document(document: dict[str, Json]) -> World:
    """The world that `world_of` gave. Raises NotATask."""
    return world_of(from_document(document))
