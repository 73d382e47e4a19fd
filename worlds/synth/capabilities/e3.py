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
            "Enter {the} as well, from {service}. And don't start before {expert} gives you the green light; ask.",
            "Ask {expert} for the green light first. Then enter {the}, too, which is in {service}.",
            "{the} has to be entered, too; {service} has it. {expert} has to give the green light before you start.",
            "Before anything happens, get the green light from {expert}. Then enter {the} from {service}, too.",
        ],
        "rule": [
            "{service} changes over the day without notice. What counts is what it says when the work is done.",
            "The values in {service} move during the day, and nobody is told. Use the one of the moment at which you do the work.",
            "Use a value of {service} as it stands when you do the work, since it may have changed since you looked last.",
            "Nobody announces when a value in {service} changes. Valid is what stands there at the time of the work.",
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
            "Trag auch {the} aus {service} ein. Und fang erst an, wenn {expert} grünes Licht gibt; frag danach.",
            "Hol dir zuerst grünes Licht von {expert}. Trag dann auch {the} ein, wie in {service} zu lesen.",
            "Einzutragen ist auch {the} aus {service}. Bevor du anfängst, muss {expert} grünes Licht geben.",
            "Bevor etwas geschieht, brauchst du grünes Licht von {expert}. Danach trägst du auch {the} aus {service} ein.",
        ],
        "rule": [
            "Was in {service} steht, ändert sich über den Tag ohne Ansage. Es zählt, was dort steht, wenn die Arbeit getan wird.",
            "Die Werte in {service} wechseln im Lauf des Tages, ohne dass es jemand sagt. Es gilt der Wert in dem Moment, in dem gearbeitet wird.",
            "Ein Wert aus {service} gilt so, wie er bei der Arbeit dort steht; er kann sich seit dem letzten Blick geändert haben.",
            "Niemand sagt an, wenn sich in {service} ein Wert ändert. Gültig ist, was zur Zeit der Arbeit dort steht.",
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
    service = f'"{board.service}"'
    draft.request(PHRASES, "request", service=service, **words)
    draft.article("moving-values", draft.text(PHRASES, "rule", service=service))
    draft.ask("e3", expert, draft.text(PHRASES, "ask"), {"e3": True}, ["green light", "green-light", "go-ahead", "grünes Licht", "das grüne Licht", "grüne Licht"],
              draft.text(PHRASES, "say"), after="22m", phase=ASK, step="e3_go")  # fmt: skip
    change = {"update": board.path, "where": {"name": name}, "set": {"value": new}}
    draft.event(name="e3-change", when={"said": expert}, after="7m", changes=[change])
    draft.step(CLOSE, "e3_row", call=f"{board.path}.find", args={"name": name}, uses=["e3_go", "rules"])
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
