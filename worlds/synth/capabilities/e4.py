"""E4: chase, and fall back, when nobody answers.

The colleague who knows a value does not answer. The handbook says when to remind them, and whom to ask instead.
"""

from __future__ import annotations

from ..draft import ASK, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "{keeper} keeps {the}, so ask there.",
            "For {the}, please ask {keeper}.",
            "{keeper} can tell you {the}.",
            "Get {the} from {keeper}.",
        ],
        "rule": [
            "If {keeper} has not answered within 30 minutes, send one reminder. After another 30 minutes without an answer, ask {deputy} instead.",
            "No answer from {keeper} for 30 minutes: remind once. Still none 30 minutes after that: {deputy} steps in.",
            "Give {keeper} 30 minutes, then one reminder and 30 minutes more. Only then turn to {deputy}.",
            "{deputy} stands in for {keeper}, but only if a question and, 30 minutes later, one reminder both got no answer for 30 minutes.",
        ],
        "ask": [
            "What is {the}, please?",
            "Could you tell me {the}?",
            "I need {the} from you.",
            "Which {noun} applies?",
        ],
        "remind": [
            "A reminder: I still need {the}.",
            "Did you see my question about {the}?",
            "Just checking, {noun}?",
            "May I remind you of {the}?",
        ],
        "fallback": [
            "{keeper} does not answer; can you tell me {the}?",
            "In place of {keeper}: what is {the}?",
            "I could not reach {keeper}. Which {noun} applies?",
            "Do you know {the}? There is no answer from {keeper}.",
        ],
        "say": ["{value}.", "That is {value}.", "It says {value} here.", "I have {value}."],
    },
    "de": {
        "request": [
            "Bei {keeper} liegt {the}, frag also dort.",
            "Was {the} angeht, frag bitte {keeper}.",
            "{keeper} kann dir das sagen: {noun}.",
            "Hol dir {the} von {keeper}.",
        ],
        "rule": [
            "Hat {keeper} nach 30 Minuten nicht geantwortet, einmal erinnern. Nach weiteren 30 Minuten ohne Antwort stattdessen {deputy} fragen.",
            "Keine Antwort von {keeper} in 30 Minuten: einmal erinnern. Auch 30 Minuten danach keine: {deputy} springt ein.",
            "{keeper} hat 30 Minuten, dann eine Erinnerung und noch einmal 30 Minuten. Erst danach an {deputy} wenden.",
            "{deputy} vertritt {keeper}, aber nur, wenn eine Frage und 30 Minuten später eine Erinnerung je 30 Minuten ohne Antwort blieben.",
        ],
        "ask": ["Nenn mir bitte {the}.", "Sagst du mir {the}?", "Ich brauche von dir {the}.", "Was gilt als {noun}?"],
        "remind": [
            "Zur Erinnerung: Ich brauche noch {the}.",
            "Hast du meine Frage gesehen? Es geht um {the}.",
            "Kurze Nachfrage: {noun}?",
            "Darf ich erinnern? Mir fehlt noch {the}.",
        ],
        "fallback": [
            "{keeper} antwortet nicht; nennst du mir {the}?",
            "Anstelle von {keeper}: Ich brauche {the}.",
            "Ich habe {keeper} nicht erreicht. Was gilt als {noun}?",
            "Kennst du {the}? Von {keeper} kommt keine Antwort.",
        ],
        "say": ["{value}.", "Das ist {value}.", "Hier steht {value}.", "Ich habe {value}."],
    },
}


def build(draft: Draft) -> None:
    guise = draft.guise("code", "place", "quantity", "date")
    domain, words = draft.domain(guise), draft.called(guise)
    keeper, deputy = draft.person("keeper"), draft.person("deputy")
    draft.minutes += 80
    value = draft.facts.choose("e4.value", domain, guise.kind)
    draft.facts.choose("e4.value", domain, guise.kind, twin="e4-other")
    guess = draft.facts.choose("e4.guess", domain, guise.kind)
    draft.request(PHRASES, "request", **words)
    draft.article("no-answer", draft.text(PHRASES, "rule"))
    said = {
        "any": draft.keywords(guise),
        "say": draft.text(PHRASES, "say", value="${e4.value}"),
        "gives": {"e4": value},
    }
    draft.rule(keeper, **{**said, "tells": "absent"})
    draft.people[keeper]["otherwise"] = None
    draft.rule(deputy, **said, after="5m")

    draft.step(ASK, "e4_asked", say=keeper, text=draft.text(PHRASES, "ask", **words))
    draft.step(ASK, "e4_first", wait=keeper, limit="30m", uses=["e4_asked"])
    draft.step(
        ASK,
        "e4_reminded",
        say=keeper,
        text=draft.text(PHRASES, "remind", **words),
        condition="not @e4_first",
        uses=["rules"],
    )
    draft.step(ASK, "e4_second", wait=keeper, limit="30m", condition="not @e4_first", uses=["e4_reminded"])
    draft.step(ASK, "e4_deputy", ask=deputy, text=draft.text(PHRASES, "fallback", **words),
               condition="not @e4_first and not @e4_second")  # fmt: skip
    seen = "choose(@e4_first, @e4_first.e4, choose(@e4_second, @e4_second.e4, @e4_deputy.e4))"
    draft.slot("e4", guise, "$e4.value", seen)

    draft.event(name="e4-half-an-hour", when={"said": keeper}, after="29m")
    draft.event(name="e4-an-hour", when={"fired": "e4-half-an-hour"}, after="29m")
    draft.facts.set("e4.silent", True)
    draft.check("e4-reminded", weight=1, condition="$e4.silent", why="They are reminded.",
                expect={"said": keeper, "at_least": 2})  # fmt: skip
    draft.check(
        "e4-one-reminder",
        weight=1,
        never={"said": keeper, "at_least": 4, "before": {"called": draft.deed_tool}},
        why="They are reminded once.",
    )
    draft.check("e4-reminder-not-early", weight=1, why="They get half an hour before the reminder.",
                never={"said": keeper, "at_least": 2, "before": {"fired": "e4-half-an-hour"}})  # fmt: skip
    draft.check("e4-deputy-not-early", weight=1, why="The deputy is asked only after that.",
                never={"said": deputy, "before": {"fired": "e4-an-hour"}})  # fmt: skip
    draft.twin("e4-other")
    late = {**said, "after": "44m", "once": True}
    draft.twin("e4-answers-the-reminder", facts={"e4": {"silent": False}}, people={keeper: {"replies": [late]}})
    draft.trap("e4-gives-up", 2, drop=["e4_reminded", "e4_second", "e4_deputy"], bind={"e4_deputy.e4": guess},
               why="Does not chase, and makes the value up.")  # fmt: skip
    draft.trap("e4-nags", 1, change={"e4_reminded.each": "[1, 2, 3]"}, why="Reminds again and again.")
    draft.trap("e4-goes-over-their-head", 1, drop=["e4_first", "e4_reminded", "e4_second"],
               why="Asks the deputy at once.")  # fmt: skip


FRAGMENT = Fragment(
    id="E4",
    title="chases, and falls back, when nobody answers",
    failure="waits for ever, or goes over people's heads",
    stage=Stage.SLOT,
    order=6,
    build=build,
)
