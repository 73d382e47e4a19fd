"""C1: join facts across services.

What is written for a thing goes by who looks after it: the register has the name, another service has what belongs to
the person.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....events.event import Json
from ..draft import LOOK, Draft, Phrases
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            'Each {entry} gets {the} of whoever stands under "{owner_field}"; {service} has that.',
            'For {the}, go by the person in the field "{owner_field}": it is theirs, see {service}.',
            '{the} is in each case that of the person in "{owner_field}". You find it in {service}.',
            'Put in {the} that belongs to the person under "{owner_field}", from {service}.',
        ],
    },
    "de": {
        "request": [
            'Trag jeweils {the} der Person ein, die unter "{owner_field}" steht; das findest du in {service}.',
            'Was {the} angeht, richte dich nach der Person im Feld "{owner_field}"; {service} hat die Angaben.',
            'Es gilt jeweils {the} der Person, die in "{owner_field}" genannt ist. Du findest das in {service}.',
            'Trag {the} der Person ein, deren Name unter "{owner_field}" steht, so wie in {service}.',
        ],
    },
}
OTHERS = 3


def build(draft: Draft) -> None:
    guise = draft.guise("code", "quantity")
    domain, words = draft.domain(guise), draft.called(guise)
    owner_field, field = draft.register.names["owner"], draft.name(guise.field)
    owners = [f"c1.p{place + 1}" for place in range(len(dict.fromkeys(draft.owners)))]
    for owner, name in zip(owners, dict.fromkeys(draft.owners), strict=True):
        draft.facts.set(f"{owner}.name", name)
        draft.facts.choose(f"{owner}.value", domain, guise.kind)
        draft.facts.choose(f"{owner}.value", domain, guise.kind, twin="c1-other")

    def truth(thing: Thing) -> str:
        value = "null"
        for owner in owners:
            value = f"choose({thing.ref('owner')} == ${owner}.name, ${owner}.value, {value})"
        return value

    seen = f"first(where(@c1_people as p, p.name == it.{owner_field})).{field}"
    draft.add_slot("c1", field, draft.field(guise), truth, seen, guise=guise)
    rows = [(f"${owner}.name", f"${owner}.value") for owner in owners]
    for other in (f"c1.other{place + 1}" for place in range(OTHERS)):
        name = draft.facts.choose(f"{other}.name", _namesakes(draft), "label")
        rows.append((name, draft.facts.choose(f"{other}.value", domain, guise.kind)))
    people = draft.store("directory", {"id": {"type": "id"}, "name": {"type": "text"}})
    people.fields[field] = draft.field(guise)
    for place, (name, has) in enumerate(draft.arranged(rows, "people")):
        people.records.append({"id": f"{people.prefix}-{place * 7 + 305}", "name": name, field: has})
    draft.step(LOOK, "c1_people", call=f"{people.path}.find", args={})
    draft.request(PHRASES, "request", owner_field=owner_field, service=people.service, **words)
    draft.twin("c1-other")
    guess = draft.facts.choose("c1.guess", domain, guise.kind)
    _trap(draft, field, "one-for-all", dict.fromkeys(owners, guess), "Takes one value for everybody.")
    next_one = zip(owners, [*owners[1:], owners[0]], strict=True)
    _trap(draft, field, "mixes-them-up", {owner: f"${other}.value" for owner, other in next_one},
          "Takes another person's row.")  # fmt: skip


def _namesakes(draft: Draft) -> list[str]:
    """Names that begin like those of the owners and go on otherwise."""
    given = [owner.partition(" ")[0] for owner in draft.owners]
    surnames = draft.half(draft.lexicon.surnames)
    return [name for first in given for last in surnames if (name := f"{first} {last}") not in draft.owners]


def _trap(draft: Draft, field: str, name: str, believed: Mapping[str, str], why: str) -> None:
    """An agent that does not look, and believes that each owner has this."""
    people: Json = [{"name": f"${owner}.name", field: value} for owner, value in believed.items()]
    draft.trap(f"c1-{name}", 2, drop=["c1_people"], bind={"c1_people": people}, why=why)


FRAGMENT = Fragment(
    id="C1",
    title="joins facts across services",
    failure="answers from one system",
    stage=Stage.SLOT,
    build=build,
)
