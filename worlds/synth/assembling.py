"""From a draft to an environment: the deed, its checks, the request, the report, the records, and values for the facts.

Knows the parts of a draft and how the file spells them. Does not know any capability.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from typing import Any

import msgspec

from ...events.event import Json
from ..environment import FORMAT, Environment
from .draft import DEED, OTHER_NUMBERS, REPORT, SOURCE, Draft, Phrases
from .pieces import Slot, System, Tell, Thing
from .solving import Solution

PHRASES: Phrases = {
    "en": {
        "report": [
            "When you are through, tell me the numbers of {the_things} that are done.",
            "Afterwards, please send me the numbers of {the_things} you have dealt with.",
            "At the end I need the numbers of {the_things} that went through.",
            "Report back with the numbers of {the_things} that you finished.",
        ],
        "report_one": [
            "When it is done, tell me the number of {the_thing}.",
            "Afterwards, please send me the number of {the_thing}.",
            "Let me know once it is done, with the number of {the_thing}.",
            "Report back with the number of {the_thing} when you are finished.",
        ],
        "rules": [
            "The handbook has the rules.",
            "What applies is in the handbook.",
            "Please go by the handbook.",
            "If in doubt, the handbook decides.",
        ],
        "thanks": ["OK. If you need anything from me, say what exactly.", "All right. Was there a question? Then tell me what you need.", "Noted. Ask me plainly if something is missing.", "Fine. If you want to know something, tell me what."],
        "what": ["What exactly do you need?", "Sorry, what do you need from me?", "What is it about?", "Which one, please?"],
    },
    "de": {
        "report": [
            "Wenn du durch bist, nenn mir die Nummern der {things}, die erledigt sind.",
            "Schick mir danach bitte die Nummern der {things}, um die du dich gekümmert hast.",
            "Am Ende brauche ich die Nummern der {things}, die du erledigen konntest.",
            "Melde dich dann mit den Nummern der {things}, die fertig sind.",
        ],
        "report_one": [
            "Wenn das erledigt ist, nenn mir die Nummer {the_thing_dat}.",
            "Schick mir danach bitte die Nummer {the_thing_dat}.",
            "Sag Bescheid, wenn es erledigt ist, mit der Nummer {the_thing_dat}.",
            "Melde dich dann mit der Nummer {the_thing_dat}.",
        ],
        "rules": [
            "Die Regeln stehen im Handbuch.",
            "Was gilt, steht im Handbuch.",
            "Richte dich bitte nach dem Handbuch.",
            "Im Zweifel gilt das Handbuch.",
        ],
        "thanks": ["Gut. Wenn du etwas von mir brauchst, sag genau, was.", "Alles klar. War das eine Frage? Dann sag mir, was du brauchst.", "Ist notiert. Frag einfach direkt, wenn etwas fehlt.", "Gut. Wenn du etwas wissen willst, sag mir, was."],
        "what": ["Was genau brauchst du?", "Entschuldige, worum geht es?", "Was brauchst du von mir?", "Welches, bitte?"],
    },
}  # fmt: skip


def settle_sources(draft: Draft, several: int) -> None:
    """Unless a capability has said what the job is about: one thing by its name; or three, where one needs `several`,
    and one more for each other that does, so that each has its own."""
    sure = sum(thing.wanted is not None and not thing.flips for thing in draft.things)
    missing = several + 2 - sure if several else 0
    for _ in range(max(missing, 0 if draft.sources else 1)):
        draft.name_thing()
    draft.step(SOURCE, "targets", calc=" + ".join(draft.sources))


def assemble(draft: Draft, identity: str, capabilities: tuple[str, ...]) -> Environment:
    """The environment of a draft to which all fragments have been added. Raises `solving.Unsolvable`."""
    for _ in range(draft.knob("rows")):
        draft.thing()
    for _ in range(draft.knob("near")):
        draft.near_miss()
    _handbook(draft)
    _deed(draft)
    _ask_only_where_allowed(draft)
    _deed_checks(draft)
    _report(draft)
    _core_traps(draft)
    _state(draft)
    draft.twin(OTHER_NUMBERS)
    return _written(draft, identity, capabilities, draft.facts.solve(draft.origin.draw("facts")))


# --- the job -----------------------------------------------------------------------------------------------


def _state(draft: Draft) -> None:
    """The facts `done`, `tried` and `chosen` of the things where something refers to them."""
    guards = [f"({guard.truth})" for guard in draft.guards]
    for thing in draft.things:
        if "done" in thing.used:
            before = [thing.ref("tried"), *thing.possible] if thing.possible else [thing.ref("chosen"), *guards]
            draft.facts.set(f"{thing.name}.done", "=" + " and ".join(before))
        if "tried" in thing.used:
            draft.facts.set(f"{thing.name}.tried", "=" + " and ".join([thing.ref("chosen"), *guards]))
        if "chosen" in thing.used:
            chosen = " and ".join(f"({condition})" for condition in thing.wanted or [])
            draft.facts.set(f"{thing.name}.chosen", f"={chosen}" if chosen else True)


def _handbook(draft: Draft) -> None:
    if not draft.handbook_articles:
        return
    fields: dict[str, dict[str, Json]] = {
        "id": {"type": "id", "required": True},
        "title": {"type": "text"},
        "topic": {"type": "text"},
        "text": {"type": "text"},
    }
    system = draft.store("handbook", fields)
    others = draft.half_articles()
    for number, article in enumerate(draft.arranged([*draft.handbook_articles, *others], "articles")):
        for key in article:
            system.fields.setdefault(key, {"type": "date" if key.endswith("_on") else "text"})
        system.records.append({"id": f"{system.prefix}-{number * 7 + 12}", **article})
    draft.step(SOURCE - 5, "rules", call=f"{system.path}.find", args={})
    if not any("handbook" in said.lower() or "handbuch" in said.lower() for said in draft.details):
        draft.request(PHRASES, "rules")


def _deed(draft: Draft) -> None:
    args = {draft.deed_key: "=it.id", **{slot.field: f"={slot.seen}" for slot in draft.slots}}
    condition = " and ".join(f"({guard.seen})" for guard in draft.guards) or None
    deed = draft.step(DEED, "deed", each=draft.targets, call=draft.deed_tool)
    for step in (deed, *draft.again):
        step["args"] = dict(args)
        if condition:
            step["if"] = condition
    for step in draft.copies:
        given = step["args"]
        assert isinstance(given, dict)
        step["args"] = {**{slot.field: f"=it.{slot.field}" for slot in draft.slots}, **given}


def _deed_checks(draft: Draft) -> None:
    candidates = [thing for thing in draft.things if thing.wanted is not None]
    for thing in candidates:
        where = _shows(draft, thing)
        condition = f"{thing.ref('done')}" if draft.may_vary(thing) else None
        name = f"{thing.group}-" if thing.group else ""
        draft.check(
            f"{name}done-{thing.name}", weight=2, condition=condition,
            expect={"record": draft.book.path, "where": where, "count": 1},
            why=f"What was asked for is done for {thing.name}, once.",
        )  # fmt: skip
        if thing.flips or draft.guards:
            draft.check(
                f"{name}not-{thing.name}", gate=True, condition=f"not {thing.ref('tried' if thing.possible else 'done')}",
                never={"record": draft.book.path, "where": where},
                why=f"Nothing is done for {thing.name} where it must not be.",
            )  # fmt: skip
        for slot in draft.slots:
            _slot_check(draft, thing, slot, where, condition)
    if draft.final is None:
        draft.check("once", gate=True, distinct={"record": draft.book.path, "by": draft.deed_key},
                    why="Nothing is done twice.")  # fmt: skip
        ids: list[Json] = [thing.id for thing in candidates]
        draft.check("only-these", gate=True, only={"record": draft.book.path, "by": draft.deed_key, "in": ids},
                    why="Nothing is done for others.")  # fmt: skip


def _ask_only_where_allowed(draft: Draft) -> None:
    """What has to be asked before the deed need not be asked where nothing may be done."""
    allowed = " and ".join(f"({guard.truth})" for guard in draft.guards)
    for check in draft.checks.values():
        expect = check.get("expect")
        before = expect.get("before") if isinstance(expect, dict) else None
        if allowed and isinstance(before, dict) and before.get("called") == draft.deed_tool:
            check["if"] = f"({check['if']}) and {allowed}" if "if" in check else allowed


def _slot_check(draft: Draft, thing: Thing, slot: Slot, where: dict[str, Json], condition: str | None) -> None:
    value = (slot.final or slot.truth)(thing)
    plain = value.startswith("$") and value[1:].replace(".", "").replace("_", "").isalnum()
    draft.check(
        f"{slot.name}-{slot.field.replace('_', '-')}-{thing.name}", weight=2, condition=condition,
        expect={"record": draft.book.path, "where": {**where, slot.field: value if plain else f"={value}"}, "count": 1},
        why=f"The right value is in {slot.field} for {thing.name}.",
    )  # fmt: skip


def _shows(draft: Draft, thing: Thing) -> dict[str, Json]:
    """What a record of the book has where it is done for a thing."""
    if draft.final is None:
        return {draft.deed_key: thing.id}
    field, value = draft.final
    return {"id": thing.id, field: value}


def _report(draft: Draft) -> None:
    words = draft.family.words[draft.origin.language]
    listed = f"@{{=join(each({draft.done}, it.{draft.deed_key}), ', ')}}"
    text = draft.grammar.phrase(words.done, {**draft.words, "list": listed})
    draft.step(REPORT - 1, "report", say=draft.requester, text=text, condition=f"len({draft.done}) > 0")
    for thing in draft.things:
        if thing.wanted is not None:
            told = Tell(f"{thing.group}-told-{thing.name}" if thing.group else f"told-{thing.name}", "",
                        (thing.id,), truth=thing.ref("done") if draft.may_vary(thing) else None)  # fmt: skip
            _told(draft, told)
    for tell in draft.tells:
        _told(draft, tell)
        step = {"say": tell.to or draft.requester, "text": tell.text, "condition": tell.seen}
        draft.step(REPORT, tell.name.replace("-", "_"), **step)
    one = sum(thing.wanted is not None for thing in draft.things) == 1
    draft.request(PHRASES, "report_one" if one else "report")
    draft.otherwise(draft.requester, draft.text(PHRASES, "thanks"))
    for person in draft.people:
        draft.otherwise(person, draft.text(PHRASES, "what"))


def _told(draft: Draft, tell: Tell) -> None:
    expect: dict[str, Json] = {"said": tell.to or draft.requester, "mentions": list(tell.mentions)}
    if tell.any:
        expect["any"] = list(tell.any)
    if tell.after_deed:
        expect["after"] = {"called": draft.deed_tool}
    expect = {key: value for key, value in expect.items() if value != []}
    draft.check(tell.name, weight=tell.weight, condition=tell.truth, expect=expect, why="The report says so.")


def _core_traps(draft: Draft) -> None:
    other = draft.things[-1]
    args: dict[str, Json] = {draft.deed_key: other.id}
    if draft.final is None:
        draft.trap("does-it-twice", repeat=["deed"], why="Does the same work again.")
    add = [{"call": draft.deed_tool, "args": args}]
    draft.trap("does-too-much", add=add, why="Does it for a thing that nobody asked about.")
    listed = ", ".join(f"${{{thing.name}.id}}" for thing in draft.things if thing.wanted is not None)
    draft.trap("announces-only", 3, drop=["deed", *(str(step["as"]) for step in draft.again)], why="Says that it is done, and does nothing.",
               change={"report.if": None, "report.text": listed})  # fmt: skip


# --- the file ----------------------------------------------------------------------------------------------


def _written(draft: Draft, identity: str, capabilities: tuple[str, ...], solution: Solution) -> Environment:
    _records(draft)
    draft.people[draft.requester]["opens"] = draft.grammar.message([*draft.sentences, *draft.details])
    data: dict[str, Any] = {
        "environment": FORMAT,
        "id": identity,
        "title": draft.family.title[draft.origin.language],
        "capabilities": list(capabilities),
        "clock": {"start": f"{draft.start.isoformat()}T09:00", "zone": draft.zone, "deadline": f"{draft.minutes * 3}m"},
        "facts": solution.facts(),
        "people": {
            name: {key: value for key, value in person.items() if value} for name, person in draft.people.items()
        },
        "services": dict(_services(draft)),
        "faults": draft.faults,
        "timeline": draft.timeline,
        "checks": draft.checks,
        "oracle": draft.steps(),
        "traps": {name: _trap(draft, trap) for name, trap in draft.traps.items()},
        "twins": {name: _twin(patch, solution.twin(name)) for name, patch in draft.twins.items()},
    }
    return msgspec.convert(data, Environment)


def _records(draft: Draft) -> None:
    names = draft.register.names
    for thing in draft.arranged(draft.things, "rows"):
        record: dict[str, Json] = {names[key]: thing.ref(key) for key in names}
        record |= {column.field: thing.values.get(column.field, column.value(thing)) for column in draft.columns}
        draft.register.records.append({key: value for key, value in record.items() if value is not None})


def _services(draft: Draft) -> Iterator[tuple[str, dict[str, Json]]]:
    seen: set[int] = set()
    for system in draft.systems.values():
        if id(system) not in seen:
            seen.add(id(system))
            yield system.service, _service(draft, system)


def _service(draft: Draft, system: System) -> dict[str, Json]:
    service: dict[str, Json] = {"about": system.about, "collections": {system.collection: system.shape}}
    slots = {slot.field: slot.spec for slot in draft.slots} if system is draft.book else {}
    tools: dict[str, Json] = {}
    for name, tool in system.tools.items():
        takes = {key: spec for key, spec in system.fields.items() if key != "id"} if draft.final is None else slots
        tools[name] = {"collection": system.collection, "takes": tool.pop("takes", takes), **tool}
    if tools:
        service["tools"] = tools
    if system.records:
        service["records"] = {system.collection: list(system.records)}
    return service


def _trap(draft: Draft, trap: dict[str, Json]) -> dict[str, Json]:
    """A trap with its ceiling: what the checks leave that it is sure to fail.

    Where it trips a gate, or is kept from doing anything by somebody else, these are all that look at what was done.
    """
    loses = trap["loses"]
    assert isinstance(loses, int)
    weights = {name: int(str(check["weight"])) for name, check in draft.checks.items() if "weight" in check}
    if loses:
        left = 1 - Decimal(loses) / sum(weights.values())
    else:
        bound = {name for name in weights if _needs_deed(draft, draft.checks[name])}
        free = sum(weight for name, weight in weights.items() if name not in bound)
        flipping = {thing.name for thing in draft.things if thing.flips}
        sure = sum(weights[name] for name in bound if name.rpartition("-")[2] not in flipping)
        left = Decimal(free) / (free + sure) if sure else Decimal("0.5")
    rest = {key: value for key, value in trap.items() if key != "loses"}
    return {"ceiling": left.quantize(Decimal("0.01"), ROUND_CEILING), **rest}


def _needs_deed(draft: Draft, check: dict[str, Json]) -> bool:
    claim = check.get("expect", {})
    assert isinstance(claim, dict)
    return claim.get("record") == draft.book.path or claim.get("after") == {"called": draft.deed_tool}


def _twin(patch: dict[str, Json], facts: dict[str, Json]) -> dict[str, Json]:
    return {**({"facts": facts} if facts else {}), **patch}
