"""F2: quantities and money by rule.

What is written is a charge: the amount of a thing times the rate of its category, less a discount above a limit, to the
cent. Rates and limit flip in a twin each.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from ..draft import LOOK, Draft, Phrases, read_off
from ..family import Pool
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Enter the charge as well, please work it out by the handbook. The rates are in {service}.",
            "There is a charge on each {entry}; the handbook says how to compute it, from the rates in {service}.",
            "The charge has to be computed, too: see the handbook, and {service} for the rates.",
            "Please calculate the charge and put it in. How that goes is in the handbook, the rates are in {service}.",
        ],
        "rule": [
            "The charge is {amount_field} times the {rate} for its {category_field} in {service}. If {amount_field} is above {limit}, take {discount} percent off the charge. Round once, at the end, to whole cents; half a cent is rounded up.",
            "To get the charge, look up the {rate} for the {category_field} in {service} and multiply {amount_field} by it. Where {amount_field} exceeds {limit} there is a rebate of {discount} percent on the result. Only then round to cents, halves up.",
            "Charge: {amount_field} multiplied by the {rate} that {service} has for its {category_field}. Anything with more than {limit} under {amount_field} gets {discount} percent off its charge. The final figure, and nothing before, is rounded to two places, halves up.",
            "We charge {amount_field} at the {rate} that {service} lists for the {category_field}. From the charge, {discount} percent are taken off when {amount_field} is over {limit} in all. Two places, rounded once and last; half a cent counts as one.",
        ],
        "percent": ["percentage", "percentage"],
        "price": ["price per unit", "unit price"],
    },
    "de": {
        "request": [
            "Trag auch die Gebühr ein und berechne sie nach dem Handbuch. Die Sätze stehen in {service}.",
            "Dazu kommt jeweils eine Gebühr; wie sie berechnet wird, sagt das Handbuch, die Sätze hat {service}.",
            "Auszurechnen ist außerdem die Gebühr: siehe Handbuch, und {service} für die Sätze.",
            "Bitte rechne die Gebühr aus und gib sie mit an. Wie das geht, steht im Handbuch, die Sätze in {service}.",
        ],
        "rule": [
            "Die Gebühr ist {amount_field} mal dem {rate}, der in {service} für {category_field} steht. Liegt {amount_field} über {limit}, gehen {discount} Prozent von der Gebühr ab. Gerundet wird einmal, am Ende, auf ganze Cent; ein halber Cent wird aufgerundet.",
            "Für die Gebühr ist {amount_field} mit dem Wert zu multiplizieren, der in {service} für {category_field} steht ({rate}). Übersteigt {amount_field} den Wert {limit}, gibt es auf das Ergebnis {discount} Prozent Nachlass. Erst dann auf Cent runden, Hälften nach oben.",
            "Gebühr: {amount_field} multipliziert mit dem, was {service} für {category_field} angibt ({rate}). Steht unter {amount_field} mehr als {limit}, sind {discount} Prozent der Gebühr erlassen. Der Endwert, und nichts davor, wird auf zwei Stellen gerundet, Hälften nach oben.",
            "Berechnet wird {amount_field} zu dem {rate}, den {service} für {category_field} nennt. Davon gehen {discount} Prozent ab, wenn {amount_field} größer als {limit} ist. Zwei Stellen, einmal und zuletzt gerundet; ein halber Cent zählt als ganzer.",
        ],
        "percent": ["Prozentsatz", "Prozentsatz"],
        "price": ["Preis je Einheit", "Stückpreis"],
    },
}  # fmt: skip
FIELD = Pool(known=("charge", "charge_due"), unseen=("levy", "toll_sum"))
RATES = [Decimal(n) / 100 for n in range(115, 975, 15)]
DISCOUNTS = (8, 12, 18, 25, 35)


def build(draft: Draft) -> None:
    facts, names = draft.facts, draft.register.names
    money = "euro" in draft.family.register.amount.about
    column, per = ("percent", 100) if money else ("price", 1)
    tariff = draft.store("tariff", {"id": {"type": "id"}, "applies_to": {"type": "text"}, column: {"type": "number"}})
    rows = _rates(draft)
    for number, row in enumerate(draft.arranged(rows, "rates")):
        record = {"id": f"{tariff.prefix}-{number * 4 + 31}", "applies_to": f"${row}.name", column: f"${row}.rate"}
        tariff.records.append(record)
    draft.limit("f2.limit", "f2-other-limit")
    facts.choose("f2.discount", DISCOUNTS)
    draft.request(PHRASES, "request", service=tariff.service)
    words = {"amount_field": names["amount"], "category_field": names["category"], "service": tariff.service}
    rate_word = draft.grammar.phrase(PHRASES[draft.origin.language][column], {})
    rule = draft.text(PHRASES, "rule", limit="${f2.limit}", discount="${f2.discount}", rate=rate_word, **words)
    article = draft.article("charges" if draft.origin.language == "en" else "gebühren", rule)
    for name in ("limit", "discount"):
        draft.step(LOOK, f"f2_{name}", calc=f"number({read_off(article, rule, f'f2.{name}')})")
    draft.step(LOOK, "f2_rates", call=f"{tariff.path}.find", args={})

    def truth(thing: Thing) -> str:
        rate = f"first(where($f2.rates as row, row.name == {thing.ref('category')})).rate"
        return _charge(thing.ref("amount"), rate, "$f2.limit", "$f2.discount", per)

    def seen(sign: str) -> str:
        rate = f"first(where(@f2_rates as row, row.applies_to {sign} it.{names['category']})).{column}"
        return _charge(f"it.{names['amount']}", rate, "@f2_limit", "@f2_discount", per)

    spec = {"type": "number", "about": "What is charged for it, in euros."}
    slot = draft.add_slot("f2", draft.name(FIELD), spec, truth, seen("=="))
    draft.twin("f2-other-rates")
    draft.twin("f2-other-limit")
    draft.trap("f2-wrong-basis", 2, change={f"deed.args.{slot.field}": f"={seen('!=')}"}, why="Takes another rate.")
    draft.trap("f2-forgets-the-discount", 2, change={"f2_discount.calc": "0"}, why="Takes nothing off.")
    draft.trap("f2-discount-for-all", 2, change={"f2_limit.calc": "0"}, why="Takes the discount off everything.")


def _charge(amount: str, rate: str, limit: str, discount: str, per: int) -> str:
    """Rounded once: `per` is 100 where the rate is a percentage."""
    return f"round({amount} * {rate} * choose({amount} > {limit}, 100 - {discount}, 100) / {per * 100}, 2)"


def _rates(draft: Draft) -> Sequence[str]:
    """Groups of facts, one for each category, with `name` and `rate`; and all of them as `f2.rates`."""
    groups = []
    for number, category in enumerate(draft.family.register.category.values):
        group = f"f2.r{number + 1}"
        draft.facts.set(f"{group}.name", category)
        draft.facts.choose(f"{group}.rate", RATES, "rate")
        draft.facts.choose(f"{group}.rate", RATES, "rate", twin="f2-other-rates")
        groups.append(group)
    draft.facts.set("f2.rates", [f"${group}" for group in groups])
    return groups


FRAGMENT = Fragment(
    id="F2",
    title="works out quantities and money by a rule",
    failure="takes the wrong basis, or slips in the arithmetic",
    stage=Stage.SLOT,
    build=build,
)
