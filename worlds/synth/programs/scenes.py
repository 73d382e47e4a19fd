"""What programs are made of: a variant, its oracle, and what the oracle did in it.

Knows how a step is replaced by what it did, value for value. Does not know what is to be changed about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

import msgspec

from ....events.event import Json, RecordCreated
from ...environment import Step
from ...expressions import write
from ...facts import Seen, escaped
from ...matching import Needle, leaves, needle
from ...service import Record, Tool
from ...syntax import Literal
from ...world import World
from ..playing import Case, Program, Run
from ..validators.dataflow import dependencies, labels
from .traces import Act, Taken, trace


class Scene(msgspec.Struct, frozen=True, dict=True):
    """One variant with the oracle's run in it."""

    variant: str
    world: World
    run: Run
    taken: tuple[Taken, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.world.oracle

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each step stands, by its label."""
        return {label: place for place, label in enumerate(labels(self.steps))}

    @cached_property
    def depends(self) -> Mapping[str, frozenset[str]]:
        return dependencies(self.steps)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.world.routes.tools}

    @cached_property
    def tables(self) -> Mapping[str, Sequence[Record]]:
        """The records at the start, by `service.collection`."""
        state = self.world.state
        return {
            f"{service}.{name}": list(state[service][name].values())
            for service in state.services()
            for name in state[service].collections()
        }

    @cached_property
    def scope(self) -> Seen:
        """The values of all steps, under their names with the sign."""
        return Seen({f"@{taken.step.name}": taken.value for taken in self.taken if taken.step.name is not None})

    @cached_property
    def needles(self) -> Sequence[Needle]:
        """What somebody looks for: values that were written, that a check wants mentioned, and words of people."""
        made = {event.body.key for event in self.run.events if isinstance(event.body, RecordCreated)}
        given = [value for taken in self.writes() for call in arguments(taken) for value in leaves(dict(call or {}))]
        wrote = [value for value in given if value not in made]
        claims = [claim for check in self.world.checks.values() if (claim := check.claim or check.never) is not None]
        asked = [value for claim in claims for value in leaves([claim.mentions, claim.where])]
        replies = [reply for person in self.world.people.values() for reply in person.replies]
        words = [word for reply in replies for word in (*reply.any, *reply.all, *reply.challenge)]
        return [needle(value) for value in (*wrote, *asked, *words) if not isinstance(value, bool)]

    def reads(self, step: Step) -> bool:
        return step.call is not None and step.call in self.tools and self.tools[step.call].reads

    def writes(self) -> Iterator[Taken]:
        """The steps that called something that is no mere reading."""
        return (
            taken for taken in self.taken if taken.step.call is not None and taken.done and not self.reads(taken.step)
        )

    def program(self, name: str, steps: Iterable[Step], seen: Mapping[str, Json] | None = None) -> Program:
        return Program(f"{name}@{self.variant}", tuple(steps), dict(seen or {}))

    def replaced(self, place: int, *steps: Step) -> tuple[Step, ...]:
        """The oracle with these steps in place of one."""
        return (*self.steps[:place], *steps, *self.steps[place + 1 :])


async def scene(case: Case, variant: str = "") -> Scene:
    """A variant with its oracle's run; the same one whenever it is asked for."""
    known = _SCENES.setdefault(case, {})
    if variant not in known:
        world = case.worlds[variant]
        run = await case.run(case.oracle(variant), variant)
        known[variant] = Scene(variant, world, run, trace(world, world.oracle, run.events))
    return known[variant]


_SCENES: WeakKeyDictionary[Case, dict[str, Scene]] = WeakKeyDictionary()
"""Most validators look at the same scenes. They are kept as long as their case."""


def calling(taken: Taken, args: Sequence[Mapping[str, Json] | None]) -> Step:
    """A step that makes these calls, whatever it has seen. One of `args` is None where there is no call."""
    step = taken.step
    if step.each is None:
        [only] = args
        return Step(name=step.name, call=step.call, args=escaped(dict(only or {})))
    names = dict.fromkeys(name for some in args if some is not None for name in some)
    listed = write(Literal([None if some is None else dict(some) for some in args]))
    return Step(
        name=step.name, call=step.call, each=listed, condition="it", args={name: f"=it.{name}" for name in names}
    )


def saying(taken: Taken, texts: Sequence[str], person: str | None = None) -> Iterator[Step]:
    """Steps that say these texts instead, the last as the step did: an `ask` still waits for its answer."""
    step = taken.step
    [act] = taken.acts
    assert act is not None
    to = person or act.subject
    for text in texts[:-1]:
        yield Step(say=escaped(to), text=escaped(text))
    last = msgspec.structs.replace(step, condition=None, text=escaped(texts[-1]))
    yield msgspec.structs.replace(last, **{"say" if step.ask is None else "ask": escaped(to)})


def arguments(taken: Taken) -> list[Mapping[str, Json] | None]:
    """The arguments of the calls of a step, by item."""
    return [None if act is None else act.args for act in taken.acts]


def acts(taken: Iterable[Taken]) -> Iterator[tuple[Taken, Act]]:
    """Everything that was called or said, with its step."""
    return ((each, act) for each in taken for act in each.acts if act is not None)
