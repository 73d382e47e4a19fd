"""Other orders in which the oracle could as well have worked.

Knows what binds two steps: values, records that one writes and the other reads, what people say when, and the order
that a check or a person demands. Does not know scores. An order is legal if every bound pair stays as it was; whoever
needs a late read says so with `uses`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....events.event import MessageSent
from ...compiling import digest
from ...environment import Check, Condition, Environment, Step
from ...world import World
from ..origin import Draw
from ..playing import Program
from ..validators.dataflow import labels, uses
from .scenes import Scene

_STATEFUL = frozenset({"wrong_until_challenged"})


def orders(scene: Scene, environment: Environment, most: int) -> Iterator[Program]:
    """At most so many different legal orders of a variant's oracle, other than its own; always the same ones."""
    steps = scene.steps
    before = bonds(scene)
    key = environment.frozen.digest if environment.frozen is not None else digest(environment)
    draw = Draw(f"orders {key} {scene.variant}".encode())
    seen = {tuple(_extension(steps, before, None))}
    for _ in range(2 * most):
        order = tuple(_extension(steps, before, draw))
        if order not in seen:
            seen.add(order)
            name = "order:" + ",".join(str(place + 1) for place in order)
            yield scene.program(name, [steps[place] for place in order])
        if len(seen) > most:
            return


def _extension(steps: Sequence[Step], before: Mapping[int, set[int]], draw: Draw | None) -> Iterator[int]:
    """One linear extension. Steps that only compute come as soon as they can: nobody could see them elsewhere."""
    left = list(range(len(steps)))
    done: set[int] = set()
    while left:
        ready = [place for place in left if before[place] <= done]
        silent = [place for place in ready if steps[place].calc is not None]
        place = silent[0] if silent else ready[0] if draw is None else draw.choice(ready)
        left.remove(place)
        done.add(place)
        yield place


def bonds(scene: Scene) -> dict[int, set[int]]:
    """For each step, by place, the earlier ones that must stay before it."""
    steps = scene.steps
    kinds = [_Kind(scene, place) for place in range(len(steps))]
    names = labels(steps)
    before: dict[int, set[int]] = {}
    pairs = _Pairs(scene)
    for place, step in enumerate(steps):
        known = uses(step)
        before[place] = {
            other
            for other in range(place)
            if names[other] in known or kinds[other].binds(kinds[place]) or pairs.bind(kinds[other], kinds[place])
        }
    return before


class _Kind:
    """What others see of a step: which service it looks at or changes, and whom it talks to."""

    def __init__(self, scene: Scene, place: int) -> None:
        step = scene.steps[place]
        taken = scene.taken[place] if place < len(scene.taken) else None
        self.step = step
        self.tool = step.call
        self.service = None if step.call is None else step.call.partition(".")[0]
        self.writes = step.call is not None and not scene.reads(step)
        act = None if taken is None else next((act for act in taken.acts if act is not None), None)
        person = step.ask or step.say or step.wait
        self.person = act.subject if act is not None and step.call is None else person
        self.waits = step.ask is not None or step.wait is not None
        faulty = {fault.tool for fault in scene.world.faults}
        self._faulty = self.tool in faulty
        heard = {wait for other in scene.steps if (wait := other.wait) is not None}
        self._kept = self.person is not None and (
            self.person in heard or self.person not in scene.world.people or _is_stateful(scene.world, self.person)
        )

    def binds(self, later: _Kind) -> bool:
        """Whether a later step must stay after this one: both are about the same service, call or person."""
        if self.service is not None and self.service == later.service:
            return self.writes or later.writes or (self._faulty and self.tool == later.tool)
        return self.person is not None and self.person == later.person and self._kept


def _is_stateful(world: World, person: str) -> bool:
    """Whether what they answer depends on what they answered before."""
    replies = world.people[person].replies
    return any(reply.tells in _STATEFUL or reply.once or reply.needs or reply.cancels for reply in replies)


