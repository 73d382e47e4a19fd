"""The names that an environment defines: its tools, collections, people, slots, milestones and entries.

Knows where each kind of name comes from. Does not know who refers to them (`soundness`, `solutions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from . import environment as form
from .compiling import service, written_out
from .environment import Environment
from .problems import InvalidEnvironment, Problem
from .service import Tool
from .services.table import Table


class Vocabulary(msgspec.Struct, frozen=True):
    tools: Mapping[str, Tool] = {}
    collections: Mapping[str, frozenset[str]] = {}
    """The fields of each `service.collection`."""
    people: frozenset[str] = frozenset()
    slots: frozenset[str] = frozenset()
    """`person.slot`."""
    marks: frozenset[str] = frozenset()
    entries: frozenset[str] = frozenset()
    """Names of the timeline."""
    problems: tuple[Problem, ...] = ()
    """Why some services have no tools or collections here."""
    unsound: frozenset[str] = frozenset()
    """The services that are wrong in themselves."""

    def also(self, base: Vocabulary) -> Vocabulary:
        """These names, and what can be disclosed or reached in the base: a twin may refer to what it lacks."""
        return msgspec.structs.replace(
            self, slots=self.slots | base.slots, marks=self.marks | base.marks, entries=self.entries | base.entries
        )


def vocabulary(environment: Environment) -> Vocabulary:
    """The names in a resolved environment."""
    tools: dict[str, Tool] = {}
    collections: dict[str, frozenset[str]] = {}
    problems: list[Problem] = []
    unsound = []
    for name, spec in environment.services.items():
        try:
            whole = written_out(spec, ("services", name))
            tools |= {tool.name: tool for tool in service(name, whole).tools}
            collections |= _collections(name, whole)
        except InvalidEnvironment as error:
            problems += error.problems
            unsound.append(name)
    return Vocabulary(
        tools=tools,
        collections=collections,
        people=frozenset(environment.people),
        slots=frozenset(_slots(environment)),
        marks=frozenset(_marks(environment)),
        entries=frozenset(entry.name or f"entry-{place + 1}" for place, entry in enumerate(environment.timeline)),
        problems=tuple(problems),
        unsound=frozenset(unsound),
    )


def _collections(name: str, spec: form.Service) -> dict[str, frozenset[str]]:
    shapes = {**dict.fromkeys(spec.records, form.Collection()), **spec.collections}
    return {
        f"{name}.{collection}": frozenset(Table(name, collection, shape, spec.records.get(collection, ())).fields)
        for collection, shape in shapes.items()
    }


def _slots(environment: Environment) -> Iterator[str]:
    for name, person in environment.people.items():
        for reply in person.replies:
            yield from (f"{name}.{slot}" for slot in {**reply.gives, **(reply.first.gives if reply.first else {})})
    for entry in environment.timeline:
        yield from (f"{entry.sender}.{slot}" for slot in entry.gives)


def _marks(environment: Environment) -> Iterator[str]:
    for person in environment.people.values():
        yield from (reply.mark for reply in person.replies if reply.mark is not None)
    yield from (entry.mark for entry in environment.timeline if entry.mark is not None)
