"""C3: reconcile sources that disagree.

A ledger has the same things with amounts of its own. The job is only about those where the two amounts differ, and the
report names both for each; where they agree nothing happens. In a twin another one differs.
"""

from __future__ import annotations

from ....events.event import Json
from ..draft import FILTER, Draft, Phrases
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            'Only those are due whose figure under "{amount_field}" in {register} is not yet the one in {service}; where they agree, nothing is left to do. Give me both figures for each number that differs.',
            'Compare with {service} first: where it has the same figure under "{amount_field}" as {register}, there is nothing to do. Only the others are left; list these for me, number and both figures.',
            'Not all of them are due: where {service} has the same figure under "{amount_field}" as {register}, leave it alone. Send me each number that is still off, with the one figure and the other.',
            'Whatever has the same figure under "{amount_field}" in {register} and in {service} is in order, so leave it. The job is about the others; I need their numbers with both figures.',
        ],
        "differ": ["These differ: {list}.", "The figures diverge for {list}.", "There is a difference in {list}.", "Off are {list}."],
    },
    "de": {
        "request": [
            'Fällig ist es nur, wo unter "{amount_field}" in {register} noch nicht derselbe Wert steht wie in {service}; wo beide gleich sind, ist nichts zu tun. Nenn mir zu jeder Nummer mit Abweichung beide Werte.',
            'Vergleiche vorher mit {service}: Was dort unter "{amount_field}" denselben Wert hat wie in {register}, da ist nichts zu tun. Liste mir den Rest auf, Nummer und beide Werte.',
            'Nicht alles ist fällig: Wo {service} denselben Wert unter "{amount_field}" hat wie {register}, lässt du es. Schick mir jede Nummer, bei der es noch nicht stimmt, mit dem einen und dem anderen Wert.',
            'Was in {register} und in {service} denselben Wert unter "{amount_field}" hat, ist in Ordnung und bleibt, wie es ist. Um die anderen geht es; ich brauche ihre Nummern mit beiden Werten.',
        ],
        "differ": ["Diese weichen ab: {list}.", "Auseinander geht es bei {list}.", "Einen Unterschied gibt es bei {list}.", "Abweichungen: {list}."],
    },
}  # fmt: skip
MARGIN = 1
"""By how much figures that differ do so at least."""


def build(draft: Draft) -> None:
    amount = draft.register.names["amount"]
    fields: dict[str, dict[str, Json]] = {"id": {"type": "id"}, "number": {"type": "id", "about": "Whose it is."},
                                          amount: draft.register.fields[amount]}  # fmt: skip
    ledger = draft.store("ledger", fields)
    draft.request(PHRASES, "request", amount_field=amount, register=draft.register.service, service=ledger.service)
    things = [thing for thing in draft.things if thing.wanted is not None]
    agreeing = [thing for thing in things if not thing.flips][-3:-1]
    lines = [_line(draft, thing, thing in agreeing[:1], thing in agreeing, amount) for thing in things]
    ledger.records += [{"id": f"{ledger.prefix}-{place * 3 + 410}", **line}
                       for place, line in enumerate(draft.arranged(lines, "ledger"))]  # fmt: skip
    one, other = (thing.name for thing in agreeing)
    draft.twin("c3-other", facts={"c3": {one: {"differs": True}, other: {"differs": False}}})
    _steps(draft, ledger.path, amount)


def _line(draft: Draft, thing: Thing, agrees: bool, flips: bool, amount: str) -> dict[str, Json]:
    """What the ledger has of a thing; and what follows from it: whether the job is about it, and what is reported."""
    low, high = draft.family.register.amount.low, draft.family.register.amount.high
    name, known = f"c3.{thing.name}", thing.ref("amount")
    draft.facts.choose(f"{name}.other", draft.amounts(low, high), "number")
    draft.facts.require(lambda a, b: abs(a - b) >= MARGIN, f"{name}.other", f"{thing.name}.amount")
    assert thing.wanted is not None
    if flips:
        thing.flips = True
        thing.wanted.append(draft.facts.set(f"{name}.differs", not agrees))
        booked = draft.facts.set(f"{name}.booked", f"=choose(${name}.differs, ${name}.other, {known})")
    else:
        booked = f"${name}.other"
    condition = " and ".join(f"({part})" for part in thing.wanted) or None
    draft.check(f"c3-reported-{thing.name}", weight=2, condition=condition, why="The difference is reported.",
                expect={"said": draft.requester, "mentions": [thing.id, known, booked]})  # fmt: skip
    return {"number": thing.id, amount: booked}


def _steps(draft: Draft, path: str, amount: str) -> None:
    before = draft.targets
    draft.step(FILTER, "c3_lines", call=f"{path}.find", args={})
    booked = f"first(where(@c3_lines as line, line.number == t.id)).{amount}"
    draft.step(FILTER, "c3_kept", calc=f"where({before} as t, t.{amount} != {booked})")
    draft.targets = "@c3_kept"
    shown = f"t.id + ' (' + text(t.{amount}) + ' / ' + text({booked}) + ')'"
    said = draft.text(PHRASES, "differ", list=f"@{{=join(each(@c3_kept as t, {shown}), ', ')}}")
    draft.step(FILTER, "c3_said", ask=draft.requester, text=said, condition="len(@c3_kept) > 0")
    draft.trap("c3-does-not-compare", change={"c3_kept.calc": before}, why="Does not look whether they agree.")
    draft.trap("c3-misses-some", 2, change={"c3_kept.calc": f"[first(where({before} as t, t.{amount} != {booked}))]"},
               why="Stops at the first difference.")  # fmt: skip
    draft.trap("c3-reports-no-figures", 2, drop=["c3_said"], why="Keeps the differences to itself.")


FRAGMENT = Fragment(
    id="C3",
    title="reconciles sources that disagree",
    failure="misses a difference, or sees one where there is none",
    stage=Stage.FILTER,
    order=-5,
    several=True,
    build=build,
)
