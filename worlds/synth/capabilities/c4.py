"""C4: spot stale data and read again.

A figure carries the day it was brought up to date. If that is not today, it has to be refreshed by whoever keeps it.
"""

from __future__ import annotations

from ..draft import ASK, LATE, LOOK, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Enter {the}, too; it is in {service}.",
            "Look {the} up in {service} and put it in.",
            "Don't forget to enter {the}, which is in {service}.",
            "You find {the} under {service}; it has to be entered as well.",
        ],
        "rule": [
            'Figures in {service} only count if their field "as_of" is today. Otherwise have {expert} refresh them, and read them again.',
            'Never use a figure of {service} that is not from today (see "as_of"): {expert} can refresh it, then read it anew.',
            'If "as_of" in {service} is not today, the figure is stale. Ask {expert} for a refresh and look again afterwards.',
            'A figure whose "as_of" lies before today has to be refreshed by {expert} first; what {service} says afterwards counts.',
        ],
        "ask": [
            "Could you refresh the figure, please?",
            "Please refresh it: {noun}.",
            "Can you refresh {the}?",
            "I need a refresh of {the}.",
        ],
        "say": ["Done, it is up to date now.", "Refreshed.", "Should be current now.", "There, brought up to date."],
    },
    "de": {
        "request": [
            "Trag auch {the} ein; das steht in {service}.",
            "Schlag {the} in {service} nach und trag das ein.",
            "Vergiss nicht, {the} einzutragen, so wie in {service}.",
            "Einzutragen ist auch {the}, nachzulesen in {service}.",
        ],
        "rule": [
            'Werte in {service} gelten nur, wenn unter "as_of" der heutige Tag steht. Sonst muss {expert} sie auffrischen, danach ist neu zu lesen.',
            'Kein Wert aus {service} ohne heutiges "as_of": {expert} kann ihn auffrischen, dann noch einmal lesen.',
            'Steht bei "as_of" in {service} nicht der heutige Tag, ist der Wert veraltet. {expert} um Auffrischung bitten und danach neu nachsehen.',
            'Liegt "as_of" vor dem heutigen Tag, muss {expert} zuerst auffrischen; es gilt, was {service} danach zeigt.',
        ],
        "ask": [
            "Kannst du das bitte auffrischen?",
            "Bitte auffrischen: {noun}.",
            "Kannst du {the} auffrischen?",
            "Ich brauche eine Auffrischung, es geht um {the}.",
        ],
        "say": ["Erledigt, ist jetzt aktuell.", "Aufgefrischt.", "Sollte jetzt stimmen.", "So, jetzt auf dem Stand."],
    },
}
WORDS = (
    "refresh", "refreshed", "refreshing", "update", "updated", "up to date", "outdated", "stale", "not from today",
    "auffrischen", "Auffrischung", "auffrischst", "frischst", "aufgefrischt", "aktualisieren", "aktualisierst", "Aktualisierung",
    "aktualisiert", "aktualisiere", "frische", "auffrische", "neuesten Stand", "veraltet", "nicht von heute",
)  # fmt: skip


def build(draft: Draft) -> None:
    guise = draft.guise("quantity", "code", "choice", "place")
    domain, words = draft.domain(guise), draft.called(guise)
    expert = draft.person("expert")
    old, _ = (draft.facts.choose(f"c4.{name}", domain, guise.kind) for name in ("old", "new"))
    draft.facts.choose("c4.new", domain, guise.kind, twin="c4-other")
    draft.facts.choose("c4.as_of", [day.isoformat() for day in draft.workdays(-9, 0)])
    draft.facts.set("today", draft.start.isoformat())
    board = draft.board()
    board.fields["as_of"] = {"type": "date", "about": "When it was brought up to date."}
    name = draft.facts.set("c4.name", guise.noun[draft.origin.language])
    board.records.append({"id": f"{board.prefix}-17", "name": name, "value": old, "as_of": "$c4.as_of"})
    draft.request(PHRASES, "request", service=f'"{board.service}"', **words)
    draft.article("figures", draft.text(PHRASES, "rule", service=f'"{board.service}"'))
    find = f"{board.path}.find"
    draft.step(LOOK, "c4_row", call=find, args={"name": name})
    stale = "first(@c4_row).as_of != $today"
    ask = draft.ask("c4", expert, draft.text(PHRASES, "ask", **words), {"c4": True}, list(WORDS),
                    draft.text(PHRASES, "say"), after="14m", phase=ASK, step="c4_refreshed")  # fmt: skip
    ask.oracle |= {"if": stale, "uses": ["rules"]}
    current = "=choose($c4.as_of == $today, $c4.old, $c4.new)"
    change = {"update": board.path, "where": {"name": name}, "set": {"value": current, "as_of": "$today"}}
    draft.event(name="c4-refresh", when={"gave": f"{expert}.c4"}, after="1s", changes=[change])
    draft.step(LATE, "c4_again", call=find, args={"name": name}, condition="@c4_refreshed", uses=["c4_refreshed"])
    draft.slot("c4", guise, "choose($c4.as_of == $today, $c4.old, $c4.new)",
               "choose(@c4_again, first(@c4_again).value, first(@c4_row).value)")  # fmt: skip
    draft.check("c4-no-needless-refresh", weight=1, condition="$c4.as_of == $today", why="What is fresh needs no refresh.",
                never={"gave": f"{expert}.c4"})  # fmt: skip
    draft.trap("c4-asks-anyway", 1, change={"c4_refreshed.if": None}, why="Has refreshed what is fresh.")
    draft.twin("c4-other")
    draft.twin("c4-fresh", facts={"c4": {"as_of": draft.start.isoformat()}})
    draft.trap("c4-uses-stale", 2, drop=["c4_refreshed", "c4_again"], why="Uses what is out of date.")
    draft.trap("c4-does-not-look-again", 2, drop=["c4_again"], why="Has it refreshed, and uses what it read before.")


FRAGMENT = Fragment(
    id="C4",
    title="spots stale data and reads it again",
    failure="acts on what it has read before",
    stage=Stage.SLOT,
    order=5,
    build=build,
)
