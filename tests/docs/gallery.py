"""Six synthesised environments as people read them, and the twins of one side by side, for the documentation.

Knows what a reader wants to see of an environment. Does not know how it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import trio

from coworkenv.engine.playing import play_program
from coworkenv.events.event import MessageSent, RecordChanged, RecordCreated
from coworkenv.worlds.compiling import plain, resolved, with_twin
from coworkenv.worlds.environment import Environment
from coworkenv.worlds.synth.capabilities.registry import FRAGMENTS
from coworkenv.worlds.synth.freezing import framed
from coworkenv.worlds.synth.making import make
from coworkenv.worlds.synth.origin import Origin

SHOWN = (
    Origin(seed=1, family="refunds", capabilities=("A1", "B1", "E1"), style="plain"),
    Origin(seed=1, family="shipments", capabilities=("A3", "E3"), style="chatty"),
    Origin(seed=1, family="grants", capabilities=("C3", "F2", "G4"), style="formal"),
    Origin(seed=1, family="samples", capabilities=("D1", "H1"), style="terse"),
    Origin(seed=1, family="contracts", capabilities=("B4", "E4"), language="de", style="plain"),
    Origin(seed=1, family="loans", capabilities=("D2", "H3"), style="hurried"),
)


def gallery() -> str:
    """All of them, the twins of the first in a table."""
    return "\n".join(trio.run(_shown, origin, number == 0) for number, origin in enumerate(SHOWN))


async def _shown(origin: Origin, twins: bool) -> str:
    environment = make(origin)
    lines = [f"## {environment.title}", "", *_told(environment)]
    if twins:
        lines += ["", *await _twins(environment)]
    return "\n".join(lines) + "\n"


def _told(environment: Environment) -> Iterator[str]:
    base = resolved(with_twin(plain(environment), None))
    yield f"`{environment.id}`"
    yield ""
    for name in environment.capabilities:
        yield f"- **{name}**: an agent that has it {FRAGMENTS[name].title}"
    yield ""
    for name, person in base.people.items():
        yield f"**{name}** ({person.role})" + (f" writes: “{person.opens}”" if person.opens else "")
        for reply in person.replies:
            asked = ", ".join(map(str, reply.any or reply.all))
            yield f"  - asked about *{asked}*: “{reply.say}” ({reply.tells.replace('_', ' ')}, after {reply.after})"
        yield ""
    for entry in base.timeline:
        said = f": {entry.sender}: “{entry.say}”" if entry.say else ""
        yield f"- later (`{entry.name}`){said}{', records change' if entry.changes else ''}"
    for service, spec in base.services.items():
        for collection, records in spec.records.items():
            for record in records:
                if "text" in record and record.get("topic"):
                    yield f"- `{service}.{collection}` *{record['title']}*: {record['text']}"


async def _twins(environment: Environment) -> list[str]:
    """What is another in each twin, and what the oracle does about it."""
    case = await framed(environment, play_program)
    rows = ["### Its twins, side by side", "", "| twin | flipped | what the oracle writes | what it says at the end |"]
    rows.append("|---|---|---|---|")
    for variant in case.worlds:
        run = await case.run(case.oracle(variant), variant)
        wrote = [_values(event.body.value) for event in run.events if isinstance(event.body, RecordCreated)]
        wrote += [_values(event.body.set) for event in run.events if isinstance(event.body, RecordChanged)]
        said = [
            event.body.text for event in run.events if isinstance(event.body, MessageSent) and event.actor == "agent"
        ]
        flipped = _flat(environment.twins.get(variant, {}).get("facts", {}))
        rows.append(f"| {variant or 'base'} | {_values(flipped)} | {'; then '.join(wrote) or 'nothing'} | {said[-1]} |")
    return rows


def _flat(facts: Mapping[str, object], before: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in facts.items():
        found |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}` {value}" for name, value in values.items())
