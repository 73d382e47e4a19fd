"""E1: absorb an interruption or a change of mind.

After the work is done, the requester wants one of its values to be another.
"""

from __future__ import annotations

from ..draft import REACT, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": ["Use {value} for {the}. That may still change, so stay around for twenty minutes when you are through.", "As {the}, take {value}. I am not quite sure yet; please wait for twenty minutes after the work in case I write again.", "{value} is {the} to put in, as far as I know. If it changes I will tell you within twenty minutes of the work, so please wait that long.", "Put in {value} as {the}. Give me twenty minutes after you have done it, I may have to correct that."],
        "change": [
            "Sorry, I was wrong about {the}: it has to be {value}.",
            "Change of plan: {the} should be {value} instead.",
            "Stop, {the} must be {value}, please correct that.",
            "I mixed something up. Please make it {value} for {the}.",
        ],
    },
    "de": {
        "request": ["Nimm {value} für {the}. Das kann sich noch ändern, bleib also nach der Arbeit zwanzig Minuten dran.", "Für {the} gilt {value}. Ganz sicher bin ich noch nicht; warte nach der Arbeit bitte zwanzig Minuten, falls ich noch einmal schreibe.", "Für {the} trägst du {value} ein, soweit ich weiß. Ändert es sich, sage ich es dir spätestens zwanzig Minuten danach, warte bitte so lange.", "Trag {value} für {the} ein. Gib mir danach zwanzig Minuten, vielleicht muss ich das noch ändern."],
        "change": [
            "Entschuldige, was {the} angeht, lag ich falsch: Richtig ist {value}.",
            "Planänderung, was {the} angeht: Jetzt soll es {value} sein.",
            "Halt, es muss {value} heißen, was {the} angeht. Bitte ändern.",
            "Ich habe etwas verwechselt. Bitte trag für {the} doch {value} ein.",
        ],
    },
}  # fmt: skip


def build(draft: Draft) -> None:
    guise = draft.guise("date", "place", "code", "quantity")
    domain = draft.domain(guise)
    first = draft.facts.choose("e1.first", domain, guise.kind)
    last = draft.facts.choose("e1.last", domain, guise.kind)
    draft.facts.choose("e1.last", domain, guise.kind, twin="e1-other")
    words = draft.called(guise)
    draft.request(PHRASES, "request", value="${e1.first}", **words)
    last_word = "choose($e1.trigger == $e1.first, $e1.last, $e1.first)"
    slot = draft.slot("e1", guise, "$e1.first", first, final=lambda thing: last_word)
    trigger = draft.facts.set("e1.trigger", first)
    change = draft.text(PHRASES, "change", value="${e1.last}", **words)
    draft.event(name="e1-change", when={"called": draft.deed_tool, "args": {slot.field: trigger}}, after="6m",
                sender=draft.requester, say=change, gives={"e1": last}, mark="changed-mind")  # fmt: skip
    draft.step(REACT, "e1_news", wait=draft.requester, limit="22m", condition=f"len({draft.done}) > 0")
    draft.amend(REACT, "e1_amended", slot.field, "@e1_news.e1", "@e1_news.e1")
    draft.twin("e1-other")
    draft.twin("e1-no-change", facts={"e1": {"trigger": "none"}})
    if draft.retry_twin:  # what is written by the retry must stay, or nobody would see whether it was right
        facts = draft.twins[draft.retry_twin]["facts"]
        assert isinstance(facts, dict)
        facts["e1"] = {"trigger": "none"}
    draft.trap("e1-does-not-listen", 2, drop=["e1_news", "e1_amended"], why="Leaves it at the old plan.")


FRAGMENT = Fragment(
    id="E1",
    title="absorbs an interruption or a change of mind",
    failure="finishes the old plan",
    stage=Stage.WRAP,
    order=3,
    build=build,
)
