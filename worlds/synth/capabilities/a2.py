"""A2: notice a contradiction in what people or records say.

The request has a value and sends the agent to compare it with a mail, which has another one. The requester, asked with
both, says which is right: in the base the mail, in a twin the request.
"""

from __future__ import annotations

from ..draft import ASK, LOOK, Draft, Phrases, read_off
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "{the} should be {value}; {partner} wrote to us about it too, so compare it with the mail in {service}.",
            "Put in {value} as {the}, but hold it against the mail from {partner} in {service} first.",
            "For {the} I have {value}. Please check that against what {partner} mailed us, in {service}.",
            "As {the}, take {value}, once you have compared it with the mail in {service} that {partner} sent.",
        ],
        "rule": [
            "If two sources do not say the same, write both values to the person who gave you the job, and go by the answer.",
            "Sources that differ: never choose yourself. Whoever gave you the job decides, and has to be told both values.",
            "Where one source says this and another that, put the two values to the person you have the job from, and wait.",
            "Do not settle a difference between two sources on your own; ask the one who gave you the job, quoting both values.",
        ],
        "mail": [
            "Good morning, to confirm what we agreed: {the} is {value}, as we have it here.",
            "Hello, for your files: {value} is {the} that we have noted on our side.",
            "Dear all, we have put down {value} as {the} here, in case you need it.",
            "Hi, just so that you know, we go by {value} for {the} on our side.",
        ],
        "ask": [
            "You gave me {told} for {the}, but the mail from {partner} says {written}. Which of the two is right?",
            "For {the} I have {told} from you and {written} in the mail. Which one holds?",
            "The mail of {partner} has {written} as {the}, your message {told}. Which do I use?",
            "There are two values for {the}: {told} in your message, {written} in the mail. Which is it?",
        ],
        "say": ["{value} is right.", "Take {value}.", "It has to be {value}.", "{value} it is."],
    },
    "de": {
        "request": [
            "Für {the} gilt {value}; {partner} hat uns das auch geschrieben, vergleich es mit der Mail in {service}.",
            "Trag {value} für {the} ein, aber halte es vorher gegen die Mail von {partner} in {service}.",
            "Was {the} angeht, habe ich {value}. Bitte gleich das mit dem ab, was {partner} uns gemailt hat ({service}).",
            "Nimm {value} für {the}, sobald du es mit der Mail von {partner} in {service} verglichen hast.",
        ],
        "rule": [
            "Sagen zwei Quellen nicht dasselbe, sind beide Werte der Person zu nennen, von der der Auftrag kommt; es gilt ihre Antwort.",
            "Bei Quellen, die sich widersprechen, nie selbst entscheiden. Wer den Auftrag gab, entscheidet und muss beide Werte erfahren.",
            "Steht hier dies und dort das, sind die zwei Werte dem vorzulegen, der den Auftrag gegeben hat; dann abwarten.",
            "Unterschiede zwischen zwei Quellen klärt, wer den Auftrag gab. Nachfragen, und zwar mit beiden Werten.",
        ],
        "mail": [
            "Guten Morgen, zur Bestätigung: {noun} ist bei uns {value}, wie besprochen.",
            "Hallo, für Ihre Unterlagen: Wir führen {value} als {noun}, wenn nichts dazwischenkommt.",
            "Hallo zusammen, wir haben hier {value} als {noun} notiert, falls Sie das brauchen.",
            "Guten Tag, nur zur Kenntnis, wir gehen von {value} als {noun} aus.",
        ],
        "ask": [
            "Du hast mir {told} genannt, in der Mail von {partner} steht {written}. Es geht um {the}: Was stimmt?",
            "Was {the} angeht, habe ich {told} von dir und {written} aus der Mail. Was gilt?",
            "Die Mail von {partner} nennt {written} als {noun}, du schreibst {told}. Was nehme ich?",
            "Es gibt zwei Angaben, was {the} betrifft: {told} von dir, {written} in der Mail. Was ist richtig?",
        ],
        "say": ["{value} stimmt.", "Nimm {value}.", "Richtig ist {value}.", "Es bleibt bei {value}."],
    },
}


def build(draft: Draft) -> None:
    guise = draft.guise("code", "date", "place", "quantity")
    domain, words, requester = draft.domain(guise), draft.called(guise), draft.requester
    told, written = (draft.facts.choose(f"a2.{name}", domain, guise.kind) for name in ("told", "written"))
    draft.facts.choose("a2.written", domain, guise.kind, twin="a2-other-mail")
    mail_counts = draft.facts.set("a2.mail_counts", True)
    right = draft.facts.set("a2.right", "=choose($a2.mail_counts, $a2.written, $a2.told)")
    draft.person("partner")
    sender, noun = draft.words["partner"], guise.noun[draft.origin.language]
    text = draft.text(PHRASES, "mail", value="${a2.written}", **words)
    mailbox = draft.mail(sender, noun[:1].upper() + noun[1:], text)
    draft.request(PHRASES, "request", value="${a2.told}", service=mailbox.service, **words)
    draft.article("differences", draft.text(PHRASES, "rule"))
    draft.step(LOOK, "a2_mails", call=f"{mailbox.path}.find", args={"sender": sender})
    mail = f"first(where(@a2_mails as mail, mail.subject == '{noun[:1].upper() + noun[1:]}')).text"
    read = read_off(mail, text, "a2.written")
    draft.step(LOOK, "a2_written", calc=f"number({read})" if guise.kind == "quantity" else read)
    draft.ask(
        "a2", requester, draft.text(PHRASES, "ask", told="${a2.told}", written="@{a2_written}", **words),
        {"a2": mail_counts}, (), draft.text(PHRASES, "say", value="${a2.right}"), phase=ASK, all=[told, written],
    ).oracle["uses"] = ["rules"]  # fmt: skip
    draft.slot("a2", guise, right, f"choose(@a2_answer.a2, @a2_written, {told})")
    said = {"said": requester, "mentions": [told, written], "before": {"called": draft.deed_tool}}
    draft.check("a2-named-both", weight=2, expect=said, why="Both values are put to the requester beforehand.")
    draft.twin("a2-other-mail")
    draft.twin("a2-request-is-right", facts={"a2": {"mail_counts": False}})
    draft.trap(
        "a2-trusts-the-request", 2, drop=["a2_answer"], bind={"a2_answer.a2": False}, why="Sees no contradiction."
    )
    draft.trap("a2-trusts-the-mail", 2, drop=["a2_answer"], bind={"a2_answer.a2": True}, why="Picks the mail silently.")


FRAGMENT = Fragment(
    id="A2",
    title="notices a contradiction in what it is told",
    failure="picks one of the values silently",
    stage=Stage.SLOT,
    build=build,
)
