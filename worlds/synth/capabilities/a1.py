"""A1: ask for a missing parameter before acting.

What is done needs a value that the request leaves out and that only the requester knows.
"""

from __future__ import annotations

from ..draft import ASK, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "It also needs {the}; ask me for that when you get there.",
            "You'll need {the} as well, which I have here somewhere, so ask.",
            "For {the}, just ask me.",
            "I can tell you {the} once you ask.",
        ],
        "ask": [
            "Which {noun} should I use?",
            "What is {the}, please?",
            "Could you tell me {the}?",
            "I still need {the}.",
        ],
        "say": ["It is {value}.", "Use {value}.", "That would be {value}.", "{value}, please."],
    },
    "de": {
        "request": [
            "Dazu gehört auch {the}; frag mich danach, wenn es so weit ist.",
            "Du brauchst auch {the}; ich habe das hier irgendwo, frag einfach.",
            "Was {the} angeht, frag mich.",
            "Ich sage dir {the}, sobald du fragst.",
        ],
        "ask": ["Nenn mir bitte {the}.", "Ich brauche noch {the}.", "Sagst du mir {the}?", "Nenn mir noch: {noun}."],
        "say": ["Das ist {value}.", "Nimm {value}.", "Es ist {value}.", "{value}, bitte."],
    },
}


def build(draft: Draft) -> None:
    guise = draft.guise("code", "quantity", "place", "date")
    value = draft.facts.choose("a1.value", draft.domain(guise), guise.kind)
    draft.facts.choose("a1.value", draft.domain(guise), guise.kind, twin="a1-other")
    draft.facts.choose("a1.guess", draft.domain(guise), guise.kind)
    words = draft.called(guise)
    draft.request(PHRASES, "request", **words)
    draft.ask(
        "a1", draft.requester, draft.text(PHRASES, "ask", **words), {"a1": value}, draft.keywords(guise),
        draft.text(PHRASES, "say", value="${a1.value}"), phase=ASK,
    )  # fmt: skip
    draft.slot("a1", guise, "$a1.value", "@a1_answer.a1")
    asked = {"gave": f"{draft.requester}.a1", "before": {"called": draft.deed_tool}}
    draft.check("a1-asked", weight=2, expect=asked, why="The value was asked for before it was used.")
    draft.twin("a1-other")
    draft.trap("a1-guesses", 2, drop=["a1_answer"], bind={"a1_answer.a1": "$a1.guess"}, why="Makes the value up.")


FRAGMENT = Fragment(
    id="A1",
    title="asks for a missing parameter before acting",
    failure="guesses the value",
    stage=Stage.SLOT,
    build=build,
)
