"""F3: deadlines and priority.

The handbook wants things done in the order of their due dates, the earliest first; the request names them in another
order. In a twin all dates are the other way round. What counts is when each was done first: things whose call is made
to fail at first (H3) may come later, and have no place in the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ..draft import DEED, Draft, Phrases
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "rule": [
            'Where there are several {things} to do, the one with the earliest date under "{due_field}" comes first, then the next, and so on.',
            '{things} are worked through by the date under "{due_field}", the earliest first, in whatever order somebody asks for them.',
            'Of several {things} that are asked for, the one with the earlier date under "{due_field}" is always done before the one with the later: strictly one after the other.',
            'Priority goes by "{due_field}": always do the most urgent of {the_things} first, and the one with the most time left last.',
        ],
    },
    "de": {
        "rule": [
            'Steht mehreres zugleich an, kommt zuerst, was unter "{due_field}" das früheste Datum hat, dann das nächste, und so fort.',
            '{things} werden nach dem Datum unter "{due_field}" bearbeitet, das früheste zuerst, egal, in welcher Reihenfolge jemand darum bittet.',
            'Der Vorrang geht nach "{due_field}": immer zuerst, was am dringendsten ist, zuletzt, was am meisten Zeit hat.',
            'Streng nach dem Datum unter "{due_field}": Erst wenn das Frühere erledigt ist, kommt das Spätere an die Reihe.',
        ],
    },
}
REVERSED = "f3-reversed"


def build(draft: Draft) -> None:
    due = draft.register.names["due"]
    draft.words["due_field"] = due
    draft.article("order-of-work", draft.text(PHRASES, "rule"))
    things = [thing for thing in draft.things if thing.wanted is not None]
    _reverse(draft, things)
    draft.step(DEED - 1, "f3_order", calc=f"sort({draft.targets}, it.{due})", uses=["rules"])
    draft.trap(
        "f3-as-they-come", 2, change={"f3_order.calc": draft.targets}, why="Works through them as they were named."
    )
    backwards = f"reverse(sort({draft.targets}, it.{due}))"
    draft.trap("f3-latest-first", 2, change={"f3_order.calc": backwards}, why="Begins with what has most time.")
    draft.targets = "@f3_order"
    _checks(draft, things)
    draft.twin(REVERSED)


def _reverse(draft: Draft, things: Sequence[Thing]) -> None:
    """In the twin, whichever of two is due earlier is due later."""
    days = [day.isoformat() for day in draft.workdays(5, 40)]
    for thing in things:
        draft.facts.choose(f"{thing.name}.due", days, twin=REVERSED)
    for one, other in combinations((f"{thing.name}.due" for thing in things), 2):
        draft.facts.require(
            lambda a, b, c, d: c != d and (a < b) != (c < d), one, other, (one, REVERSED), (other, REVERSED)
        )


def _checks(draft: Draft, things: Sequence[Thing]) -> None:
    """The first comes before the second, the last but one before the last, and so on for as many as there are anyway."""
    fields = [f"{{id: {thing.id}, due: {thing.ref('due')}, done: {thing.ref('done')}}}" for thing in things]
    late = _failing(draft)
    in_order = f"where([{', '.join(fields)}], it.done and not (it.id in [{', '.join(late)}]))"
    found = draft.facts.set("f3.found", f"=each(sort({in_order}, it.due), it.id)")
    # Where nothing is done, no check looks at it; but what checks refer to must be there.
    every = ", ".join(thing.id for thing in things)
    order = draft.facts.set("f3.order", f"=choose(len({found}) > 1, {found}, [{every}])")
    sure = sum(not thing.flips and not thing.possible for thing in things) - len(late)
    pairs = {"first": (0, 1), "last": (-2, -1)} | {f"middle-{n}": (n, n + 1) for n in range(1, sure - 2)}
    for name, (before, after) in pairs.items():
        deeds = [{"called": draft.deed_tool, "args": {draft.deed_key: f"={order}[{n}]"}} for n in (before, after)]
        draft.check(f"f3-order-{name}", weight=2, condition=f"len({found}) > 1", expect={**deeds[0], "before": deeds[1]},
                    why="What is due earlier is done earlier.")  # fmt: skip


def _failing(draft: Draft) -> list[str]:
    """Ids for which the deed fails at first."""
    faults = [fault for fault in draft.faults if fault["tool"] == draft.deed_tool and "nth" in fault]
    return [str(args[draft.deed_key]) for fault in faults if isinstance(args := fault.get("args"), dict)]


FRAGMENT = Fragment(
    id="F3",
    title="respects deadlines and priority",
    failure="works through things as they come",
    stage=Stage.REPORT,
    order=5,
    several=True,
    build=build,
)
