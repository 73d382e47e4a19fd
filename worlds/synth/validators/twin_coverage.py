"""Validator 8, twin coverage: what flows into a write and cannot be seen in the request is another in some twin.

Knows which arguments of the oracle's writing calls come from what it has seen, and compares what they were in all
variants. One that never varies could be guessed, or learnt by heart. Does not know checks.

`details` of its findings: `step` (its label), `argument`, `value`, and `fact` where one has that value. It proposes
`add_twin`, with another value for the fact, or another fact of the same kind where that one stands for it.

A value in the request is fine, and so is one that the agent's own writes gave it (the id of what it created). A step
that does again what another did (a retry) may run in one twin only: what the other passes varies for both.
"""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal

from ....events.event import AGENT, Event, Json, RecordCreated, ToolCalled
from ...document import Path
from ...environment import Step
from ...facts import resolve, unescaped
from ...matching import Reading, identity, leaves, needle, same
from ...values import written
from ..findings import Edit, Finding, pointer
from ..playing import Case, Program
from .dataflow import arguments, dependencies, labels, sources, writers

NUMBER = 8

_LAST_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*\Z)")


async def find(case: Case) -> list[Finding]:
    """Arguments that are the same in all variants. See the module for `details` and candidates."""
    values: dict[tuple[str, str], dict[str, list[Json]]] = {}
    for variant in case.worlds:
        for (label, argument), found in (await written_values(case, variant)).items():
            values.setdefault((label, argument), {})[variant] = found
    request = Reading("\n".join(opening.text for opening in case.worlds[""].openings))
    findings = []
    for (label, argument), by_variant in values.items():
        if len({_set(found) for found in by_variant.values()}) > 1:
            continue
        elsewhere = _varying_elsewhere(case, label, argument, values)
        for value in _distinct(next(iter(by_variant.values()))):
            if not _is_open(value, request) and identity(value) not in elsewhere:
                findings.append(_finding(case, label, argument, value))
    return findings


def _varying_elsewhere(
    case: Case, label: str, argument: str, values: Mapping[tuple[str, str], Mapping[str, Sequence[Json]]]
) -> frozenset[Hashable]:
    """What other steps with the same tool pass as this argument in some variants, and not in others."""
    tools = {
        name: step.call
        for world in case.worlds.values()
        for name, step in zip(labels(world.oracle), world.oracle, strict=True)
    }
    found: set[Hashable] = set()
    for (other, name), by_variant in values.items():
        if other != label and name == argument and tools[other] == tools[label]:
            sets = [_set(given) for given in by_variant.values()]
            found |= frozenset.union(*sets) - frozenset.intersection(*sets)
    return frozenset(found)


async def written_values(case: Case, variant: str) -> dict[tuple[str, str], list[Json]]:
    """What the oracle wrote in a variant, by step and argument; only arguments with something in them that was seen.

    A step that was left out, or whose values only come from the agent's own writes, is not among them.
    """
    world = case.worlds[variant]
    calls = await calls_of(case, variant)
    writing = writers(world.oracle, world.routes)
    own = _own(world.oracle, writing)
    made = {identity(key) for key in _created((await case.run(case.oracle(variant), variant)).events)}
    found: dict[tuple[str, str], list[Json]] = {}
    for label, step in writing.items():
        for name, value in arguments(step).items():
            given = [args.get(name) for args in calls[label] if identity(args.get(name)) not in made]
            if given and not sources(step, value) <= own:
                found[label, name] = given
    return found


async def calls_of(case: Case, variant: str) -> dict[str, list[Mapping[str, Json]]]:
    """The arguments of the oracle's writing calls in a variant, by the label of their step.

    Where several steps call one tool, the program is played up to each of them: what comes before is then the same.
    """
    world = case.worlds[variant]
    steps = world.oracle
    events = (await case.run(case.oracle(variant), variant)).events
    writing = writers(steps, world.routes)
    found: dict[str, list[Mapping[str, Json]]] = {}
    places = {label: place for place, label in enumerate(labels(steps))}
    for label, step in writing.items():
        calls = _calls(events, step.call)
        rivals = [places[other] for other, that in writing.items() if that.call == step.call]
        place, number = places[label], rivals.index(places[label])
        begin = 0 if number == 0 else len(_calls(await _until(case, variant, place), step.call))
        end = len(calls)
        if number + 1 < len(rivals):
            end = len(_calls(await _until(case, variant, rivals[number + 1]), step.call))
        found[label] = calls[begin:end]
    return found


async def _until(case: Case, variant: str, place: int) -> Sequence[Event]:
    """What happens if the oracle stops before the step at this place."""
    program = Program(f"oracle[:{place}]@{variant}", case.worlds[variant].oracle[:place])
    return (await case.run(program, variant)).events


def _calls(events: Sequence[Event], tool: str | None) -> list[Mapping[str, Json]]:
    bodies = (event.body for event in events if event.actor == AGENT)
    return [body.args for body in bodies if isinstance(body, ToolCalled) and body.tool == tool]


