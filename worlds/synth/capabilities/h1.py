"""H1: a batch with exceptions.

A rule excepts things with a certain mark; the mark is a field of the register.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....events.event import Json
from ..draft import FILTER, NO_WORDS, REPORT, Draft, Phrases
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            'Leave out {things} whose {field} says "{hold}"; they stay as they are.',
            'Whatever has "{hold}" under {field} is not touched.',
            'No {entries} for {things} that are marked "{hold}" in {field}.',
            '{things} with "{hold}" in the field {field} are an exception: do nothing about them.',
        ],
        "left": [
            "If something has to be left out, say so with its number.",
            "Let me also know the numbers of any that you left out.",
            "Should there be exceptions, I want to hear their numbers too.",
            "Also tell me which numbers were skipped, if any.",
        ],
        "out": [
            "Left out: {ids}.",
            "These were left out: {ids}.",
            "I left out {ids}, by the handbook.",
            "Skipped, as the handbook says: {ids}.",
        ],
    },
    "de": {
        "rule": [
            'Ausgenommen ist alles, bei dem unter {field} "{hold}" steht; das bleibt, wie es ist.',
            'Was unter {field} "{hold}" stehen hat, wird nicht angefasst.',
            'Keine {entries}, wenn in {field} "{hold}" vermerkt ist.',
            '{things} mit "{hold}" im Feld {field} sind eine Ausnahme: da geschieht nichts.',
        ],
        "left": [
            "Wenn etwas auszulassen ist, sag das mit der Nummer.",
            "Sag mir auch, welche Nummern du ausgelassen hast, falls es welche gibt.",
            "Sollte es Ausnahmen geben, will ich auch deren Nummern wissen.",
            "Nenn mir auch die Nummern, die du übergangen hast, falls nötig.",
        ],
        "out": [
            "Ausgelassen: {ids}.",
            "Ausgelassen wurde: {ids}.",
            "Ausgenommen ist nach dem Handbuch {ids}.",
            "Ausgelassen, wie es im Handbuch steht: {ids}.",
        ],
    },
}
LEFT = (*NO_WORDS, "left out", "left", "skipped", "excluded", "except", "held", "untouched", "exception", "exempt",
        "ausgenommen", "ausgelassen", "weggelassen", "Ausnahme", "außer", "zurückgestellt", "liegen gelassen", "exceptions", "hold", "on hold", "stays", "stay", "remains", "remain", "exempted",
    "bleibt", "bleiben", "Ausnahmen", "gesperrt", "unverändert", "unchanged")  # fmt: skip
"""By these words it is understood that something was not done."""
FIELDS = ("mark", "flag", "remark", "note_code")
MARKS = ("hold", "disputed", "sealed", "parked", "embargo", "frozen")
USUAL = ("clear", "normal", "open", "fine")


def build(draft: Draft) -> None:
    [field] = draft.pick(FIELDS, 1)
    [hold], [usual] = draft.pick(MARKS, 1), draft.pick(USUAL, 1)
    draft.facts.set("h1.hold", hold)
    draft.facts.set("h1.usual", usual)
    draft.column(field, {"type": "text"}, lambda thing: "$h1.usual")
    chosen = [thing for thing in draft.things if thing.wanted is not None and not thing.flips]
    for thing in chosen[-2:]:
        draft.facts.set(f"{thing.name}.mark", "$h1.usual")
        thing.values[field] = thing.ref("mark")
        thing.flips = True
        assert thing.wanted is not None
        thing.wanted.append(f"{thing.ref('mark')} != $h1.hold")
    last, before = chosen[-1], chosen[-2]
    draft.facts.set(f"{last.name}.mark", "$h1.hold")
    rule = draft.article("exceptions", draft.text(PHRASES, "rule", field=field, hold="${h1.hold}"))
    marked = f"between({rule}, '\"', '\"')"
    draft.step(FILTER, "h1_mark", calc=marked)
    left = f"where({draft.targets} as t, t.{field} == @h1_mark)"
    draft.step(FILTER, "h1_kept", calc=f"where({draft.targets} as t, t.{field} != @h1_mark)")
    draft.targets = "@h1_kept"
    elsewhere = [mention for check in draft.checks.values() for mention in _mentioned(check)]
    untold = [thing for thing in (before, last) if thing.id not in elsewhere]
    if untold:  # else it is said anyway, and nobody could tell whether it was said for this
        _tell(draft, left, untold)
    draft.twin("h1-other", facts={last.name: {"mark": "$h1.usual"}, before.name: {"mark": "$h1.hold"}})
    draft.trap("h1-takes-all", change={"h1_kept.calc": "@targets"}, why="Applies the rule to all.")


def _tell(draft: Draft, left: str, things: Sequence[Thing]) -> None:
    """The requester hears what was left out. `left` is an expression for it."""
    draft.request(PHRASES, "left")
    text = draft.text(PHRASES, "out", ids=f"@{{=join(each({left}, it.id), ', ')}}")
    draft.step(REPORT - 2, "h1_left", say=draft.requester, text=text, condition=f"len({left}) > 0")
    for thing in things:
        said = {"said": draft.requester, "mentions": [thing.id], "any": LEFT}
        draft.check(f"h1-left-{thing.name}", weight=1, condition=f"{thing.ref('mark')} == $h1.hold", expect=said,
                    why="It is said what was left out.")  # fmt: skip


def _mentioned(check: Mapping[str, Json]) -> Sequence[Json]:
    expect = check.get("expect")
    return expect.get("mentions", ()) if isinstance(expect, dict) else ()


FRAGMENT = Fragment(
    id="H1",
    title="handles a batch with its exceptions",
    failure="applies the rule to all",
    stage=Stage.FILTER,
    several=True,
    build=build,
)
