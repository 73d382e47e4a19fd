"""E2: wait for an asynchronous reply.

Somebody answers a question only hours later: the one who is asked anyway, or else a specialist with a value of their own.
"""

from __future__ import annotations

from ..draft import Draft, Phrases
from ..pieces import Ask, Slot
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "{planner} decides on {the}, but is out and about today, so it can take hours until you hear back.",
            "Get {the} from {planner}; answers from there take their time.",
            "You have to ask {planner} for {the}. It may take a while today.",
            "{the} comes from {planner}, who only reads messages in the breaks.",
        ],
        "slow": [
            "I'm in meetings today, so my answers may take hours.",
            "Don't be surprised if I only answer in the afternoon.",
            "If you ask me something, it may take me half a day to reply.",
            "I'm slow to answer today, sorry in advance.",
        ],
        "ask": [
            "What is {the} to be?",
            "Please let me know {the}.",
            "Could you settle {the} for me?",
            "I need {the} from you.",
        ],
        "say": [
            "Sorry for the delay. {value}.",
            "Only just saw this: {value}.",
            "Late, but here it is: {value}.",
            "It is {value}.",
        ],
    },
    "de": {
        "request": [
            "Über {the} entscheidet {planner}; dort ist heute viel los, eine Antwort kann Stunden dauern.",
            "Frag {planner} nach dieser Angabe: {noun}. Antworten von dort brauchen ihre Zeit.",
            "Bei {planner} musst du noch etwas erfragen, nämlich {the}. Heute dauert das etwas.",
            "Was {the} angeht, fragst du {planner}; Nachrichten werden dort nur in den Pausen gelesen.",
        ],
        "slow": [
            "Ich bin heute in Besprechungen, Antworten können Stunden dauern.",
            "Wundere dich nicht, wenn ich erst am Nachmittag antworte.",
            "Wenn du mich etwas fragst, kann es einen halben Tag dauern.",
            "Ich antworte heute langsam, entschuldige schon mal.",
        ],
        "ask": [
            "Was gilt als {noun}?",
            "Bitte nenn mir {the}.",
            "Legst du für mich {the} fest?",
            "Ich brauche von dir {the}.",
        ],
        "say": [
            "Entschuldige, dass es gedauert hat. {value}.",
            "Gerade erst gesehen: {value}.",
            "Spät, aber hier: {value}.",
            "Es ist {value}.",
        ],
    },
}
DELAY = "2h40m"
IMPATIENT = "9m"


def build(draft: Draft) -> None:
    draft.minutes += 170
    found = next(
        (
            (ask, slot)
            for ask in draft.asks
            for slot in draft.slots
            if slot.seen.startswith(f"@{ask.step}.") and slot.guise is not None and "if" not in ask.oracle
        ),
        None,
    )
    ask, slot = found or _own(draft)
    ask.reply["after"] = DELAY
    if found:
        draft.details.append(draft.text(PHRASES, "slow")) if ask.person == draft.requester else _warn(draft, ask)
    assert slot.guise is not None
    guess = draft.facts.choose("e2.guess", draft.domain(slot.guise), slot.guise.kind)
    given = f"{ask.person}.{ask.gives[0]}"
    draft.check("e2-waited", weight=2, expect={"gave": given, "before": {"called": draft.deed_tool}},
                why="The answer was waited for.")  # fmt: skip
    draft.check("e2-no-polling", weight=1, never={"said": ask.person, "at_least": 5, "before": {"gave": given}},
                why="Nobody is asked again and again.")  # fmt: skip
    polls = {f"{ask.step}.each": "[1, 2, 3, 4, 5, 6]", f"{ask.step}.limit": "10m"}
    draft.trap("e2-keeps-asking", 1, change=polls, why="Asks again every ten minutes.")
    draft.trap("e2-impatient", 2, change={f"{ask.step}.limit": IMPATIENT, f"deed.args.{slot.field}": guess},
               why="Waits some minutes, then makes the value up.")  # fmt: skip


def _own(draft: Draft) -> tuple[Ask, Slot]:
    guise = draft.guise("code", "place", "choice", "quantity")
    planner = draft.person("planner")
    value = draft.facts.choose("e2.value", draft.domain(guise), guise.kind)
    draft.facts.choose("e2.value", draft.domain(guise), guise.kind, twin="e2-other")
    draft.twin("e2-other")
    words = draft.called(guise)
    draft.request(PHRASES, "request", **words)
    ask = draft.ask("e2", planner, draft.text(PHRASES, "ask", **words), {"e2": value}, draft.keywords(guise),
                    draft.text(PHRASES, "say", value="${e2.value}"), tells="slow")  # fmt: skip
    return ask, draft.slot("e2", guise, "$e2.value", "@e2_answer.e2")


def _warn(draft: Draft, ask: Ask) -> None:
    """Others say it themselves, at the start."""
    draft.rule(ask.person, say=draft.text(PHRASES, "slow"), gives={"e2": True}, tells="volunteers", after="10s")


FRAGMENT = Fragment(
    id="E2",
    title="waits for a reply that comes much later",
    failure="goes on without it, or keeps asking",
    stage=Stage.WRAP,
    order=1,
    build=build,
)
