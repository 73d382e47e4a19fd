"""Mistakes in what an agent reads, hears and works out.

Knows mistakes as the definitions of the capabilities describe them. Does not know the checks of any environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec

from ....events.event import Json
from ...environment import Step
from ...expressions import Node, parse, write
from ...syntax import Binary, Call, Index, ListOf, Literal, Name
from .altering import asks, believing, by_expression, by_label, evaluated, reads, shown
from .mutants import Mutant, mutant
from .scenes import Scene, arguments
from .traces import Taken

_STRICT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_PAGING = frozenset({"page", "next", "cursor", "offset", "after"})


# --- what is read ------------------------------------------------------------------------------------------


def knows_it_from_elsewhere(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What the handbook or a system says is not read but remembered, from another case where it was otherwise."""
    usual = by_label(base)
    for taken in reads(scene):
        name = taken.step.name
        known = usual.get(taken.label)
        if name is not None and known is not None and known.value not in (None, taken.value):
            steps = scene.replaced(taken.place)
            yield mutant(scene, "knows-it-from-elsewhere", taken, steps, seen={name: known.value})


def stops_at_the_first_page(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What a system was asked again, for the next page or for something else, is taken to be nothing."""
    called: dict[str, list[object]] = {}
    for taken in reads(scene):
        assert taken.step.call is not None
        before, given = called.setdefault(taken.step.call, []), arguments(taken)
        again = bool(before) and given not in before
        before.append(given)
        if again and taken.step.name is not None:
            steps = scene.replaced(taken.place)
            nothing = _nothing(taken.value)
            yield mutant(scene, "stops-at-the-first-page", taken, steps, seen={taken.step.name: nothing})


def _nothing(value: Json) -> Json:
    if isinstance(value, list):
        return []
    if isinstance(value, dict) and any(isinstance(item, list) for item in value.values()):
        kept = {key: [] if isinstance(item, list) else item for key, item in value.items()}
        return {key: None if key in _PAGING else item for key, item in kept.items()}
    return None


def misses_the_last_hit(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of several records that were found, the last is overlooked."""
    for taken in reads(scene):
        shorter = _shorter(taken.value)
        if taken.step.name is not None and taken.step.each is None and shorter is not None:
            steps = scene.replaced(taken.place, *believing(taken, shorter))
            yield mutant(scene, "misses-the-last-hit", taken, steps)


def _shorter(value: Json) -> Json:
    if isinstance(value, list):
        return value[:-1] if len(value) > 1 else None
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, list) and len(item) > 1:
                return {**value, key: item[:-1]}
    return None


