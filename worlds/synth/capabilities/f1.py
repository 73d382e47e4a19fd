"""F1: time zones, calendars, daylight saving, working days.

What is written is the moment of a call: some working days before a date of the thing, at a local time where somebody
else sits. Where that is, is in another system, and flips in a twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from ..draft import LOOK, Draft, Phrases
from ..family import Pool
from ..pieces import Thing
from .fragment import Fragment, Stage

PHRASES: Phrases = {
    "en": {
        "request": [
            "Note the time of a call as well: {days} working days (Monday to Friday) before {due_field}, at {time} local time of whoever is under {owner_field}. {service} knows where people sit; put in our own time.",
            "We also call the person in {owner_field}, {days} working days ahead of {due_field} (Saturdays and Sundays don't count), when it is {time} where they are; see {service} for that. Enter what our clock shows then.",
            "There will also be a call with the person in {owner_field}: at {time} on their clock (look them up in {service}), {days} working days before {due_field}, weekends not counted. It is entered by our clock.",
            "Please enter when we call the one who is in {owner_field}. That is at {time} in their office, which {service} has, {days} working days before {due_field}, Monday to Friday only; convert it to our time.",
        ],
        "about": ["When it is talked over on the phone, in our time ({home}), without an offset.", "The moment of the call by our clock ({home}), without an offset."],
    },
    "de": {
        "request": [
            "Trag auch einen Anruf ein: {days} Arbeitstage (Montag bis Freitag) vor {due_field}, um {time} Ortszeit der Person unter {owner_field}. Wo wer sitzt, steht in {service}; eingetragen wird unsere Zeit.",
            "Wir rufen außerdem an, wer unter {owner_field} steht, {days} Arbeitstage vor {due_field} (Samstage und Sonntage zählen nicht), wenn es dort {time} ist; siehe {service}. Trag ein, was unsere Uhr dann zeigt.",
            "Dazu gehört ein Anruf bei der Person, die {owner_field} nennt: um {time} auf ihrer Uhr (schlag sie in {service} nach), {days} Arbeitstage vor {due_field}, ohne Wochenenden. Eingetragen wird nach unserer Uhr.",
            "Halte noch fest, wann wir anrufen, und zwar bei der Person unter {owner_field}. Es ist um {time} in ihrem Büro, das in {service} steht, {days} Arbeitstage vor {due_field}, nur Montag bis Freitag; rechne in unsere Zeit um.",
        ],
        "about": ["Wann darüber telefoniert wird, in unserer Zeit ({home}), ohne Zeitzonenangabe.", "Der Zeitpunkt des Anrufs nach unserer Uhr ({home}), ohne Zeitzonenangabe."],
    },
}  # fmt: skip
FIELD = Pool(known=("call_at", "call_time"), unseen=("ring_at", "phone_slot"))
DAY, EVENING = time(7), time(21)
"""Between these we can be on the phone."""
HORIZON = 42
"""Days from the start in which calls may be."""


def build(draft: Draft) -> None:
    facts, names = draft.facts, draft.register.names
    [days] = draft.pick((2, 3), 1)
    facts.set("f1.days", days)
    facts.set("f1.home", draft.zone)
    owners = _owners(draft)
    due = f"{draft.sure().name}.due"
    facts.require(lambda day: date.fromisoformat(day).weekday() < days, due)  # a weekend lies between
    offices = draft.store("offices", {"id": {"type": "id"}, "person": {"type": "text"}, "time_zone": {"type": "text"}})
    for number, owner in enumerate(draft.arranged(owners, "desks")):
        record = {
            "id": f"{offices.prefix}-{number * 3 + 21}",
            "person": f"${owner}.name",
            "time_zone": f"${owner}.zone",
        }
        offices.records.append(record)
    draft.request(PHRASES, "request", days="${f1.days}", time="${f1.time}", service=offices.service,
                  owner_field=names["owner"], due_field=names["due"])  # fmt: skip
    draft.step(LOOK, "f1_desks", call=f"{offices.path}.find", args={})

    def truth(thing: Thing) -> str:
        zone = "''"
        for owner in owners:
            zone = f"choose({thing.ref('owner')} == ${owner}.name, ${owner}.zone, {zone})"
        return f"in_zone({_moment(thing.ref('due'))}, {zone}, $f1.home)"

    local = _moment(f"it.{names['due']}")
    zone = f"first(where(@f1_desks as desk, desk.person == it.{names['owner']})).time_zone"
    spec = {"type": "datetime", "about": draft.text(PHRASES, "about", home=draft.zone)}
    slot = draft.add_slot("f1", draft.name(FIELD), spec, truth, f"in_zone({local}, {zone}, $f1.home)")
    draft.twin("f1-other")
    _traps(draft, f"deed.args.{slot.field}", local, zone)


def _moment(due: str) -> str:
    return f"at_time(workday_add({due}, 0 - $f1.days), $f1.time)"


def _traps(draft: Draft, place: str, local: str, zone: str) -> None:
    calendar = local.replace("workday_add", "date_add").replace("0 - $f1.days", "'-' + text($f1.days) + 'd'")
    for name, seen, why in (
        ("f1-copies-the-local-time", local, "Writes down what the other clock shows."),
        (
            "f1-converts-the-wrong-way",
            f"in_zone({local}, $f1.home, {zone})",
            "Adds the offset that it should take off.",
        ),
        ("f1-counts-weekends", f"in_zone({calendar}, {zone}, $f1.home)", "Counts Saturdays and Sundays too."),
    ):
        draft.trap(name, 2, change={place: f"={seen}"}, why=why)


# --- who sits where ----------------------------------------------------------------------------------------


def _owners(draft: Draft) -> list[str]:
    """Groups of facts, one for each owner, with `name` and `zone`; and the time of calls, `f1.time`."""
    facts = draft.facts
    clock, zones = _time_and_zones(draft)
    facts.set("f1.time", clock.isoformat("minutes"))
    groups = []
    for number, name in enumerate(dict.fromkeys(draft.owners)):
        group = f"f1.p{number + 1}"
        facts.set(f"{group}.name", name)
        facts.choose(f"{group}.zone", list(zones))
        facts.choose(f"{group}.zone", list(zones), twin="f1-other")
        facts.require(
            lambda one, other: all(a != b for a, b in zip(zones[one], zones[other], strict=True)),
            f"{group}.zone", (f"{group}.zone", "f1-other"),
        )  # fmt: skip
        groups.append(group)
    return groups


def _time_and_zones(draft: Draft) -> tuple[time, dict[str, tuple[timedelta, ...]]]:
    """A local time, and zones in which it is never the same as ours, but when we are up; with their offsets by day."""
    cities = draft.half(list(draft.lexicon.cities.values()))
    times = draft.pick([time(hour, minute) for hour in range(8, 18) for minute in (15, 30, 45)], 30)
    offers = ((clock, _zones(draft, cities, clock)) for clock in times)
    return next((clock, zones) for clock, zones in offers if len({offsets[0] for offsets in zones.values()}) > 2)


def _zones(draft: Draft, cities: Sequence[str], clock: time) -> dict[str, tuple[timedelta, ...]]:
    home, found = ZoneInfo(draft.zone), {}
    for zone in cities:
        there = [datetime.combine(draft.start + timedelta(days=n), clock, ZoneInfo(zone)) for n in range(HORIZON)]
        here = [moment.astimezone(home) for moment in there]
        offsets = tuple(a.replace(tzinfo=None) - b.replace(tzinfo=None) for a, b in zip(here, there, strict=True))
        if all(offsets) and all(DAY <= moment.time() <= EVENING for moment in here):
            found[zone] = offsets
    return found


FRAGMENT = Fragment(
    id="F1",
    title="works out time zones and working days",
    failure="is off by the offset, or by a weekend",
    stage=Stage.SLOT,
    build=build,
)
