"""E3: notice a silent change of state.

A figure that others keep changes while the agent waits, and nobody says so; what counts is the figure at the time of
the work.
"""

from __future__ import annotations

from ..draft import ASK, CLOSE, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Take {the} from {service}, as it stands when you do the work; it moves during the day. And don't start before {expert} gives you the green light; ask.",
            "Ask {expert} for the green light first. {the} is in {service}, and what counts is the figure at the time you start.",
            "{service} has {the}. It changes without notice, so use what it says at the moment of doing it. {expert} has to give the green light before.",
            "Before anything happens, get the green light from {expert}. Then use {the} that {service} shows at that moment, not an earlier one.",
        ],
        "ask": [
            "Do I have the green light?",
            "Can you give me the green light?",
            "Is there a green light from you?",
            "May I have the green light?",
        ],
        "say": [
            "Green light.",
            "Yes, green light from my side.",
            "You can start, green light.",
            "All clear: green light.",
        ],
    },
    "de": {
        "request": [
            "Entnimm {the} aus {service}, so wie es bei der Arbeit dort steht; das ändert sich über den Tag. Und fang erst an, wenn {expert} grünes Licht gibt; frag danach.",
            "Hol dir zuerst grünes Licht von {expert}. Was {the} angeht, zählt, was {service} beim Anfangen zeigt.",
            "In {service} findest du {the}. Das ändert sich ohne Ansage, nimm also den Stand im Moment der Arbeit. Vorher muss {expert} grünes Licht geben.",
            "Bevor etwas geschieht, brauchst du grünes Licht von {expert}. Danach nimm {the}, wie {service} es in dem Moment zeigt, nicht früher.",
        ],
        "ask": [
            "Habe ich grünes Licht?",
            "Gibst du mir grünes Licht?",
            "Kommt von dir grünes Licht?",
            "Bekomme ich grünes Licht?",
        ],
        "say": [
            "Grünes Licht.",
            "Ja, grünes Licht von mir.",
            "Du kannst anfangen, grünes Licht.",
            "Alles klar: grünes Licht.",
        ],
    },
}


def build(draft: Draft) -> None:
    guise = draft.guise("quantity", "code", "place", "choice")
    domain, words = draft.domain(guise), draft.called(guise)
    expert = draft.person("expert")
    old, new = (draft.facts.choose(f"e3.{name}", domain, guise.kind) for name in ("old", "new"))
    draft.facts.choose("e3.new", domain, guise.kind, twin="e3-other")
    board = draft.board()
    name = draft.facts.set("e3.name", guise.noun[draft.origin.language])
    dated = {"as_of": draft.facts.set("today", draft.start.isoformat())} if "as_of" in board.fields else {}
    board.records.append({"id": f"{board.prefix}-41", "name": name, "value": old, **dated})
    draft.request(PHRASES, "request", service=board.service, **words)
    draft.ask("e3", expert, draft.text(PHRASES, "ask"), {"e3": True}, ["green light", "grünes Licht"],
              draft.text(PHRASES, "say"), after="22m", phase=ASK, step="e3_go")  # fmt: skip
    change = {"update": board.path, "where": {"name": name}, "set": {"value": new}}
    draft.event(name="e3-change", when={"said": expert}, after="7m", changes=[change])
    draft.step(CLOSE, "e3_row", call=f"{board.path}.find", args={"name": name}, uses=["e3_go"])
    draft.slot("e3", guise, "$e3.new", "first(@e3_row).value")
    draft.check("e3-green-light", weight=1, expect={"gave": f"{expert}.e3", "before": {"called": draft.deed_tool}},
                why="The work waits for the green light.")  # fmt: skip
    draft.twin("e3-other")
    draft.trap("e3-reads-early", 2, drop=["e3_row"], bind={"e3_row": [{"value": old}]}, why="Uses what it read before.")
    draft.trap("e3-does-not-wait", 1, drop=["e3_go"], why="Starts at once.")


FRAGMENT = Fragment(
    id="E3",
    title="notices that something has changed silently",
    failure="never looks again before it acts",
    stage=Stage.SLOT,
    order=5,
    build=build,
)
