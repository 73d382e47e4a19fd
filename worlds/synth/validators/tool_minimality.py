"""23, tool minimality: services that nobody uses, and records that say what a coworker should have been asked.

A service that neither the oracle nor a trap calls is a warning: it may be there to distract, but whether it distracts
nobody shows. Where the oracle asks a person for a slot and uses it, no field of a record that a tool reads may hold the
slot's value in every variant, following it as it changes: whoever reads that field need not ask. (A field that holds
the value in some variants only is a candidate, which is what asking is for.) Details: `service`; or `slot`
(`person.slot`), `cell` (`service.collection:key.field`), `tools` (that read it). Proposes `drop_tool` of the service,
and `drop` of the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ....events.event import AGENT, Event, Json, MessageReceived, MessageSent
from ...compiling import written_out
from ...environment import Service, Step
from ...matching import identity, same
from ...world import World
from ..findings import Edit, Finding
from ..playing import Case
from .dataflow import slots
from .places import written_at
from .programs import traps

NUMBER = 23

Cell: TypeAlias = tuple[str, str, str, str]
"""Service, collection, key and field."""


async def find(case: Case) -> list[Finding]:
    return [*_unused(case), *await _bypasses(case)]


# --- services that nobody uses -----------------------------------------------------------------------------


def _unused(case: Case) -> Iterator[Finding]:
    used: set[str] = set()
    offering: dict[str, str] = {}
    for variant, world in case.worlds.items():
        for steps in (world.oracle, *(program.steps for program in traps(case, variant))):
            used.update(step.call.partition(".")[0] for step in steps if step.call is not None)
        for service in world.services:
            if service.tools:
                offering.setdefault(service.name, variant)
    for name, variant in offering.items():
        if name not in used:
            at = written_at(case, variant, "services", name)
            yield Finding(
                validator=NUMBER,
                severity="warning",
                at=at,
                observed=f"Neither the oracle nor a trap calls the service {name}.",
                expected="Somebody uses each service, or is misled by it.",
                details={"service": name},
                candidates=(Edit("drop_tool", at, cost=3),),
            )


# --- records that say what should be asked -----------------------------------------------------------------


async def _bypasses(case: Case) -> list[Finding]:
    given: dict[str, dict[str, Json]] = {}
    for variant, world in case.worlds.items():
        run = await case.run(case.oracle(variant), variant)
        for slot, value in _asked(run.events, world.oracle):
            given.setdefault(slot, {})[variant] = value
    found = []
    for slot, values in given.items():
        if len({identity(value) for value in values.values()}) > 1:
            found += [_finding(case, slot, cell) for cell in _following(case, values)]
    return found


def _asked(events: Sequence[Event], oracle: Sequence[Step]) -> Iterator[tuple[str, Json]]:
    """The slots that the agent was given in reply to a question, and that a step of the oracle uses."""
    used = {slot for named in slots(oracle).values() for slot in named}
    for event in events:
        if isinstance(event.body, MessageReceived) and event.actor == AGENT:
            sent = events[event.body.message]
            if isinstance(sent.body, MessageSent) and sent.body.reply_to is not None:
                for slot, value in sent.body.gives.items():
                    if slot in used and value is not None and not isinstance(value, bool | dict | list):
                        yield f"{sent.actor}.{slot}", value


def _following(case: Case, values: Mapping[str, Json]) -> list[Cell]:
    """The readable fields that hold the slot's value wherever it is given."""
    cells: list[Cell] | None = None
    for variant, value in values.items():
        world = case.worlds[variant]
        if cells is None:
            cells = [cell for cell in _cells(case, world) if _holds(world, cell, value)]
        else:
            cells = [cell for cell in cells if _holds(world, cell, value)]
    return cells or []


def _cells(case: Case, world: World) -> Iterator[Cell]:
    for service in world.state.services():
        spec = case.environment.services.get(service)
        for collection in _readable(written_out(spec, ("services", service))) if spec is not None else ():
            for key, record in world.state[service][collection].items():
                yield from ((service, collection, key, field) for field in record)


def _readable(service: Service) -> dict[str, list[str]]:
    """The collections that tools read, with the names of these tools."""
    found: dict[str, list[str]] = {}
    for name, collection in service.collections.items():
        for verb in collection.can:
            if verb in ("find", "get"):
                found.setdefault(name, []).append(f"{name}.{verb}")
    for name, tool in service.tools.items():
        if tool.verb in ("find", "get"):
            found.setdefault(tool.collection, []).append(name)
    return found


def _holds(world: World, cell: Cell, value: Json) -> bool:
    service, collection, key, field = cell
    return same(world.state[service][collection].get(key, {}).get(field), value)


def _finding(case: Case, slot: str, cell: Cell) -> Finding:
    service, collection, key, field = cell
    variant = next(iter(case.worlds))
    spec = written_out(case.environment.services[service], ("services", service))
    position = list(case.worlds[variant].state[service][collection]).index(key)
    at = written_at(case, variant, "services", service, "records", collection, position, field)
    tools = [f"{service}.{tool}" for tool in _readable(spec)[collection]]
    shown = f"{service}.{collection}:{key}.{field}"
    return Finding(
        validator=NUMBER,
        at=at,
        observed=f"{shown} is always what the oracle asks for as {slot}, and {tools[0]} reads it.",
        expected="What a coworker has to be asked for is in no record.",
        details={"slot": slot, "cell": shown, "tools": list(tools)},
        candidates=(Edit("drop", at),),
    )
