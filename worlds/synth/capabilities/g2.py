"""G2: the right audience.

Whoever is responsible for a thing's category has to be told its number, and their colleague has not. Who that is stands
in the directory, and is the other one in a twin.
"""

from __future__ import annotations

from ....events.event import Json
from ..draft import REPORT, Draft, Phrases
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            'Once something is done, the number of {the_thing} goes to the colleague whom {service} names for its "{category_field}". Whoever else is named there is not told.',
            'When it is done, tell the number of {the_thing} to whoever is responsible for that "{category_field}" (see {service}), and not to the other colleague who is listed there.',
            'Each of {the_things} that is done is reported by its number to the one colleague who has its "{category_field}" according to {service}, and not to the other one there.',
            'Look up in {service} which colleague has which "{category_field}". They get the numbers of their {things} once these are done, and never a number of the other.',
        ],
        "tell": ["{id} is done.", "For your information: {id} is through.", "Just so you know, {id} is done.", "Done for you: {id}."],
        "thanks": ["Thanks for letting me know.", "Good to know, thank you.", "Noted.", "Thanks, seen."],
    },
    "de": {
        "rule": [
            'Ist etwas erledigt, erfährt die Nummer {the_thing_dat}, wer in {service} für dessen Wert unter "{category_field}" steht. Wer dort sonst noch steht, erfährt sie nicht.',
            'Nach der Erledigung geht die Nummer {the_thing_dat} an die Person, die {service} für diesen Wert von "{category_field}" nennt, und nicht an die andere, die dort genannt ist.',
            'Ist etwas erledigt, ist die Nummer {the_thing_dat} genau der Person zu melden, die laut {service} für "{category_field}" zuständig ist, der anderen dort nicht.',
            'Wer für welchen Wert von "{category_field}" zuständig ist, steht in {service}: Diese Person bekommt danach die Nummer {the_thing_dat}, die andere nicht.',
        ],
        "tell": ["{id} ist erledigt.", "Zur Kenntnis: {id} ist durch.", "Nur zur Information, {id} ist fertig.", "Für dich erledigt: {id}."],
        "thanks": ["Danke für die Nachricht.", "Gut zu wissen, danke.", "Ist notiert.", "Danke, gesehen."],
    },
}  # fmt: skip
DESKS = ("desk_a", "desk_b")


def build(draft: Draft) -> None:
    for letter, role in zip("ab", DESKS, strict=True):
        person = draft.person(role)
        draft.otherwise(person, draft.text(PHRASES, "thanks"))
        draft.facts.set(f"g2.{letter}", {"key": person, "name": person.capitalize()})
    draft.facts.set("g2.one", "$g2.a")
    draft.facts.set("g2.two", "$g2.b")
    category = draft.register.names["category"]
    fields: dict[str, dict[str, Json]] = {"id": {"type": "id"}, "name": {"type": "text"}, category: {"type": "text"}}
    store = draft.store("desks", fields)
    places = dict(enumerate(draft.family.register.category.values))
    for place, value in places.items():
        name = "$g2.one.name" if place % 2 else "$g2.two.name"
        store.records.append({"id": f"{store.prefix}-{place + 31}", "name": name, category: value})
    draft.article("who-is-told", draft.text(PHRASES, "rule", service=store.service))
    odd = [value for place, value in places.items() if place % 2]
    _steps(draft, store.path, category)
    for thing in draft.things:
        if thing.wanted is not None:
            _checks(draft, thing, odd)
    draft.twin("g2-other", facts={"g2": {"one": "$g2.b", "two": "$g2.a"}})


def _steps(draft: Draft, path: str, category: str) -> None:
    draft.step(REPORT, "g2_desks", call=f"{path}.find", args={})
    done = f"where({draft.targets} as t, t.id in each({draft.done}, it.{draft.deed_key}))"
    responsible = f"first(where(@g2_desks as desk, desk.{category} == it.{category})).name"
    text = draft.text(PHRASES, "tell", id="@{=it.id}")
    draft.step(REPORT, "g2_told", each=done, say=f"@{{=lower({responsible})}}", text=text, uses=["rules"])
    draft.trap("g2-tells-nobody", 2, drop=["g2_told"], why="Forgets who needs to know.")
    draft.trap("g2-tells-the-same-one", 2, change={"g2_told.say": "$g2.a.key"}, why="Tells whom it always tells.")
    both = [{"each": done, "say": f"$g2.{letter}.key", "text": text} for letter in "ab"]
    draft.trap("g2-tells-both", 2, drop=["g2_told"], add=both, why="Tells everybody, to be sure.")


def _checks(draft: Draft, thing: Thing, odd: list[str]) -> None:
    """`odd` are the categories that are `$g2.one`'s."""
    is_odd = " or ".join(f"{thing.ref('category')} == '{value}'" for value in odd)
    right = draft.facts.set(f"g2.{thing.name}_right", f"=choose({is_odd}, $g2.one.key, $g2.two.key)")
    wrong = draft.facts.set(f"g2.{thing.name}_wrong", f"=choose({is_odd}, $g2.two.key, $g2.one.key)")
    told = {"mentions": [thing.id], "after": {"called": draft.deed_tool}}
    done = thing.ref("done") if draft.may_vary(thing) else None
    draft.check(f"g2-told-{thing.name}", weight=2, condition=done, expect={"said": right, **told},
                why="Whoever is responsible is told.")  # fmt: skip
    draft.check(f"g2-not-told-{thing.name}", weight=2, condition=done, never={"said": wrong, **told},
                why="The other one is not.")  # fmt: skip


FRAGMENT = Fragment(
    id="G2",
    title="tells those who need to know, and nobody else",
    failure="tells everybody, or the wrong one",
    stage=Stage.REPORT,
    order=1,
    build=build,
)
