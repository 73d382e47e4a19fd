"""Agents that hope for a grader that counts words: they say everything to everyone, or press every button.

Knows tools, what reading gives, and the words that people listen to. Does not know scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ....events.event import Json
from ...environment import Step
from ...expressions import write
from ...facts import escaped
from ...matching import leaves
from ...service import Tool
from ...syntax import Literal
from ...values import written
from ...world import World
from ..playing import Case, Program

_ROWS = 6
_PATIENCE = 2
"""All people together are given so great a part of the time there is, to answer: half of it."""


def spam(case: Case, variant: str = "") -> Program:
    """Read all that can be read; say all of it, and the request, to everyone; then call each writing tool for the first
    records that it could be meant for."""
    world = case.worlds[variant]
    tools = world.routes.tools
    wanted = [tool for tool in tools if tool.reads]
    reads = [
        Step(name=f"read{number}", call=tool.name, args=_plausible(world, tool)) for number, tool in enumerate(wanted)
    ]
    request = " ".join(opening.text for opening in world.openings)
    everything = escaped(request) + "".join(f" @{{{read.name}}}" for read in reads)
    says = [Step(say=escaped(person), text=everything) for person in world.people]
    buttons = [tool for tool in reversed(tools) if not tool.reads]  # what deletes comes late: it must not clear away
    writes = [Step(call=tool.name, args=_plausible(world, tool, row)) for tool in buttons for row in range(_ROWS)]
    return Program(f"spam@{variant}", (*reads, *says, *writes))


def keyword_bag(case: Case, variant: str = "") -> Program:
    """The oracle with its questions replaced: each person gets one message with all words that anybody listens to, and
    what came back is taken for the answers.

    The words are those that are the same in all variants: others are facts that nobody could know beforehand.
    """
    world = case.worlds[variant]
    known = [list(dict.fromkeys(_listened(other))) for other in case.worlds.values()]
    text = " ".join(word for word in known[0] if all(word in others for others in known[1:]))
    limit = f"{max(1, world.deadline // _PATIENCE // len(world.people) // 1_000_000) if world.people else 1}s"
    names = {person: f"bag{number}" for number, person in enumerate(world.people) if world.people[person].replies}
    bags = [Step(name=bag, ask=escaped(name), text=escaped(text), limit=limit) for name, bag in names.items() if text]
    steps = [step if step.ask is None else _answered(step, names) for step in world.oracle]
    return Program(f"keyword-bag@{variant}", (*bags, *steps))


def _answered(step: Step, names: dict[str, str]) -> Step:
    """A step that takes what the bag brought from whom it would have asked, even if only play will name them."""
    assert step.ask is not None
    person = step.ask.removeprefix("=") if step.ask.startswith(("@", "=")) else write(Literal(step.ask))
    value = "null"
    for name, bag in names.items():
        value = f"choose({person} == {write(Literal(name))}, @{bag}, {value})"
    return Step(name=step.name, calc=value)


def _listened(world: World) -> Iterator[str]:
    for person in world.people.values():
        for reply in person.replies:
            yield from (written(word) for word in leaves([*reply.any, *reply.all, *reply.challenge]))


# --- arguments -----------------------------------------------------------------------------------------------


def _plausible(world: World, tool: Tool, row: int | None = None) -> dict[str, Json]:
    """Arguments of a tool, with values from the records: those that it demands, or all that it takes, from this row."""
    properties = tool.schema.get("properties", {})
    names = tool.schema.get("required", ()) if row is None else properties
    return {name: escaped(_value(world, tool, name, properties.get(name, {}), row or 0)) for name in names}


def _value(world: World, tool: Tool, name: str, schema: dict[str, Json], row: int) -> Json:
    if "enum" in schema:
        return schema["enum"][-1]
    held = list(islice(_held(world, tool.name.partition(".")[0], name), row + 1))
    if held:
        return held[-1]
    if schema.get("format") == "date":
        return world.start.date().isoformat()
    if "ISO 8601" in schema.get("description", ""):
        return world.start.replace(tzinfo=None).isoformat(timespec="minutes")
    blank: dict[str, Json] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return blank.get(schema.get("type", ""), "everything")


def _held(world: World, service: str, field: str) -> Iterator[Json]:
    """What records have in a field of this name: those of the service first."""
    others = [name for name in world.state.services() if name != service]
    for name in (service, *others):
        for collection in world.state[name].collections():
            for record in world.state[name][collection].values():
                if record.get(field) is not None:
                    yield record[field]
