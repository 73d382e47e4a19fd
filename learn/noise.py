"""What can go wrong at each step of an oracle, and how probable it is: the noise of a noised oracle.

Knows kinds of mistakes, each a small function from a step to other steps that a worse agent might take in its place.
Does not know how they are played (`noised`), nor what they cost (`truth`).

The same mistakes are made in every twin, with the same probability, whatever is hidden there: a noised oracle is one
policy, which sees no more than any agent does. So a wrong value, and a guess, is one that fits the base. A twin has
mistakes of its own only where its oracle has a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

import msgspec

from ..engine.draw import Drawer
from ..events.event import Json
from ..worlds.environment import Step, Trap
from ..worlds.facts import escaped
from ..worlds.synth.playing import Case
from ..worlds.synth.programs.mutants import OPERATORS, mutants
from ..worlds.synth.programs.scenes import Scene, scene
from ..worlds.synth.programs.traces import Taken
from ..worlds.trapping import BadTrap, bound, edited
from ..worlds.world import World

ORACLE, SKIP = "oracle", "skip"
_NEEDLESS = Step(ask="", text="Is it all right if I go on?", limit="10m")
_VALUES = ("plus-one", "day-later", "other-choice", "sibling")
_WORDS = ("swap-recipient", "strip-value")
_PURPOSE = "noise"


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """How a noised oracle is made."""

    share: Fraction = Fraction(1, 4)
    """Epsilon: how probable it is at each step that something else is done than what the oracle does."""
    others: int = 2
    """At most so many alternatives at a step; the first is always to skip it."""
    seed: int = 0
    """Draws which alternatives there are."""


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be done at a point."""

    name: str
    chance: Fraction = Fraction(0)
    steps: tuple[Step, ...] = ()
    seen: Mapping[str, Json] = {}
    """What the agent takes for the value of steps that it does not take."""
    ends: bool = False
    """The agent finishes."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One decision: a step of the oracle that acts, or its end."""

    label: str
    """The step's name; `end` for the end."""
    place: int
    """Where the step stands in the oracle, from 0."""
    lead: tuple[Step, ...] = ()
    """Steps before it that only compute."""
    alternatives: tuple[Alternative, ...]
    """What the oracle does, then what it does not."""


class Noised(msgspec.Struct, frozen=True, kw_only=True):
    """A noised oracle in one variant of an environment: all its decisions, in order."""

    environment: str
    variant: str
    capabilities: tuple[str, ...] = ()
    world: World
    points: tuple[Point, ...]

    @property
    def leaves(self) -> int:
        """How many episodes there are at most: paths through all decisions."""
        return self.below(0)

    def below(self, depth: int) -> int:
        """How many paths there are at most from the decision of this number, from 0, to the end."""
        count = 1
        for point in reversed(self.points[depth:]):
            going = sum(not alternative.ends for alternative in point.alternatives)
            count = going * count + len(point.alternatives) - going
        return count


async def noised(case: Case, noise: Noise) -> dict[str, Noised]:
    """The noised oracle in each variant of an environment, the base under "". `case` should be frozen."""
    base = await scene(case)
    shared = {known.label: (known.step, _drawn(base, known, noise)) for known in base.taken}
    found: dict[str, Noised] = {}
    for variant, world in case.worlds.items():
        here = await scene(case, variant)
        options: dict[str, tuple[Alternative, ...]] = {}
        for taken in here.taken:
            step, alternatives = shared.get(taken.label, (None, ()))
            options[taken.label] = alternatives if step == taken.step else _drawn(here, taken, noise)
        found[variant] = Noised(
            environment=case.environment.id,
            variant=variant,
            capabilities=case.environment.capabilities,
            world=world,
            points=_points(here, options),
        )
    return found


def _points(scene: Scene, options: Mapping[str, tuple[Alternative, ...]]) -> tuple[Point, ...]:
    points: list[Point] = []
    lead: list[Step] = []
    for taken in scene.taken:
        if taken.step.calc is not None:
            lead.append(taken.step)
            continue
        alternatives = options[taken.label]
        points.append(Point(label=taken.label, place=taken.place, lead=tuple(lead), alternatives=alternatives))
        lead = []
    return tuple(points)


# --- which alternatives there are --------------------------------------------------------------------------


