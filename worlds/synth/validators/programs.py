"""The programs that several validators play: nothing at all, only reading, the oracle without a step, the traps.

Knows how each is made of a variant's oracle, traps and tools. Does not know what their scores must be.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....events.event import AGENT, Json, ToolCalled, ToolReturned
from ...environment import Step
from ...service import Tool
from ...trapping import BadTrap
from ..playing import Case, Program, Run
from .dataflow import labels, reading_tools

NOTHING = Program("nothing")


def without(case: Case, label: str, variant: str = "") -> Program | None:
    """The oracle of a variant without one step, whose value is then null; None where it has no such step."""
    steps = case.worlds[variant].oracle
    names = labels(steps)
    if label not in names:
        return None
    place = names.index(label)
    return Program(f"without:{label}@{variant}", (*steps[:place], *steps[place + 1 :]))


def traps(case: Case, variant: str = "") -> Iterator[Program]:
    """The traps of a variant that can be made; `trap-ceiling` says which cannot."""
    for name in case.worlds[variant].traps:
        try:
            yield case.trap(name, variant)
        except BadTrap:
            continue


# --- only reading ------------------------------------------------------------------------------------------


def reading(case: Case, variant: str = "") -> Program:
    """Each reading tool once, then all that the oracle does without writing or saying anything."""
    world = case.worlds[variant]
    day = world.start.date().isoformat()
    reads = reading_tools(world.routes)
    looks = [Step(call=tool.name, args=_plausible(tool, day)) for tool in world.routes.tools if tool.reads]
    quiet = [step for step in world.oracle if step.call in reads or step.calc is not None or step.wait is not None]
    return Program(f"reading@{variant}", (*looks, *quiet))


def _plausible(tool: Tool, day: str) -> dict[str, Json]:
    """The arguments that a tool demands, and no others."""
    properties = tool.schema.get("properties", {})
    return {name: _value(properties.get(name, {}), day) for name in tool.schema.get("required", ())}


def _value(schema: Json, day: str) -> Json:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date":
        return day
    if "ISO 8601" in schema.get("description", ""):
        return f"{day}T00:00"
    blank: dict[str, Json] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return blank.get(schema.get("type", ""), "")


# --- what a run did ----------------------------------------------------------------------------------------


def first_write(case: Case, run: Run) -> str | None:
    """The tool of a run's first call that may change a record and did not fail."""
    reads = reading_tools(case.worlds[run.variant].routes)
    for event in run.events:
        if isinstance(event.body, ToolReturned) and event.actor == AGENT and event.body.error is None:
            called = run.events[event.body.call].body
            if isinstance(called, ToolCalled) and called.tool not in reads:
                return called.tool
    return None
