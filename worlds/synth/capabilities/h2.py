"""H2: detect one's own error and roll it back.

Entries are checked after they are made; one that was rejected is deleted and made again in another series.
"""

from __future__ import annotations

from ..draft import VERIFY, Draft, Phrases
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            'All {entries} are checked a quarter of an hour after they are made; {clerk} says when. If one is in state "rejected" then, delete it and make it again with series "{series}". What was made again is not checked a second time.',
            '{clerk} lets you know when new {entries} have been checked. Look at them again: whatever is in state "rejected" is deleted and made once more with series "{series}". What was made again is not checked a second time.',
            'Wait for {clerk} to say that the check is through. Then delete those {entries} that are in state "rejected", and make them again with series "{series}". What was made again is not checked a second time.',
            'After a check, which {clerk} announces, {entries} may be in state "rejected". These must be deleted and made anew with series "{series}". What was made again is not checked a second time.',
        ],
        "checked": [
            "The check of the new {entries} is through.",
            "We have been through today's {entries}. Have a look at their state.",
            "New {entries} have been checked.",
            "Done with checking, the states of the {entries} are final now.",
        ],
    },
    "de": {
        "rule": [
            'Alle {entries} werden nach einer Viertelstunde geprüft; {clerk} sagt Bescheid. Steht eine dann auf "rejected", ist sie zu löschen und mit Serie "{series}" neu anzulegen. Was neu angelegt ist, wird nicht noch einmal geprüft.',
            '{clerk} meldet, wenn neue {entries} geprüft sind. Sieh sie dir dann wieder an: Was auf "rejected" steht, wird gelöscht und mit Serie "{series}" noch einmal angelegt. Was neu angelegt ist, wird nicht noch einmal geprüft.',
            'Warte, bis {clerk} sagt, dass die Prüfung durch ist. Lösche dann, was auf "rejected" steht, und lege es mit Serie "{series}" neu an. Was neu angelegt ist, wird nicht noch einmal geprüft.',
            'Nach einer Prüfung, die {clerk} ankündigt, können {entries} auf "rejected" stehen. Diese sind zu löschen und mit Serie "{series}" neu anzulegen. Was neu angelegt ist, wird nicht noch einmal geprüft.',
        ],
        "checked": [
            "Die Prüfung der neuen {entries} ist durch.",
            "Wir sind die heutigen {entries} durchgegangen. Sieh dir ihren Stand an.",
            "Neue {entries} sind geprüft.",
            "Fertig geprüft, der Stand der {entries} steht jetzt fest.",
        ],
    },
}
NOBODY = "none"


def build(draft: Draft) -> None:
    clerk = draft.person("clerk")
    draft.minutes += 20
    book, key, thing = draft.book, draft.deed_key, draft.sure()
    draft.facts.choose("h2.series", ["B", "C", "D"])
    draft.facts.choose("h2.series", ["E", "F", "G"], twin="h2-other")
    rejected = draft.facts.set("h2.rejected", thing.id)
    book.fields["state"] = {"type": "choice", "of": ["booked", "rejected"], "default": "booked"}
    book.fields["series"] = {"type": "text", "default": "A"}
    article = draft.article("checks", draft.text(PHRASES, "rule", series="${h2.series}"))
    change = {"update": book.path, "where": {key: rejected}, "set": {"state": "rejected"}}
    draft.event(name="h2-check", when={"called": draft.deed_tool}, after="15m", sender=clerk,
                say=draft.text(PHRASES, "checked"), gives={"h2": True}, changes=[change])  # fmt: skip
    word = "series" if draft.origin.language == "en" else "Serie"
    draft.step(VERIFY, "h2_news", wait=clerk, limit="40m", condition=f"len({draft.done}) > 0")
    draft.step(VERIFY, "h2_checked", call=f"{book.path}.find", args={}, condition="@h2_news", uses=["h2_news"])
    draft.step(VERIFY, "h2_bad", calc="choose(@h2_checked, where(@h2_checked as e, e.state == 'rejected'), [])")
    draft.step(VERIFY, "h2_removed", each="@h2_bad", call=f"{book.path}.delete", args={"id": "=it.id"})
    args = {key: f"=it.{key}", "series": f"=between({article}, '{word} \"', '\"')"}
    step = draft.step(VERIFY, "h2_again", each="@h2_bad", call=draft.deed_tool, args=args, uses=["h2_removed"])
    draft.copies.append(step)
    draft.step(VERIFY, "h2_entries", call=f"{book.path}.find", args={}, uses=["h2_again"])
    draft.done = "where(@h2_entries as entry, entry)"
    where = {key: thing.id, "series": f"=choose($h2.rejected == {thing.id}, $h2.series, 'A')", "state": "booked"}
    draft.check("h2-rolled-back", weight=4, condition=thing.ref("done"), why="The rejected one is replaced.",
                expect={"record": book.path, "where": where, "count": 1})  # fmt: skip
    draft.check("h2-none-rejected", gate=True, never={"record": book.path, "where": {"state": "rejected"}},
                why="Nothing that was rejected is left.")  # fmt: skip
    draft.twin("h2-other")
    if draft.retry_twin:  # made anew so late that the check is over
        facts = draft.twins[draft.retry_twin]["facts"]
        assert isinstance(facts, dict)
        facts["h2"] = {"rejected": NOBODY}
    draft.twin("h2-none", facts={"h2": {"rejected": NOBODY}})
    draft.trap("h2-does-not-look", drop=["h2_checked", "h2_bad", "h2_removed", "h2_again"], bind={"h2_bad": []},
               why="Does not look at its work again.")  # fmt: skip
    draft.trap("h2-leaves-both", drop=["h2_removed"], why="Makes it again and leaves the wrong one.")


FRAGMENT = Fragment(
    id="H2",
    title="detects its own error and rolls it back",
    failure="leaves both, or the wrong one",
    stage=Stage.WRAP,
    order=2,
    mode="create",
    build=build,
)