class _Pairs:
    """Pairs of conditions whose order somebody demands: checks, people who wait for a milestone, the timeline."""

    def __init__(self, scene: Scene) -> None:
        self._world = world = scene.world
        self._marks = _marks(scene)
        self._pairs: list[tuple[Condition, Condition]] = []
        for check in world.checks.values():
            self._pairs += _demanded(scene, check)
        for name, person in world.people.items():
            marks = [reply.needs for reply in person.replies if reply.needs is not None]
            self._pairs += [(Condition(said=name), Condition(mark=mark)) for mark in marks]

    def bind(self, earlier: _Kind, later: _Kind) -> bool:
        for a, b in self._pairs:
            if (self._is(earlier, a) and self._is(later, b)) or (self._is(earlier, b) and self._is(later, a)):
                return True
        return self._is_timed(earlier, later)

    def _is(self, kind: _Kind, condition: Condition) -> bool:
        """Whether a step may be what makes a condition true, or what a claim counts."""
        if condition.called is not None:
            return kind.tool is not None and (
                kind.tool == condition.called or (kind.writes and condition.called.startswith(f"{kind.service}."))
            )
        if condition.said is not None:
            return kind.person is not None and kind.step.wait is None and condition.said in (kind.person, "anyone")
        if condition.gave is not None:
            return kind.person is not None and kind.person == condition.gave.partition(".")[0]
        if condition.mark is not None:
            return kind.person is not None and kind.person in self._marks.get(condition.mark, ())
        if condition.fired is not None:
            return kind.waits or any(
                entry.name == condition.fired and entry.when is not None and self._is(kind, entry.when)
                for entry in self._world.timeline
            )
        return False

    def _is_timed(self, earlier: _Kind, later: _Kind) -> bool:
        """Whether the timeline comes between: the one sets off, or waits for, what the other notices."""
        for entry in self._world.timeline:
            changed = {
                name.partition(".")[0]
                for change in entry.changes
                if (name := change.update or change.create or change.delete) is not None
            }
            notices = [
                kind.service in changed or (kind.step.wait is not None and kind.person == entry.sender)
                for kind in (earlier, later)
            ]
            causes = [
                kind.waits or (entry.when is not None and self._is(kind, entry.when)) for kind in (earlier, later)
            ]
            if (notices[1] and causes[0]) or (notices[0] and causes[1]):
                return True
        return False


def _demanded(scene: Scene, check: Check) -> Iterator[tuple[Condition, Condition]]:
    """What a check counts, and before or after what, where that order is no accident.

    With a gate it never is; with a weighted check it is none where a deed, a milestone or an event has a part in it,
    such as telling after doing, or asking before. That one looks or speaks before the other is an accident.
    """
    claim = check.claim or check.never
    if claim is None:
        return
    what = Condition(called=claim.called, said=claim.said, gave=claim.gave, mark=claim.mark, fired=claim.fired)
    if claim.record is not None:
        what = Condition(called=claim.record)
    for moment in (claim.before, claim.after):
        if moment is None:
            continue
        deeds = (one.called for one in (what, moment) if one.called is not None)
        if check.gate or moment.mark or moment.fired or any(not _is_reading(scene, deed) for deed in deeds):
            yield what, moment


def _is_reading(scene: Scene, name: str) -> bool:
    return name in scene.tools and scene.tools[name].reads


def _marks(scene: Scene) -> dict[str, set[str]]:
    """Who says what reaches a milestone."""
    found: dict[str, set[str]] = {}
    for name, person in scene.world.people.items():
        for reply in person.replies:
            if reply.mark is not None:
                found.setdefault(reply.mark, set()).add(name)
    for entry in scene.world.timeline:
        if entry.mark is not None and entry.sender is not None:
            found.setdefault(entry.mark, set()).add(entry.sender)
    for event in scene.run.events:
        if isinstance(event.body, MessageSent) and event.body.mark is not None:
            found.setdefault(event.body.mark, set()).add(event.actor)
    return found