def _created(events: Sequence[Event]) -> list[str]:
    """The keys of what the agent created."""
    bodies = (event.body for event in events if event.actor == AGENT)
    return [body.key for body in bodies if isinstance(body, RecordCreated)]


def _own(steps: Sequence[Step], writing: Mapping[str, Step]) -> frozenset[str]:
    """The writing steps, and those that depend on nothing but them."""
    own = set(writing)
    for label, needed in dependencies(steps).items():
        if needed and needed <= own:
            own.add(label)
    return frozenset(own)


def _set(values: Sequence[Json]) -> frozenset[Hashable]:
    return frozenset(identity(value) for value in values)


def _distinct(values: Sequence[Json]) -> list[Json]:
    return list({identity(value): value for value in values}.values())


def _is_open(value: Json, request: Reading) -> bool:
    """Whether the request says it, or there is nothing to be said."""
    said = [leaf for leaf in leaves(value) if leaf is not None and leaf != "" and not isinstance(leaf, bool)]
    return all(needle(leaf)(request) for leaf in said)


# --- findings ----------------------------------------------------------------------------------------------


def _finding(case: Case, label: str, argument: str, value: Json) -> Finding:
    steps = case.worlds[""].oracle
    place = labels(steps).index(label) if label in labels(steps) else None
    details: dict[str, Json] = {"step": label, "argument": argument, "value": value}
    facts = [path for path, known in _facts(case.data) if same(known, value)]
    if facts:
        details["fact"] = ".".join(map(str, facts[0]))
    return Finding(
        validator=NUMBER,
        at="/oracle" if place is None else pointer("oracle", place, "args", argument),
        observed=f"The argument {argument} of the step {label} is {written(value)!r} in every variant.",
        expected="What cannot be seen in the request is another value in at least one twin.",
        details=details,
        candidates=tuple(edit for path in facts for edit in _twins(case.data, path)),
    )


def _facts(data: Mapping[str, Json]) -> Iterator[tuple[Path, Json]]:
    """The leaves of the facts with their values."""
    paths = list(_leaves(data.get("facts", {}), ()))
    texts = [f"${'.'.join(map(str, path))}" for path in paths]
    values = unescaped(resolve({"facts": data.get("facts", {}), "all": texts})["all"], ())
    yield from zip(paths, values, strict=True)


def _leaves(facts: Mapping[str, Json], before: Path) -> Iterator[Path]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*before, name))
        elif name.isidentifier():
            yield (*before, name)


def _twins(data: Mapping[str, Json], path: Path) -> Iterator[Edit]:
    """Twins in which the fact at `path` is another."""
    facts = data["facts"]
    typed = facts
    for step in path:
        typed = typed[step]
    group = str(path[0])
    # A fact that stands for another (`meant: $amara`) can stand for one of its kind instead.
    for name, value in facts.items():
        if value == f"${group}":
            for kin in _kin(facts, group):
                yield _twin(data, name, {name: f"${kin}"})
    if isinstance(typed, str) and typed[:1] in ("$", "="):
        return
    other = another(typed, {identity(leaf) for leaf in leaves(data)})
    if other is not None:
        patch: Json = other
        for step in reversed(path):
            patch = {step: patch}
        yield _twin(data, group, patch, 2)


def _kin(facts: Mapping[str, Json], group: str) -> Iterator[str]:
    """Other facts with the same parts."""
    mine = facts[group]
    for name, value in facts.items():
        if name != group and isinstance(mine, Mapping) and isinstance(value, Mapping) and value.keys() == mine.keys():
            yield name


def _twin(data: Mapping[str, Json], about: str, patch: Json, cost: int = 1) -> Edit:
    name, number = f"{about}-other", 2
    while name in data.get("twins", {}):
        name, number = f"{about}-other-{number}", number + 1
    return Edit("add_twin", pointer("twins", name), {"facts": patch}, cost)


def another(value: Json, taken: Container[Hashable] = ()) -> Json:
    """Another value of the same kind and look, whose identity is not `taken`; None where there is no saying what."""
    for step in range(1, 50):
        other = _moved(value, step)
        if other is None or identity(other) not in taken:
            return other
    return None


def _moved(value: Json, step: int) -> Json:
    if isinstance(value, bool):
        return not value if step == 1 else None
    if isinstance(value, int | Decimal):
        return value + step * max(1, abs(int(value)) // 10)
    if not isinstance(value, str):
        return None
    try:
        return (date.fromisoformat(value) + timedelta(days=step)).isoformat()
    except ValueError:
        pass  # no date
    if "@" in value:
        name, _, domain = value.partition("@")
        return f"{name}.{step + 1}@{domain}"
    number = _LAST_NUMBER.search(value)
    if number is None:
        return None
    moved = (int(number[0]) + step) % 10 ** len(number[0])
    return f"{value[: number.start()]}{moved:0{len(number[0])}}{value[number.end() :]}"
