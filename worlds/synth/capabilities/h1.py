"""H1: a batch with exceptions.

A rule excepts things with a certain mark; the mark is a field of the register.
"""

from __future__ import annotations

from ..draft import FILTER, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            'Leave out {things} whose {field} says "{hold}"; they stay as they are.',
            'Whatever has "{hold}" under {field} is not touched.',
            'No {entries} for {things} that are marked "{hold}" in {field}.',
            '{things} with "{hold}" in the field {field} are an exception: do nothing about them.',
        ],
    },
    "de": {
        "rule": [
            'Ausgenommen ist alles, bei dem unter {field} "{hold}" steht; das bleibt, wie es ist.',
            'Was unter {field} "{hold}" stehen hat, wird nicht angefasst.',
            'Keine {entries}, wenn in {field} "{hold}" vermerkt ist.',
            '{things} mit "{hold}" im Feld {field} sind eine Ausnahme: da geschieht nichts.',
        ],
    },
}
FIELDS = ("mark", "flag", "remark", "note_code")
MARKS = ("hold", "disputed", "legal", "sealed", "review", "parked")


def build(draft: Draft) -> None:
    [field] = draft.pick(FIELDS, 1)
    hold, usual = draft.pick(MARKS, 2)
    draft.facts.set("h1.hold", hold)
    draft.facts.set("h1.usual", usual)
    draft.column(field, {"type": "text"}, lambda thing: "$h1.usual")
    chosen = [thing for thing in draft.things if thing.wanted is not None and not thing.flips]
    for thing in chosen[-2:]:
        draft.facts.set(f"{thing.name}.mark", "$h1.usual")
        thing.values[field] = thing.ref("mark")
        thing.flips = True
        assert thing.wanted is not None
        thing.wanted.append(f"{thing.ref('mark')} != $h1.hold")
    last, before = chosen[-1], chosen[-2]
    draft.facts.set(f"{last.name}.mark", "$h1.hold")
    rule = draft.article("exceptions", draft.text(PHRASES, "rule", field=field, hold="${h1.hold}"))
    marked = f"between({rule}, '\"', '\"')"
    draft.step(FILTER, "h1_mark", calc=marked)
    draft.step(FILTER, "h1_kept", calc=f"where({draft.targets} as t, t.{field} != @h1_mark)")
    draft.targets = "@h1_kept"
    draft.twin("h1-other", facts={last.name: {"mark": "$h1.usual"}, before.name: {"mark": "$h1.hold"}})
    draft.trap("h1-takes-all", change={"h1_kept.calc": "@targets"}, why="Applies the rule to all.")


FRAGMENT = Fragment(
    id="H1",
    title="handles a batch with its exceptions",
    failure="applies the rule to all",
    stage=Stage.FILTER,
    several=True,
    build=build,
)
