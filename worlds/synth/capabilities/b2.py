"""B2: look the policy up, then apply it.

What is written goes by a rule of the handbook: one value above a limit, another up to it. In one twin the limit lies on
the other side of a thing, in another the values are others.
"""

from __future__ import annotations

from ..draft import LOOK, Draft, Phrases, read_off
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Fill in {the} as well, by the rule in the handbook.",
            "Each {entry} also needs {the}, and the handbook says how that is settled.",
            "What belongs in as {the} follows from the handbook.",
            "There is a rule for {the}, please apply it too.",
        ],
        "rule": [
            'If {amount_field} is above {limit}, {the} is "{above}". In all other cases it is "{upto}".',
            '{the}: "{upto}" while {amount_field} is at most {limit}, and "{above}" beyond that.',
            'For {things} with more than {limit} under {amount_field}, put in "{above}" as {the}. For the rest put in "{upto}".',
            'We use "{upto}" as {the}, but from the moment {amount_field} exceeds {limit} we use "{above}" instead.',
        ],
    },
    "de": {
        "request": [
            "Dazu gehört auch {the}; das Handbuch hat die Regel dafür.",
            "Trag außerdem {the} ein, und zwar so, wie es das Handbuch vorsieht.",
            "Was {the} angeht, gilt die Regel aus dem Handbuch.",
            "Ergänze bitte auch {the}; welche Regel dafür gilt, sagt das Handbuch.",
        ],
        "rule": [
            'Liegt {amount_field} über {limit}, gilt als {noun} "{above}". In allen anderen Fällen gilt "{upto}".',
            '{noun}: "{upto}", solange {amount_field} höchstens {limit} ist, darüber "{above}" und nichts anderes.',
            'Steht unter {amount_field} mehr als {limit}, kommt "{above}" hinein, was {the} angeht. Sonst kommt "{upto}" hinein.',
            'Als {noun} nehmen wir "{upto}", doch sobald {amount_field} den Wert {limit} übersteigt, nehmen wir "{above}" stattdessen.',
        ],
    },
}  # fmt: skip


def build(draft: Draft) -> None:
    guise = draft.guise("choice", "code", "place")
    facts, domain, words = draft.facts, draft.domain(guise), draft.called(guise)
    for name in ("above", "upto"):
        facts.choose(f"b2.{name}", domain, guise.kind)
        facts.choose(f"b2.{name}", domain, guise.kind, twin="b2-other-values")
    facts.choose("b2.guess", domain, guise.kind)
    draft.limit("b2.limit", "b2-other-limit")
    amount = draft.words["amount_field"] = draft.register.names["amount"]
    draft.request(PHRASES, "request", **words)
    rule = draft.text(PHRASES, "rule", limit="${b2.limit}", above="${b2.above}", upto="${b2.upto}", **words)
    article = draft.article(guise.noun[draft.origin.language].lower(), rule)
    for name in ("above", "upto"):
        draft.step(LOOK, f"b2_{name}", calc=read_off(article, rule, f"b2.{name}"))
    draft.step(LOOK, "b2_limit", calc=f"number({read_off(article, rule, 'b2.limit')})")

    def truth(thing: Thing) -> str:
        return f"choose({thing.ref('amount')} > $b2.limit, $b2.above, $b2.upto)"

    draft.slot("b2", guise, truth, f"choose(it.{amount} > @b2_limit, @b2_above, @b2_upto)")
    draft.twin("b2-other-values")
    draft.twin("b2-other-limit")
    guesses = {"b2_above": "$b2.guess", "b2_upto": "$b2.guess"}
    draft.trap("b2-does-not-look", 2, drop=list(guesses), bind=guesses, why="Takes what is usual elsewhere.")
    draft.trap(
        "b2-one-for-all", 2, change={"b2_above.calc": "@b2_upto"}, why="Takes the ordinary value for everything."
    )


FRAGMENT = Fragment(
    id="B2",
    title="looks the policy up, then applies it",
    failure="decides by what is usual elsewhere",
    stage=Stage.SLOT,
    build=build,
)
