"""A4: do not over-ask: act where the information can be reached by a tool.

A value goes with a team, and stands in a system that anybody can read. The requester, who would tell it as well, has
asked to be left alone with what can be looked up.
"""

from __future__ import annotations

from ..draft import LOOK, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Use {the} of {team}. And please only ask me what you cannot look up yourself.",
            "{team} bears this, so put in {the} they have. I am in a meeting: no questions that our systems can answer.",
            "It goes to {team}, with {the} that they have. Spare me what you can find out on your own.",
            "Take {the} that {team} has. If it can be found in one of the systems, don't come to me for it.",
        ],
        "ask": [
            "What is {the} of {team}?",
            "Could you tell me {the} of {team}?",
            "I need {the} of {team}, please.",
            "Do you know {the} of {team}?",
        ],
        "say": [
            "{value}, but you can see that in {service}.",
            "It says {value} in {service}, where you could have looked.",
            "That is {value}; it is all in {service}, you know.",
            "{value}. Next time have a look at {service} first.",
        ],
    },
    "de": {
        "request": [
            "Es gilt {the} von {team}. Und frag mich bitte nur, was du nicht selbst nachsehen kannst.",
            "Das läuft über {team}, trag also {the} von dort ein. Ich sitze in einer Besprechung: keine Fragen, die unsere Systeme beantworten.",
            "Es geht an {team}, gebraucht wird {the} dieses Teams. Verschone mich mit allem, was du selbst herausfindest.",
            "Nimm {the} von {team}. Was in einem der Systeme steht, danach frag mich bitte nicht.",
        ],
        "ask": [
            "Sagst du mir {the} von {team}?",
            "Nenn mir bitte {the} von {team}.",
            "Ich brauche {the} von {team}.",
            "Kennst du {the} von {team}?",
        ],
        "say": [
            "{value}, aber das steht auch in {service}.",
            "In {service} steht {value}, da hättest du nachsehen können.",
            "Das ist {value}; steht doch alles in {service}.",
            "{value}. Schau das nächste Mal zuerst in {service}.",
        ],
    },
}
TEAMS = 5


def build(draft: Draft) -> None:
    guise = draft.guise("code", "place", "quantity")
    domain, words = draft.domain(guise), draft.called(guise)
    value = draft.facts.choose("a4.value", domain, guise.kind)
    draft.facts.choose("a4.value", domain, guise.kind, twin="a4-other")
    guess = draft.facts.choose("a4.guess", domain, guise.kind)
    name, *others = draft.pick(draft.half(draft.lexicon.teams), TEAMS)
    team = draft.facts.set("a4.team", name)
    slot = draft.slot("a4", guise, "$a4.value", "@a4_value")
    field = slot.field
    teams = draft.store("teams", {"id": {"type": "id"}, "name": {"type": "text"}, field: draft.field(guise)})
    rows: list[tuple[str, str]] = [(team, value)]
    for place, other in enumerate(others[: TEAMS - 2]):
        rows.append((other, draft.facts.choose(f"a4.other{place + 1}", domain, guise.kind)))
    rows.append((others[-1], guess))
    for place, (called, has) in enumerate(draft.arranged(rows, "teams")):
        teams.records.append({"id": f"{teams.prefix}-{place * 3 + 14}", "name": called, field: has})
    draft.request(PHRASES, "request", team="${a4.team}", **words)
    say = draft.text(PHRASES, "say", value="${a4.value}", service=teams.service)
    draft.rule(draft.requester, any=draft.keywords(guise), say=say, gives={"a4": value}, after="4m")
    draft.step(LOOK, "a4_row", call=f"{teams.path}.find", args={"name": team})
    draft.step(LOOK, "a4_value", calc=f"first(@a4_row).{field}")
    draft.check("a4-not-asked", weight=2, never={"gave": f"{draft.requester}.a4", "before": {"called": draft.deed_tool}},
                why="Nobody is asked for what can be looked up.")  # fmt: skip
    draft.twin("a4-other")
    ask = draft.text(PHRASES, "ask", team="${a4.team}", **words)
    asks = {"a4_row.call": None, "a4_row.args": None, "a4_row.ask": draft.requester, "a4_row.text": ask}
    draft.trap("a4-asks", 2, change={**asks, "a4_value.calc": "@a4_row.a4"}, why="Asks for what it could look up.")
    draft.trap("a4-takes-another-teams", 2, drop=["a4_row"], bind={"a4_row": [{field: guess}]},
               why="Takes what another team has.")  # fmt: skip


FRAGMENT = Fragment(
    id="A4",
    title="looks up what can be looked up instead of asking",
    failure="interrogates the coworker",
    stage=Stage.SLOT,
    build=build,
)
