"""H4: a long plan with dependencies across days.

What is done needs a permit that has to be applied for and is decided the next morning.
"""

from __future__ import annotations

from ..draft import LATE, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            'Needed first: a permit. Apply in {service} with the purpose "{purpose}"; it is decided by the next morning, and {clerk} tells you. Its number goes into every {entry}.',
            'No {entry} without the number of a permit. File an application in {service} for the purpose "{purpose}"; {clerk} writes to you once it is decided, usually the next morning.',
            'Each {entry} carries a permit number. Permits are applied for in {service}, purpose "{purpose}", and decided overnight; wait for word from {clerk}.',
            'Before the first {entry}, apply for a permit ({service}, purpose "{purpose}"). {clerk} lets you know the morning after; take the number from there.',
        ],
        "decided": [
            "Good morning, your application has been decided.",
            "Morning! The permit is through, you will find it in the system.",
            "Your application is dealt with, have a look.",
            "The decision on your permit is in.",
        ],
    },
    "de": {
        "rule": [
            'Zuerst braucht es eine Genehmigung. Antrag in {service} mit dem Zweck "{purpose}"; entschieden wird bis zum nächsten Morgen, {clerk} sagt Bescheid. Die Nummer gehört in jede {entry}.',
            'Keine {entry} ohne Genehmigungsnummer. Der Antrag kommt in {service}, Zweck "{purpose}"; {clerk} meldet sich, wenn er entschieden ist, meist am nächsten Morgen.',
            'Jede {entry} trägt eine Genehmigungsnummer. Beantragt wird in {service}, Zweck "{purpose}", entschieden über Nacht; warte auf Nachricht von {clerk}.',
            'Vor der ersten {entry} ist eine Genehmigung zu beantragen ({service}, Zweck "{purpose}"). {clerk} meldet sich am Morgen darauf; die Nummer steht dann dort.',
        ],
        "decided": [
            "Guten Morgen, über deinen Antrag ist entschieden.",
            "Morgen! Die Genehmigung ist durch, du findest sie im System.",
            "Dein Antrag ist bearbeitet, sieh nach.",
            "Die Entscheidung über deine Genehmigung liegt vor.",
        ],
    },
}


def build(draft: Draft) -> None:
    clerk = draft.person("clerk")
    draft.minutes += 24 * 60
    numbers = [f"G{draft.numbers(10000, 99999, 1)[0]}" for _ in range(20)]
    number = draft.facts.choose("h4.number", numbers[:10])
    draft.facts.choose("h4.number", numbers[10:], twin="h4-other")
    permits = draft.store("permits", {
        "id": {"type": "id"},
        "purpose": {"type": "text", "required": True},
        "status": {"type": "choice", "of": ["waiting", "granted"], "default": "waiting"},
        "number": {"type": "id", "about": "Of the permit, once it is granted."},
    })  # fmt: skip
    permits.fields["id"]["new"] = f"{permits.prefix}-{{n}}"
    permits.tools["apply"] = {"verb": "create", "takes": {"purpose": {"type": "text", "required": True}}}
    apply = f"{permits.service}.apply"
    purposes = [f"P{number}" for number in draft.numbers(100, 999, 20)]
    draft.facts.choose("h4.purpose", purposes[:10])
    draft.facts.choose("h4.purpose", purposes[10:], twin="h4-other")
    rule = draft.text(PHRASES, "rule", service=permits.service, purpose="${h4.purpose}")
    article = draft.article("permits", rule)
    change = {"update": permits.path, "where": {"status": "waiting"}, "set": {"status": "granted", "number": number}}
    draft.event(name="h4-decision", when={"called": apply}, after="21h", sender=clerk,
                say=draft.text(PHRASES, "decided"), gives={"h4": True}, changes=[change])  # fmt: skip
    purpose = f"=between({article}, '\"', '\"')"
    draft.step(LATE, "h4_applied", call=apply, args={"purpose": purpose})
    draft.step(LATE, "h4_decided", wait=clerk, limit="30h", uses=["h4_applied"])
    draft.step(LATE, "h4_permit", call=f"{permits.path}.find", args={"id": "@h4_applied.id"}, uses=["h4_decided"])
    field = "permit"
    spec = {"type": "id", "about": "The number of the permit."}
    draft.add_slot("h4", field, spec, "$h4.number", "first(@h4_permit).number")
    draft.check("h4-one-application", weight=1, never={"record": permits.path, "at_least": 2},
                why="One application is enough.")  # fmt: skip
    draft.check("h4-applied", weight=1, expect={"record": permits.path, "where": {"purpose": "$h4.purpose"}, "count": 1},
                why="The application has the purpose that the handbook asks for.")  # fmt: skip
    draft.twin("h4-other")
    draft.trap("h4-does-not-wait", 2, drop=["h4_decided"], why="Does not wait for the decision.")
    draft.trap("h4-applies-twice", 1, repeat=["h4_applied"], why="Applies again.")
    draft.trap("h4-invents-it", 2, drop=["h4_decided", "h4_permit"], bind={"h4_permit": [{"number": "G1"}]},
               why="Makes a number up.")  # fmt: skip


FRAGMENT = Fragment(
    id="H4",
    title="follows a plan over days, with what depends on what",
    failure="forgets what it started, or does not wait for it",
    stage=Stage.SLOT,
    order=9,
    build=build,
)