def uses_the_first_reading(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What was read again, and had changed, is taken to be as it was."""
    earlier: list[Taken] = []
    for taken in reads(scene):
        for other in earlier:
            same = other.step.call == taken.step.call and arguments(other) == arguments(taken)
            if same and taken.step.name is not None and taken.value != other.value:
                stale = Step(name=taken.step.name, calc=f"@{other.step.name}")
                yield mutant(scene, "uses-the-first-reading", taken, scene.replaced(taken.place, stale))
                break
        if taken.step.name is not None:
            earlier.append(taken)


def reads_too_soon(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What should be read after an answer, or after time has passed, is read before, and so as it was then."""
    for taken in reads(scene):
        needed = [scene.places[name] for name in scene.depends[taken.label] if name in scene.places]
        place = max(needed, default=-1) + 1
        between = scene.taken[place : taken.place]
        if any(other.step.wait or (other.done and not scene.reads(other.step)) for other in between):
            steps = list(scene.replaced(taken.place))
            steps.insert(place, taken.step)
            yield mutant(scene, "reads-too-soon", taken, steps)


# --- which of several --------------------------------------------------------------------------------------


def takes_the_first_hit(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of several that look alike the first is taken, without looking for the one that is meant."""

    def change(node: Node) -> Iterator[Node]:
        match node:
            case Call("first" | "last", (Call("where", (found, _)),)):
                yield Call("first", (found,))
            case Index(Call("where", (found, _)), _):
                yield Call("first", (found,))

    return by_expression(scene, "takes-the-first-hit", change)


def follows_the_older_text(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of several the wrong end is taken: the oldest for the newest, the largest for the smallest."""
    other = {"first": "last", "last": "first", "max": "min", "min": "max"}

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function in other:
            yield Call(other[node.function], node.arguments)

    return by_expression(scene, "follows-the-older-text", change)


def takes_the_other_branch(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What holds in one case is done in all: the rule without its exception, or the exception always."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "choose":
            yield node.arguments[1]
            yield node.arguments[2]

    return by_expression(scene, "takes-the-other-branch", change)


def is_wrong_at_the_limit(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What is exactly at a limit is taken to be on the other side of it."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Binary) and node.operator in _STRICT:
            yield Binary(_STRICT[node.operator], node.left, node.right)

    return by_expression(scene, "is-wrong-at-the-limit", change)


def applies_the_rule_to_all(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """What a rule excepts is treated like the rest: nothing is filtered, and nothing keeps a step from being done."""

    def change(node: Node) -> Iterator[Node]:
        match node:
            case Call(function, (Call("where", (found, _)), *rest), item) if function not in ("first", "last"):
                yield Call(function, (found, *rest), item)

    yield from by_expression(scene, "applies-the-rule-to-all", change)
    for taken in scene.taken:
        step = taken.step
        for field, key in (("calc", "all"), ("each", "each")):
            text = getattr(step, field)
            node = None if text is None else parse(text)
            if isinstance(node, Call) and node.function == "where":
                wider = msgspec.structs.replace(step, **{field: write(node.arguments[0])})
                yield mutant(scene, "applies-the-rule-to-all", taken, scene.replaced(taken.place, wider), part=key)
        if step.call is not None and not scene.reads(step) and step.condition is not None:
            always = msgspec.structs.replace(step, condition=None)
            yield mutant(scene, "applies-the-rule-to-all", taken, scene.replaced(taken.place, always), part="always")


# --- what is worked out ------------------------------------------------------------------------------------


def converts_no_time_zone(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A time of one zone is taken for one of another, or converted the wrong way round."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "in_zone":
            time, there, here = node.arguments
            yield time
            yield Call("in_zone", (time, here, there))

    return by_expression(scene, "converts-no-time-zone", change)


def counts_weekends(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Days are counted where working days should be."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "workday_add":
            day, number = node.arguments
            yield Call("date_add", (day, Binary("+", Call("text", (number,)), Literal("d"))))

    return by_expression(scene, "counts-weekends", change)


def rounds_before_summing(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Amounts are rounded to whole ones before they are summed."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "sum":
            rounded = Call("round", (Name("one"),))
            yield Call("sum", (Call("each", (node.arguments[0], rounded), "one"),))

    return by_expression(scene, "rounds-before-summing", change)


def forgets_a_term(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A sum, a difference, a product or a quotient is left at its first term: a fee, a rate, what is there already."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Binary) and node.operator in "+-*/":
            yield node.left

    return by_expression(scene, "forgets-a-term", change)


def is_first_come_first_served(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Things are taken as they came, not in the order of what is due."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "sort":
            yield node.arguments[0]

    return by_expression(scene, "is-first-come-first-served", change)


def leaves_one_out_of_the_list(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A list in a report, or in a text that is written, lacks its last item."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "join":
            listed, sign = node.arguments
            kept = Call("where", (listed, Binary("!=", Name("one"), Call("last", (listed,)))), "one")
            yield Call("join", (kept, sign))

    return by_expression(scene, "leaves-one-out-of-the-list", change)


def flags_a_clean_row(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A list in a report, or in a text that is written, has one more of its kind, which does not belong there."""

    def change(node: Node) -> Iterator[Node]:
        if isinstance(node, Call) and node.function == "join":
            other = _another(scene, evaluated(scene, node.arguments[0]))
            if other is not None:
                longer = Binary("+", node.arguments[0], ListOf((Literal(other),)))
                yield Call("join", (longer, node.arguments[1]))

    return by_expression(scene, "flags-a-clean-row", change)


def _another(scene: Scene, listed: Json) -> Json:
    """Another value of the column that has all of these; null where there is none."""
    if not isinstance(listed, list) or not listed:
        return None
    for rows in scene.tables.values():
        for field in dict.fromkeys(field for row in rows for field in row):
            column = [row[field] for row in rows if row.get(field) is not None]
            if all(item in column for item in listed):
                return next((item for item in column if item not in listed), None)
    return None


# --- what is heard -----------------------------------------------------------------------------------------


def guesses_instead_of_asking(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Nobody is asked: what was answered in another case is taken for granted."""
    usual = by_label(base)
    for taken in asks(scene):
        known = usual.get(taken.label)
        if known is not None and known.value is not None:
            seen: Mapping[str, Json] = {str(taken.step.name): known.value}
            yield mutant(scene, "guesses-instead-of-asking", taken, scene.replaced(taken.place), seen=seen)


def picks_silently(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """Of two values that contradict each other the wrong one is taken, or their mean, and nobody is asked."""
    for taken in asks(scene):
        value = taken.value
        if not isinstance(value, dict):
            continue
        numbers = [item for item in dict.fromkeys(shown(scene, taken.step)) if _is_number(item)]
        texts = [item for item in dict.fromkeys(shown(scene, taken.step)) if isinstance(item, str)]
        for kind, pair in (("number", numbers), ("text", texts)):
            if len(pair) != 2:
                continue
            wrong = {slot: pair[1 - pair.index(given)] for slot, given in value.items() if given in pair}
            if wrong:
                seen = {str(taken.step.name): {**value, **wrong}}
                yield mutant(scene, "picks-silently", taken, scene.replaced(taken.place), part=kind, seen=seen)
            if wrong and kind == "number":
                mean = sum(map(Decimal, numbers)) / 2
                seen = {str(taken.step.name): {**value, **dict.fromkeys(wrong, mean)}}
                yield mutant(scene, "picks-silently", taken, scene.replaced(taken.place), part="mean", seen=seen)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def mistakes_the_answer(scene: Scene, base: Scene) -> Iterator[Mutant]:
    """A no is taken for a yes, or a yes for a no."""
    for taken in asks(scene):
        if isinstance(taken.value, dict):
            flipped = {slot: not given for slot, given in taken.value.items() if isinstance(given, bool)}
            if flipped:
                steps = scene.replaced(taken.place, *believing(taken, {**taken.value, **flipped}))
                yield mutant(scene, "mistakes-the-answer", taken, steps)
