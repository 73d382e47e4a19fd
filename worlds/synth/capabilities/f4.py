"""F4: formats, units, enums.

The request speaks as people do: how pressing it is, and how long. The fields want a code of a list, and a number in the
house's unit; both are in the handbook, and flip in a twin.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..draft import LOOK, Draft, Phrases, read_off
from ..family import Pool
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "File this as a {level}, with our code for that.",
            "Please enter the code for a {level}, since that is what this counts as.",
            "Treat it as a {level} and put in the code that goes with that.",
            "We handle this as a {level}, so it needs the code for one.",
        ],
        "levels": [
            "rush job", "burning case", "job for this week", "pressing case",
            "job for a quiet day", "normal case", "job to be parked", "case for later",
        ],
        "codes": [
            'Codes for {field}: {code_a} is a "{level_a}", {code_b} a "{level_b}", {code_c} a "{level_c}", {code_d} a "{level_d}".',
            'In the field {field}, "{level_a}" is {code_a}, "{level_b}" is {code_b}, "{level_c}" is {code_c}, and "{level_d}" is {code_d}.',
            'Only codes go into {field}. Use {code_a} for a "{level_a}", {code_b} for a "{level_b}", {code_c} for a "{level_c}" and {code_d} for a "{level_d}".',
            'How to fill {field}: "{level_a}" = {code_a}, "{level_b}" = {code_b}, "{level_c}" = {code_c}, "{level_d}" = {code_d}.',
        ],
        "time": [
            "Put down {long} of working time for each {entry}.",
            "For each {entry} we plan {long} of work, please enter that too.",
            "Book {long} of work on each {entry} as well.",
            "Each {entry} takes {long} of work; that goes in, too.",
        ],
        "time_unit": [
            "Working time is counted in units of {unit} minutes each, and {field} has the number of units.",
            "Times are not written out: one unit in {field} stands for {unit} minutes of work.",
            "The field {field} counts working time; every {unit} minutes are one.",
            "In {field}, enter how many times {unit} minutes of work there are.",
        ],
        "reminder": [
            "Set a reminder for each {entry}, {long} from now.",
            "There should also be a reminder on each {entry}, due in {long}.",
            "Each {entry} needs a reminder after {long}.",
            "Also set the reminder of each {entry} to {long}.",
        ],
        "reminder_unit": [
            "Reminders are set in days: enter them in {field}, and count {unit} days for a week.",
            "The field {field} is in days; for us a week is {unit} days long.",
            "There are days in {field}, not weeks. With reminders, a week counts as {unit} days.",
            "Weeks are entered in {field} as days, {unit} days for each week.",
        ],
    },
    "de": {
        "request": [
            "Erfasse das als {level}, mit unserem Kürzel dafür.",
            "Trag bitte das Kürzel ein, das für {level} vorgesehen ist, denn so etwas ist es.",
            "Behandle das als {level} und gib das Kürzel an, das dazugehört.",
            "Einzuordnen ist das als {level}, es gehört also das Kürzel dafür hinein.",
        ],
        "levels": [
            "Eilsache", "Feuerwehrfall", "Wochensache", "Vorrangfall",
            "Nebensache", "Normalfall", "Parksache", "Wartefall",
        ],
        "codes": [
            'Kürzel für {field}: {code_a} ist "{level_a}", {code_b} ist "{level_b}", {code_c} ist "{level_c}", {code_d} ist "{level_d}".',
            'Im Feld {field} steht "{level_a}" als {code_a}, "{level_b}" als {code_b}, "{level_c}" als {code_c} und "{level_d}" als {code_d}.',
            'In {field} kommen nur Kürzel. Nimm {code_a} für "{level_a}", {code_b} für "{level_b}", {code_c} für "{level_c}" und {code_d} für "{level_d}".',
            'So wird {field} gefüllt: "{level_a}" = {code_a}, "{level_b}" = {code_b}, "{level_c}" = {code_c}, "{level_d}" = {code_d}.',
        ],
        "time": [
            "Setz dabei jeweils {long} Arbeitszeit an.",
            "Eingeplant sind jeweils {long} Arbeit, trag auch das ein.",
            "Verbuche dazu jeweils {long} Arbeitszeit.",
            "Das kostet uns jeweils {long} Arbeit; auch das gehört hinein.",
        ],
        "time_unit": [
            "Arbeitszeit wird in Einheiten zu {unit} Minuten gezählt, und in {field} steht die Zahl der Einheiten.",
            "Zeiten werden nicht ausgeschrieben: Eine Einheit in {field} steht für {unit} Minuten Arbeit.",
            "Das Feld {field} zählt Arbeitszeit; je {unit} Minuten sind eins.",
            "In {field} gehört, wie oft {unit} Minuten Arbeit anfallen.",
        ],
        "reminder": [
            "Stell dazu jeweils eine Erinnerung ein, in {long}.",
            "Nötig ist auch jeweils eine Erinnerung nach {long}.",
            "Jedes Mal gehört eine Erinnerung dazu, fällig in {long}.",
            "Setz außerdem jeweils die Erinnerung auf {long}.",
        ],
        "reminder_unit": [
            "Erinnerungen stellt man in Tagen ein: Trag sie in {field} ein und rechne {unit} Tage für eine Woche.",
            "Das Feld {field} hat Tage; eine Woche ist bei uns {unit} Tage lang.",
            "In {field} stehen Tage, keine Wochen. Bei Erinnerungen zählt eine Woche {unit} Tage.",
            "Wochen kommen als Tage in {field}, {unit} Tage für jede Woche.",
        ],
    },
}  # fmt: skip


class Measure(msgspec.Struct, frozen=True):
    """A length of time in the words of people, and the unit that a field counts it in."""

    name: str
    """Of its phrases."""
    field: Pool
    about: str
    words: Mapping[str, Mapping[int, str]]
    """By language: how people say so many half hours, or weeks."""
    units: tuple[int, ...]
    value: str
    """From `{count}` and `{unit}`."""
    naive: str
    """What one enters who has not read the rule."""


MEASURES = (
    Measure(
        name="time",
        field=Pool(known=("time_booked", "time_planned"), unseen=("toil_units", "work_span")),
        about="Working time, in the unit of the house.",
        words={
            "en": {3: "an hour and a half", 5: "two and a half hours", 7: "three and a half hours"},
            "de": {3: "anderthalb Stunden", 5: "zweieinhalb Stunden", 7: "dreieinhalb Stunden"},
        },
        units=(5, 6, 30),
        value="round({count} * 30 / {unit})",
        naive="round({count} * 30)",
    ),
    Measure(
        name="reminder",
        field=Pool(known=("reminder", "remind_after"), unseen=("nudge", "poke_after")),
        about="When a reminder goes out, counted from today as the house counts.",
        words={
            "en": {2: "two weeks", 3: "three weeks", 4: "four weeks", 6: "six weeks", 8: "eight weeks"},
            "de": {2: "zwei Wochen", 3: "drei Wochen", 4: "vier Wochen", 6: "sechs Wochen", 8: "acht Wochen"},
        },
        units=(5, 6, 7),
        value="{count} * {unit}",
        naive="{count} * 1",
    ),
)
FIELD = Pool(known=("urgency", "priority_code"), unseen=("how_soon", "press_level"))
LETTERS = ("U", "W", "Z")
PLACES = "abcd"
"""Of levels and their codes, in the article."""


def build(draft: Draft) -> None:
    _code(draft)
    [measure] = draft.pick(MEASURES, 1)
    _measure(draft, measure)
    draft.twin("f4-other-codes")
    draft.twin("f4-other-unit")


def _code(draft: Draft) -> None:
    facts, german = draft.facts, draft.origin.language == "de"
    [letter] = draft.pick(LETTERS, 1)
    codes = [f"{letter}{n}" for n in range(1, 5)]
    levels = draft.arranged(draft.half(PHRASES[draft.origin.language]["levels"]), "levels")
    for place in PLACES:
        facts.choose(f"f4.{place}", codes, "f4-code")
        facts.choose(f"f4.{place}", codes, "f4-other-code", twin="f4-other-codes")
    asked, other = draft.pick(PLACES, 2)
    facts.require(lambda one, two: one != two, f"f4.{asked}", (f"f4.{asked}", "f4-other-codes"))
    level = levels[PLACES.index(asked)]
    draft.request(PHRASES, "request", level=level)
    field = draft.name(FIELD)
    words = {f"level_{place}": level for place, level in zip(PLACES, levels, strict=True)}
    words |= {f"code_{place}": f"${{f4.{place}}}" for place in PLACES}
    rule = draft.text(PHRASES, "codes", field=field, **words)
    article = draft.article("dringlichkeit" if german else "priorities", rule)
    draft.step(LOOK, "f4_code", calc=read_off(article, rule, f"f4.{asked}"))
    spec = {"type": "choice", "of": codes, "about": "How pressing it is."}
    draft.add_slot("f4", field, spec, f"$f4.{asked}", "@f4_code")
    draft.trap("f4-writes-what-was-said", change={"f4_code.calc": f"'{level}'"},
               why="Writes free text where a code is due.")  # fmt: skip
    draft.trap("f4-guesses-the-code", 2, drop=["f4_code"], bind={"f4_code": f"$f4.{other}"}, why="Makes the code up.")


def _measure(draft: Draft, measure: Measure) -> None:
    facts, language, field = draft.facts, draft.origin.language, draft.name(measure.field)
    [count] = draft.pick(sorted(measure.words[language]), 1)
    facts.set("f4.count", count)
    facts.choose("f4.unit", measure.units, "f4-unit")
    facts.choose("f4.unit", measure.units, "f4-unit", twin="f4-other-unit")
    draft.request(PHRASES, measure.name, long=measure.words[language][count])
    rule = draft.text(PHRASES, f"{measure.name}_unit", field=field, unit="${f4.unit}")
    article = draft.article("einheiten" if language == "de" else "units", rule)
    draft.step(LOOK, "f4_unit", calc=f"number({read_off(article, rule, 'f4.unit')})")
    value = measure.value.format(count="$f4.count", unit="@f4_unit")
    draft.step(LOOK, "f4_length", calc=value)
    draft.add_slot("f4", field, {"type": "integer", "about": measure.about},
                   measure.value.format(count="$f4.count", unit="$f4.unit"), "@f4_length")  # fmt: skip
    draft.trap("f4-keeps-the-unit", 2, change={"f4_length.calc": measure.naive.format(count="$f4.count")},
               why="Enters the number as it was said.")  # fmt: skip


FRAGMENT = Fragment(
    id="F4",
    title="brings what people say into the format of a field",
    failure="writes free text, or keeps the unit",
    stage=Stage.SLOT,
    build=build,
)
