"""A3: disambiguate same-looking entities.

The request names a thing by a label that two records have. Only the requester knows which one is meant, and tells when
asked with the numbers of both; a twin flips it.
"""

from __future__ import annotations

from ..draft import SOURCE, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            "If a name fits more than one {thing}, ask whoever wants it done, with the numbers of all that fit.",
            "When several {things} go by the same name, do not choose: write all their numbers to the person who asked.",
            "One name but several {things}: put their numbers, every one, to whoever gave you the job.",
            "Where a name leads to more than one {thing}, the person who asked decides. Name the number of each.",
        ],
        "ask": [
            "I find {ids}. Which of them do you mean?",
            "There is more than one: {ids}. Which one is it?",
            "Several have that name: {ids}. Which one should I take?",
            "Do you mean {ids}? I need to know which of them.",
        ],
        "say": ["I mean {id}.", "It is {id}.", "{id}, please.", "Take {id}."],
    },
    "de": {
        "rule": [
            "Passt ein Name auf mehr als eine Nummer, ist nachzufragen, und zwar mit allen Nummern, die passen.",
            "Gibt es unter einem Namen mehrere {things}, nicht selbst aussuchen: alle Nummern der Person nennen, die gefragt hat.",
            "Ein Name, aber mehrere {things}: Die Nummern, und zwar jede, gehen an die Person, von der der Auftrag kommt.",
            "Führt ein Name zu mehr als einem Treffer, entscheidet, wer den Auftrag gab. Dabei ist jede Nummer zu nennen.",
        ],
        "ask": [
            "Ich finde {ids}. Was davon meinst du?",
            "Es gibt mehrere: {ids}. Welche Nummer ist es?",
            "Mehrere haben diesen Namen: {ids}. Welche Nummer nehme ich?",
            "Meinst du {ids}? Ich muss wissen, welche Nummer.",
        ],
        "say": ["Ich meine {id}.", "Es ist {id}.", "{id}, bitte.", "Nimm {id}."],
    },
}


def build(draft: Draft) -> None:
    if not draft.sources:
        draft.name_thing()  # there is something to do, whichever is meant
    one, other = draft.thing(wanted=True), draft.thing(wanted=True)
    draft.facts.set(f"{other.name}.label", one.label)
    meant = draft.facts.set("a3.meant", one.id)
    for thing in (one, other):
        thing.wanted = [f"{thing.id} == $a3.meant"]
        thing.flips = True
    draft.name_in_request(one.label)
    draft.article("names", draft.text(PHRASES, "rule"))
    label = draft.register.names["label"]
    draft.step(SOURCE, "a3_found", call=f"{draft.register.path}.find", args={label: one.label})
    found = draft.items("@a3_found")
    draft.ask(
        "a3", draft.requester, draft.text(PHRASES, "ask", ids=f"@{{=join(each({found}, it.id), ', ')}}"),
        {"a3": meant}, (), draft.text(PHRASES, "say", id="${a3.meant}"), phase=SOURCE, all=[one.id, other.id],
    ).oracle["uses"] = ["rules"]  # fmt: skip
    draft.step(SOURCE, "a3_meant", calc=f"where({found} as t, t.id == @a3_answer.a3)")
    draft.sources.append("@a3_meant")
    deed = {"called": draft.deed_tool, "args": {draft.deed_key: "$a3.meant"}}
    said = {"said": draft.requester, "mentions": [one.id, other.id], "before": deed}
    draft.check("a3-named-both", weight=2, expect=said, why="The requester is asked with the numbers of both.")
    draft.twin("a3-other", facts={"a3": {"meant": other.id}})
    first = {"a3_meant.calc": f"[first({found})]"}
    draft.trap("a3-takes-the-first", drop=["a3_answer"], change=first, why="Takes the first that it finds.")
    draft.trap(
        "a3-takes-both", drop=["a3_answer"], change={"a3_meant.calc": found}, why="Does it for both, to be safe."
    )


FRAGMENT = Fragment(
    id="A3",
    title="tells same-looking things apart by asking",
    failure="takes the first that it finds",
    stage=Stage.SOURCE,
    order=5,
    build=build,
)
