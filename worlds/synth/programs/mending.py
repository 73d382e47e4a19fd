"""Which edits may mend an environment whose checks a mutant survives.

Knows checks, and which fact a value comes from. Does not know whether an edit helps: whoever repairs tries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ....events.event import Json, RecordChanged, RecordCreated
from ...compiling import with_twin
from ...environment import Check, Claim
from ...facts import FactError, filled, resolve
from ...matching import same
from ..findings import Edit, pointer
from ..playing import Case
from ..validators.dataflow import slots
from .mutants import Mutant, stripped
from .scenes import Scene
from .traces import Act

_VALUES = frozenset({"plus-one", "minus-one", "times-ten", "day-later", "day-earlier", "other-choice", "sibling"})


class Survivor(msgspec.Struct, frozen=True):
    """A mutant that was not found out, with all that is known of it."""

    case: Case
    scenes: Mapping[str, Scene]
    mutant: Mutant

    @property
    def scene(self) -> Scene:
        """The first variant in which its step did something."""
        return next((scene for scene in self.scenes.values() if self.act(scene) is not None), self.scenes[""])

    def act(self, scene: Scene) -> Act | None:
        """What the step did first."""
        taken = next((taken for taken in scene.taken if taken.label == self.mutant.step), None)
        return None if taken is None else next((act for act in taken.acts if act is not None), None)

    def check(self, suffix: str, check: dict[str, Json], op: str = "add_check", cost: int = 2) -> Edit:
        """The edit that adds a check, named by the step."""
        name = f"{self.mutant.step}-{suffix}".replace("_", "-").replace(".", "-").strip("#")
        return Edit(op, pointer("checks", name), check, cost)

    def claims(self) -> Iterator[tuple[str, Check, Claim]]:
        for name, check in self.case.environment.checks.items():
            if check.claim is not None:
                yield name, check, check.claim


def candidates(case: Case, scenes: Mapping[str, Scene], mutant: Mutant) -> Iterator[Edit]:
    """The edits for one survivor."""
    survivor = Survivor(case, scenes, mutant)
    act = survivor.act(survivor.scene)
    if mutant.operator in _VALUES and act is not None:
        yield from _field(survivor, act)
    elif mutant.operator == "duplicate" and act is not None:
        yield from _twice(survivor, act)
    elif mutant.operator == "early" and act is not None:
        yield from _early(survivor, act)
    elif mutant.operator == "late" and act is not None:
        for name, _, claim in survivor.claims():
            if claim.said is not None:
                yield Edit("replace", pointer("checks", name, "expect", "after"), {"called": act.subject})
    elif mutant.operator == "wrong-tool":
        gate = {"never": {"called": mutant.new}}
        yield survivor.check(f"not-{mutant.new}", gate, "add_gate")
    elif mutant.operator == "strip-value" and act is not None:
        yield from _stripped(survivor, act)
    elif act is not None:
        yield from _missing(survivor, act)
    if mutant.operator == "drop":
        yield Edit("drop_step", mutant.at, cost=4)


def _field(survivor: Survivor, act: Act) -> Iterator[Edit]:
    """A field that nobody looks at."""
    part = survivor.mutant.part
    written = dict(_written(survivor.scene, act))
    values = list(_references(survivor, part))
    for collection, record in written.items():
        for name, _, claim in survivor.claims() if not _is_superseded(survivor.scene, act, part) else ():
            fits = claim.record == collection and part in record and part not in claim.where
            if fits and all(key not in record or _is(record[key], value) for key, value in claim.where.items()):
                path = pointer("checks", name, "expect", "where", part)
                yield from (Edit("add_where", path, value) for value in values)
    for value in values:
        yield survivor.check(part, {"weight": 1, "expect": {"called": act.subject, "args": {part: value}}})
    for collection, record in written.items():
        if part in record:
            service, _, name = collection.partition(".")
            yield Edit("declare_free", pointer("services", service, "collections", name, "free"), part, 4)


def _is_superseded(scene: Scene, act: Act, part: str) -> bool:
    """Whether the field was written again later, so that the final record does not show what it was."""
    keys: set[str] = set()
    inside = True
    for event in scene.run.events[act.seq + 1 :]:
        body = event.body
        if isinstance(body, RecordCreated | RecordChanged):
            if inside:
                keys.add(body.key)
            elif isinstance(body, RecordChanged) and body.key in keys and part in body.set:
                return True
        inside = inside and getattr(body, "call", None) != act.seq
    return False


def _is(value: Json, wanted: Json) -> bool:
    """Whether a value may be what a check wants; a reference may be anything."""
    return (isinstance(wanted, str) and wanted[:1] in ("$", "=")) or same(value, wanted)


def _twice(survivor: Survivor, act: Act) -> Iterator[Edit]:
    written = dict(_written(survivor.scene, act))
    for name, _, claim in survivor.claims():
        if claim.record in written and claim.count is None:
            yield Edit("add_count", pointer("checks", name, "expect", "count"), 1)
    known = sum(one is not None and one.subject == act.subject for t in survivor.scene.taken for one in t.acts)
    yield survivor.check("once", {"never": {"called": act.subject, "at_least": known + 1}}, "add_gate")


def _early(survivor: Survivor, act: Act) -> Iterator[Edit]:
    name = survivor.mutant.part.removeprefix("before-")
    scene = survivor.scene
    step = scene.steps[scene.places[name]]
    person = step.ask if step.ask is not None else step.wait
    if person is None or person not in survivor.case.environment.people:
        return
    for slot in sorted(slots(scene.steps).get(name, ())):
        if slot != "text":
            never = {"called": act.subject, "before": {"gave": f"{person}.{slot}"}}
            yield survivor.check(f"after-{name}", {"never": never}, "add_gate")


def _stripped(survivor: Survivor, act: Act) -> Iterator[Edit]:
    """A value that nobody missed: let a check miss it, or let the oracle not say it."""
    mutant = survivor.mutant
    values = [name for name in named(survivor.case, dict(_said(survivor))) if str(name).startswith("$")]
    looked = {verdict.name for verdict in survivor.scene.run.verdicts if act.seq in verdict.evidence}
    for name, _, claim in sorted(survivor.claims(), key=lambda known: known[0] not in looked):
        if claim.said in (act.subject, "anyone") and claim.mentions:
            for value in values:
                yield Edit("replace", pointer("checks", name, "expect", "mentions"), [*claim.mentions, value])
    place = survivor.scene.places[mutant.step]
    if survivor.scene.variant and "oracle" in survivor.case.environment.twins.get(survivor.scene.variant, {}):
        return
    step = survivor.case.environment.oracle[place]
    part, _, number = mutant.part.rpartition("-")
    text = step.text if part == "text" and step.text else step.args.get(part)
    for count, rest, _ in stripped(text, sign="@"):
        if str(count) == number:
            path = pointer("oracle", place, *(("text",) if step.text else ("args", part)))
            yield Edit("restyle", path, rest, 3)


def _said(survivor: Survivor) -> Iterator[tuple[str, Json]]:
    """The value that was left out of a text, by variant."""
    for variant, scene in survivor.scenes.items():
        if survivor.act(scene) is not None and scene.steps[scene.places[survivor.mutant.step]].each is None:
            try:
                yield variant, filled(survivor.mutant.old, scene.scope)
            except FactError:
                continue


def _missing(survivor: Survivor, act: Act) -> Iterator[Edit]:
    """Something that was not done, or not for whom it should: let a check ask for it."""
    if act.args or "." in act.subject:
        yield survivor.check("done", {"weight": 1, "expect": {"called": act.subject}})
    else:
        yield survivor.check("told", {"weight": 1, "expect": {"said": act.subject}})


# --- where a value comes from ------------------------------------------------------------------------------


def _written(scene: Scene, act: Act) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """What a call wrote, by collection."""
    after = iter(scene.run.events[act.seq + 1 :])
    for event in after:
        if isinstance(event.body, RecordCreated):
            yield f"{event.body.service}.{event.body.collection}", event.body.value
        elif isinstance(event.body, RecordChanged):
            key = scene.world.state[event.body.service][event.body.collection].get(event.body.key, {})
            yield f"{event.body.service}.{event.body.collection}", {**key, **event.body.set}
        elif getattr(event.body, "call", None) == act.seq:
            return


def _references(survivor: Survivor, part: str) -> Iterator[Json]:
    """What an argument could be written as in a check: facts that are the same in all variants, or else the value."""
    wanted: dict[str, Json] = {}
    for variant, scene in survivor.scenes.items():
        act = survivor.act(scene)
        if act is not None and part in act.args:
            wanted[variant] = act.args[part]
    yield from named(survivor.case, wanted)


def named(case: Case, wanted: Mapping[str, Json]) -> Iterator[Json]:
    """References to the facts that have these values, by variant, at most three; else the value, if it is the same
    everywhere."""
    names: list[str] | None = None
    for variant, value in wanted.items():
        facts = _facts(with_twin(case.data, variant or None))
        names = [name for name in facts if (names is None or name in names) and same(facts[name], value)]
    if names:
        yield from (f"${name}" for name in names[:3])
    elif wanted and all(same(value, first) for first in list(wanted.values())[:1] for value in wanted.values()):
        yield next(iter(wanted.values()))


def _facts(data: Mapping[str, Json]) -> dict[str, Json]:
    """Each fact that is a single value, by its path."""
    facts = data.get("facts", {})
    try:
        probed = resolve({"facts": facts, "title": {name: f"${name}" for name in facts}})
    except FactError:
        return {}
    return dict(_leaves(probed["title"]))


def _leaves(facts: Mapping[str, Json], before: str = "") -> Iterator[tuple[str, Json]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{before}{name}.")
        elif not isinstance(value, list):
            yield f"{before}{name}", value