def _drawn(scene: Scene, taken: Taken, noise: Noise) -> tuple[Alternative, ...]:
    """What is done at a step: the oracle's own first, then `skip`, then others, drawn from all kinds alike."""
    skip = Alternative(name=SKIP, seen={} if taken.step.name is None else {taken.step.name: None})
    known = [(taken.step,), skip.steps]
    kinds: list[list[Alternative]] = []
    for mistakes in MISTAKES.values():
        fresh = [found for found in mistakes(scene, taken) if found.ends or found.seen or found.steps not in known]
        known += [found.steps for found in fresh]
        if fresh:
            kinds.append(fresh)
    drawer = Drawer([noise.seed], 0, f"{_PURPOSE} {scene.world.id.partition('@')[0]} {taken.label}")
    others = [skip]
    while kinds and len(others) < noise.others:
        kind = kinds.pop(drawer.below(len(kinds)))
        others.append(kind[drawer.below(len(kind))])
    chance = noise.share / len(others)
    right = Alternative(name=ORACLE, chance=1 - noise.share, steps=(taken.step,))
    return (right, *(msgspec.structs.replace(other, chance=chance) for other in others))


Mistakes: TypeAlias = Callable[[Scene, Taken], Iterator[Alternative]]


def _traps(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """What a trap makes of this step."""
    name = taken.step.name
    for trap_name, trap in scene.world.traps.items():
        own = None if name is None else _own(trap, name)
        if own is None:
            continue
        try:
            steps = edited((taken.step,), own)
        except BadTrap:
            continue
        yield Alternative(name=f"trap:{trap_name}", steps=steps, seen=bound(own))


def _own(trap: Trap, step: str) -> Trap | None:
    """The part of a trap that is about one step; None where there is none, or it only leaves the step out."""
    change = {path: value for path, value in trap.change.items() if path.partition(".")[0] == step}
    bind = {path: value for path, value in trap.bind.items() if path.partition(".")[0] == step}
    drop, repeat = (tuple(name for name in names if name == step) for names in (trap.drop, trap.repeat))
    if not change and not repeat and not (drop and bind):
        return None
    return Trap(ceiling=trap.ceiling, drop=drop, bind=bind if drop else {}, change=change, repeat=repeat)


def _guess(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """Nobody is asked, and nothing is read: what it was in the base is taken for it."""
    step = taken.step
    informs = step.ask is not None or step.wait is not None or scene.reads(step)
    if informs and step.name is not None and taken.value is not None:
        yield Alternative(name="guess", seen={step.name: taken.value})


def _wrong_value(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """One argument of a call that writes is wrong; the others are what the agent has seen."""
    if taken.step.each is None:
        operators = {name: OPERATORS[name] for name in _VALUES}
        for found in mutants(scene, scene, operators):
            if found.step == taken.label and found.part in taken.step.args:
                args = {**taken.step.args, found.part: escaped(found.new)}
                step = msgspec.structs.replace(taken.step, args=args)
                yield Alternative(name=f"{found.operator}:{found.part}", steps=(step,))


def _wrong_words(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """A message lacks a value, or goes to somebody else."""
    for found in mutants(scene, scene, {name: OPERATORS[name] for name in _WORDS}):
        if found.step == taken.label:
            part = f":{found.part}" if found.part else ""
            yield Alternative(name=f"{found.operator}{part}", steps=(found.program.steps[taken.place],))


def _repeat(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """It is done twice."""
    if taken.step.wait is None:
        yield Alternative(name="repeat", steps=(taken.step, taken.step))


def _finish(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """The agent thinks that it is done."""
    yield Alternative(name="finish", ends=True)


def _needless(scene: Scene, taken: Taken) -> Iterator[Alternative]:
    """Somebody is asked first whether that is all right; what they say changes nothing."""
    if taken.step.call is not None and scene.world.openings:
        person = scene.world.openings[0].sender
        yield Alternative(name="needless", steps=(msgspec.structs.replace(_NEEDLESS, ask=escaped(person)), taken.step))


MISTAKES: Mapping[str, Mistakes] = {
    "trap": _traps,
    "guess": _guess,
    "wrong value": _wrong_value,
    "wrong words": _wrong_words,
    "repeat": _repeat,
    "finish": _finish,
    "needless": _needless,
}
"""By name. A kind is added by writing its function and putting it here."""
